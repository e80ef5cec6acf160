package ops

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

type (
	// keepingBudget is a parameter that the commands of a language model set (F9).
	keepingBudget struct {
		KeepRepairBudget bool `json:"keepRepairBudget,omitempty" jsonschema:"leaves the count of failed repairs as it is, and refuses this (409) where the budget of repairs is spent: then a person has to look"`
	}
	deployRequest struct {
		Source          string                    `json:"source" jsonschema:"the script, TypeScript or JavaScript"`
		Filename        string                    `json:"filename,omitempty" jsonschema:"the name used in messages, a .ts or .js name; workflow.ts when left out"`
		Grants          map[string]eventlog.Grant `json:"grants,omitempty" jsonschema:"replaces the workflow's grants; left out, a new workflow may read and asks for mutations"`
		Strict          bool                      `json:"strict,omitempty" jsonschema:"refuses a script with warnings too"`
		ExpectedVersion *eventlog.Version         `json:"expectedVersion,omitempty" jsonschema:"refuses the deploy (409) if another version runs"`
		KeepApprovals   bool                      `json:"keepApprovals,omitempty" jsonschema:"refuses the deploy (409) where the script that runs asks a person about its calls, since a new one could take that away"`
		keepingBudget
	}
	deployAnswer struct {
		readmodel.Workflow
		Warnings []sandbox.Problem `json:"warnings"`
		// Changed is false where the script ran already; Freed is true where the deploy has ended maintenance.
		Changed bool `json:"changed" jsonschema:"false where this version ran already"`
		Freed   bool `json:"freed" jsonschema:"true where the deploy has ended the workflow's maintenance"`
		// FreedEvents are the events that were held for such a deploy.
		FreedEvents int `json:"freedEvents,omitempty" jsonschema:"how many held events the deploy has let go on"`
		// HeldForResume are the events that are held for a person after the deploy.
		HeldForResume int `json:"heldForResume,omitempty" jsonschema:"how many held events wait for a resume of the workflow"`
		// Asks are the operations whose every call waits for an approval.
		Asks []string `json:"asks" jsonschema:"operations of this version that wait for an approval at each call"`
		// Withdrawn are grants that were replaced without being named.
		Withdrawn []string `json:"withdrawn" jsonschema:"grants that the workflow had and that were taken away, since grants does not name them"`
	}
	validateRequest struct {
		Source   string `json:"source" jsonschema:"the script, TypeScript or JavaScript"`
		Filename string `json:"filename,omitempty" jsonschema:"the name used in messages; workflow.ts when left out"`
	}
	validateAnswer struct {
		OK       bool                   `json:"ok" jsonschema:"whether a deploy would be accepted now"`
		Workflow *eventlog.WorkflowName `json:"workflow" jsonschema:"the name the script gives its workflow, null if it could not be read"`
		Problems []sandbox.Problem      `json:"problems"`
	}
	sourceRequest struct {
		inWorkflow
		Version eventlog.Version `json:"version,omitempty" in:"query" jsonschema:"a former version; the current one when left out"`
	}
	grantsRequest struct {
		inWorkflow
		Grants map[string]eventlog.Grant `json:"grants" body:"whole" jsonschema:"allow, ask or deny by connector.operation or connector.* (each also @host), or *; replaces all former grants"`
	}
	grantChangesRequest struct {
		inWorkflow
		Grants map[string]*eventlog.Grant `json:"grants" body:"whole" jsonschema:"allow, ask or deny for each capability to change, null to take it out; those not named stay as they are"`
	}
	grantsAnswer struct {
		Grants     map[string]eventlog.Grant `json:"grants"`
		Operations []grantedOperation        `json:"operations" jsonschema:"what the grants mean for each operation and secret that the current version uses"`
	}
	grantedOperation struct {
		Capability string         `json:"capability"`
		Kind       string         `json:"kind"`
		Grant      eventlog.Grant `json:"grant"`
	}
)

