package ops

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

type (
	workflowVersions struct {
		inWorkflow
		period
	}
	rollbackRequest struct {
		inWorkflow
		Version         eventlog.Version  `json:"version" jsonschema:"the former version whose script is deployed again"`
		ExpectedVersion *eventlog.Version `json:"expectedVersion,omitempty" jsonschema:"refuses the rollback (409) if another version runs"`
	}
)

var versionTable = []Operation{
	define(operation("listWorkflowVersions", "GET /v1/workflows/{workflow}/versions", rpc.Viewer,
		"List the versions of a workflow's script"),
		func(ctx context.Context, c *Call, r *workflowVersions) (readmodel.Page[readmodel.Version], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Versions)
		}),
	defineStatus(operation("rollbackWorkflow", "POST /v1/workflows/{workflow}/rollback", rpc.Operator,
		"Deploy the script of a former version again, as the next version").answering(http.StatusCreated, http.StatusOK),
		rollbackWorkflow),
}

// rollbackWorkflow deploys the bytes of a former version by the rules of every deploy: they are checked against the
// connectors that there are now, and the present grants of the workflow count.
func rollbackWorkflow(ctx context.Context, c *Call, r *rollbackRequest) (int, deployAnswer, error) {
	if r.Version == "" {
		return 0, deployAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "version.missing",
			"a rollback must say to which version").WithHint("pawl versions list WORKFLOW shows those that there are")
	}
	former, err := c.backend.cfg.Reader.Script(ctx, r.Workflow, r.Version)
	if err != nil {
		return 0, deployAnswer{}, err
	}
	return c.deploy(ctx, &deployRequest{Source: former.Source, Filename: former.Filename,
		ExpectedVersion: r.ExpectedVersion})
}

type (
	repairRequest struct {
		inWorkflow
		Source   string `json:"source" jsonschema:"the whole repaired script"`
		Filename string `json:"filename,omitempty" jsonschema:"the name used in messages; that of the running version when left out"`
		Note     string `json:"note,omitempty" jsonschema:"what was repaired; it goes into the log"`

		ExpectedVersion *eventlog.Version `json:"expectedVersion,omitempty" jsonschema:"refuses the repair (409) if another version runs than the one that it was made for"`
	}
	repairAnswer struct {
		Workflow eventlog.WorkflowName `json:"workflow"`
		Version  eventlog.Version      `json:"version" jsonschema:"the new minor version, which runs now"`
		// FreedEvents are the events that were held for the repair.
		FreedEvents int               `json:"freedEvents,omitempty" jsonschema:"how many held events the repair has let go on"`
		Warnings    []sandbox.Problem `json:"warnings"`
	}
)

var repairTable = []Operation{
	define(operation("repairWorkflow", "POST /v1/workflows/{workflow}/repair", rpc.Operator,
		"Make a repaired script the next minor version of a workflow in maintenance"), repairWorkflow),
}

// repairWorkflow carries out a repair (F9). A script with problems counts as one more failure: the answer says how many
// there may be.
func repairWorkflow(ctx context.Context, c *Call, r *repairRequest) (repairAnswer, error) {
	s, err := c.backend.state(r.Workflow)
	if err != nil {
		return repairAnswer{}, err
	}
	if r.Filename == "" {
		r.Filename = defaultFilename
		if running := s.Script(s.Version); running != nil && running.Filename != "" {
			r.Filename = running.Filename
		}
	}
	result, err := c.backend.cfg.Engine.Repair(ctx, c.Actor, r.Workflow,
		engine.RepairRequest{Source: r.Source, Filename: r.Filename, Note: r.Note, Expected: r.ExpectedVersion})
	if err != nil {
		return repairAnswer{}, err
	}
	problems := explain.Problems(result.Problems)
	if !result.Refused {
		return repairAnswer{Workflow: r.Workflow, Version: result.Version, FreedEvents: result.FreedEvents,
			Warnings: neverNull(problems)}, nil
	}
	p := rpc.Problemf(http.StatusUnprocessableEntity, "repair.refused", "the repair of %s was refused: %s", r.Workflow,
		firstError(problems)).
		WithHint("correct what problems lists and repair again; each refused repair counts against the budget")
	s, err = c.backend.state(r.Workflow)
	if err == nil && decide.RepairsSpent(&s, c.backend.cfg.Engine.Policies().Repair.Budget) {
		p.Hint = explain.Hint(hint.Of(hint.PersonLooks, r.Workflow, r.Workflow))
	}
	p.Problems = problems
	return repairAnswer{}, p
}
