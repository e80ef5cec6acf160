package ops

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	versionsQuery struct {
		paging
		period
	}
	workflowVersions struct {
		inWorkflow
		versionsQuery
	}
	rollbackRequest struct {
		inWorkflow
		Version         eventlog.Version  `json:"version" jsonschema:"the former version whose script is deployed again"`
		ExpectedVersion *eventlog.Version `json:"expectedVersion,omitempty" jsonschema:"refuses the rollback (409) if another version runs"`
	}
)

func (q *versionsQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Since, o.Until = q.Since, q.Until
	return o
}

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

// rollbackWorkflow deploys the bytes of a former version by the rules of every deploy: they are checked against what
// there is now, and what they use is granted as the workflow's grants say today.
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