var workflowTable = []Operation{
	define(operation("listWorkflows", "GET /v1/workflows", rpc.Viewer, "List workflows").narrowing(),
		func(ctx context.Context, c *Call, r *workflowsQuery) (readmodel.Page[readmodel.Workflow], error) {
			if c.Workflow != "" {
				return c.ownWorkflow(ctx)
			}
			return listed(ctx, c, r, c.backend.cfg.Reader.Workflows)
		}),
	defineStatus(operation("deployWorkflow", "POST /v1/workflows", rpc.Operator,
		"Deploy a script: a new workflow, or its next version").answering(http.StatusCreated, http.StatusOK).narrowing(),
		deployWorkflow),
	define(operation("validateScript", "POST /v1/validate", rpc.Viewer,
		"Check a script as a deploy would, and change nothing").narrowing(), validateScript),
	define(operation("getWorkflow", "GET /v1/workflows/{workflow}", rpc.Viewer, "Show a workflow"),
		func(ctx context.Context, c *Call, r *inWorkflow) (readmodel.Workflow, error) {
			return c.backend.cfg.Reader.Workflow(ctx, r.Workflow)
		}),
	define(operation("getSource", "GET /v1/workflows/{workflow}/source", rpc.Viewer, "Fetch a workflow's script"),
		func(ctx context.Context, c *Call, r *sourceRequest) (readmodel.Script, error) {
			return c.backend.cfg.Reader.Script(ctx, r.Workflow, r.Version)
		}),
	define(operation("getGrants", "GET /v1/workflows/{workflow}/grants", rpc.Viewer, "Show what a workflow may do"),
		func(_ context.Context, c *Call, r *inWorkflow) (grantsAnswer, error) {
			s, err := c.backend.state(r.Workflow)
			if err != nil {
				return grantsAnswer{}, err
			}
			return grantsOf(&s), nil
		}),
	define(operation("setGrants", "PUT /v1/workflows/{workflow}/grants", rpc.Admin, "Replace what a workflow may do"),
		setGrants),
	define(operation("changeGrants", "PATCH /v1/workflows/{workflow}/grants", rpc.Admin,
		"Change some of what a workflow may do"), changeGrants),
}

// ownWorkflow lists the one workflow that the caller may see, if it exists.
func (c *Call) ownWorkflow(ctx context.Context) (readmodel.Page[readmodel.Workflow], error) {
	page := readmodel.Page[readmodel.Workflow]{Items: []readmodel.Workflow{}}
	var unknown *readmodel.NotFoundError
	switch w, err := c.backend.cfg.Reader.Workflow(ctx, c.Workflow); {
	case errors.As(err, &unknown):
	case err != nil:
		return page, err
	default:
		page.Items = append(page.Items, w)
	}
	return page, nil
}

const defaultFilename = "workflow.ts"

func deployWorkflow(ctx context.Context, c *Call, r *deployRequest) (int, deployAnswer, error) {
	if r.Filename == "" {
		r.Filename = defaultFilename
	}
	if err := deploy.ValidateGrants(r.Grants, &eventlog.Definition{}); err != nil {
		return 0, deployAnswer{}, grantsInvalid(err)
	}
	// Operations that the script uses need no check here: a script that uses an unknown one is refused.
	if err := deploy.ValidateGranted(r.Grants, nil, &eventlog.Definition{}, c.backend.cfg.Connectors); err != nil {
		return 0, deployAnswer{}, grantsInvalid(err)
	}
	if err := c.mayDeploy(ctx, r); err != nil {
		return 0, deployAnswer{}, err
	}
	return c.deploy(ctx, r)
}

// deploy deploys the script, which the caller may deploy.
func (c *Call) deploy(ctx context.Context, r *deployRequest) (int, deployAnswer, error) {
	result, err := c.backend.cfg.Engine.Deploy(ctx, c.Actor, engine.DeployRequest{
		Source: r.Source, Filename: r.Filename, Grants: r.Grants, Expected: r.ExpectedVersion,
		Strict: r.Strict, KeepApprovals: r.KeepApprovals, KeepRepairBudget: r.KeepRepairBudget,
	})
	if err != nil {
		return 0, deployAnswer{}, err
	}
	problems := explain.Problems(result.Problems)
	if result.Refused {
		p := rpc.Problemf(http.StatusUnprocessableEntity, "script.refused", "%s was not deployed: %s", r.Filename,
			firstError(problems)).
			WithHint("correct what problems lists and deploy again")
		p.Problems = problems
		return 0, deployAnswer{}, p
	}
	s, err := c.backend.state(result.Workflow)
	if err != nil {
		return 0, deployAnswer{}, err
	}
	status, held := http.StatusOK, 0
	if result.Changed {
		status = http.StatusCreated
	}
	for _, count := range s.Counts.Held {
		if count.Reason == eventlog.HeldPerson {
			held += count.Events
		}
	}
	return status, deployAnswer{Workflow: readmodel.WorkflowOf(&s), Warnings: neverNull(problems),
		Asks: neverNull(result.Asks), Withdrawn: neverNull(result.Withdrawn), Changed: result.Changed,
		Freed: result.Freed, FreedEvents: result.FreedEvents, HeldForResume: held}, nil
}

// mayDeploy refuses grants from a caller that may not give them, and a script of another workflow than the one that the
// caller's token is for. Other reasons for a refusal are left to the deploy, which names them.
func (c *Call) mayDeploy(ctx context.Context, r *deployRequest) error {
	if len(r.Grants) > 0 && !c.Role.Covers(rpc.Admin) {
		return rpc.Problemf(http.StatusForbidden, "role.insufficient", "grants need the role %s; this caller has the role %s",
			rpc.Admin, c.Role).
			WithHint("nothing was changed; deploy without grants and let an admin set them: pawl grants WORKFLOW")
	}
	if c.Workflow == "" {
		return nil
	}
	result, err := c.backend.cfg.Engine.Deploy(ctx, c.Actor, engine.DeployRequest{Source: r.Source, Filename: r.Filename,
		DryRun: true})
	if err != nil {
		return err
	}
	if p := c.Sees(result.Workflow); p != nil && !result.Refused {
		return p
	}
	return nil
}

func firstError(problems []sandbox.Problem) string {
	for _, p := range problems {
		if p.Severity == sandbox.SeverityError {
			return p.Message
		}
	}
	return "it has problems"
}

func validateScript(ctx context.Context, c *Call, r *validateRequest) (validateAnswer, error) {
	if r.Filename == "" {
		r.Filename = defaultFilename
	}
	result, err := c.backend.cfg.Engine.Deploy(ctx, c.Actor, engine.DeployRequest{Source: r.Source, Filename: r.Filename,
		DryRun: true})
	if err != nil {
		return validateAnswer{}, err
	}
	answer := validateAnswer{OK: !result.Refused, Problems: neverNull(explain.Problems(result.Problems))}
	if result.Workflow != "" {
		answer.Workflow = &result.Workflow
	}
	return answer, nil
}

func setGrants(ctx context.Context, c *Call, r *grantsRequest) (grantsAnswer, error) {
	return operateGrants(ctx, c, r.Workflow, r.Grants, r.Grants, decide.SetGrants{Grants: r.Grants}, "setGrants")
}

// changeGrants is a merge patch: the grants that it names are changed, in one decision on the newest state.
func changeGrants(ctx context.Context, c *Call, r *grantChangesRequest) (grantsAnswer, error) {
	given, added := map[string]eventlog.Grant{}, map[string]eventlog.Grant{}
	for capability, grant := range r.Grants {
		given[capability] = eventlog.GrantDeny // of a grant that is removed only the name is checked
		if grant != nil {
			given[capability], added[capability] = *grant, *grant
		}
	}
	return operateGrants(ctx, c, r.Workflow, given, added, decide.ChangeGrants{Changes: r.Grants}, "changeGrants")
}

// operateGrants carries out a command that changes grants. Before, it checks that the named grants are valid, and that
// the added ones can grant something.
func operateGrants(ctx context.Context, c *Call, w eventlog.WorkflowName, named, added map[string]eventlog.Grant,
	cmd decide.Command, id string,
) (grantsAnswer, error) {
	s, err := c.backend.state(w)
	if err != nil {
		return grantsAnswer{}, err
	}
	err = deploy.ValidateGrants(named, s.Definition())
	if err == nil {
		err = deploy.ValidateGranted(added, s.Grants, s.Definition(), c.backend.cfg.Connectors)
	}
	if err != nil {
		return grantsAnswer{}, grantsInvalid(err)
	}
	if err := c.backend.cfg.Engine.Operate(ctx, c.Actor, w, cmd, id); err != nil {
		return grantsAnswer{}, err
	}
	s, err = c.backend.state(w)
	return grantsOf(&s), err
}

func grantsInvalid(err error) *rpc.Problem {
	return rpc.Problemf(http.StatusUnprocessableEntity, "grants.invalid", "%v", err).
		WithHint(explain.Hint(hint.Of(hint.Grants)))
}

func grantsOf(s *projections.State) grantsAnswer {
	answer := grantsAnswer{Grants: s.Grants, Operations: []grantedOperation{}}
	if answer.Grants == nil {
		answer.Grants = map[string]eventlog.Grant{}
	}
	for _, op := range s.Definition().Operations {
		grant := deploy.ResolveGrant(s.Grants, op.Kind, op.Connector, op.Operation)
		answer.Operations = append(answer.Operations, grantedOperation{Capability: op.Capability(), Kind: op.Kind,
			Grant: grant})
	}
	for _, h := range s.Definition().Hooks {
		secret := eventlog.SecretCapability(h.Verify.Secret)
		if h.Verify.Secret == "" || slices.ContainsFunc(answer.Operations, func(o grantedOperation) bool {
			return o.Capability == secret
		}) {
			continue
		}
		grant := eventlog.GrantDeny
		if capability.SecretGranted(s.Grants, h.Verify.Secret) {
			grant = eventlog.GrantAllow
		}
		answer.Operations = append(answer.Operations, grantedOperation{Capability: secret, Kind: "secret", Grant: grant})
	}
	slices.SortFunc(answer.Operations, func(a, b grantedOperation) int {
		if a.Capability < b.Capability {
			return -1
		}
		return 1
	})
	return answer
}
