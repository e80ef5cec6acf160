package ops

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	approveRequest struct {
		mutationRequest
		ParamsHash string `json:"paramsHash,omitempty" jsonschema:"refuses the approval (409) if other parameters are recorded: what the person looked at"`
	}
	resolveRequest struct {
		mutationRequest
		Resolution decide.Resolution `json:"resolution" jsonschema:"did_happen, did_not_happen, skip or try_again"`
		Result     json.RawMessage   `json:"result,omitempty" jsonschema:"with did_happen: what next is given as the call's result, any JSON; null when left out"`
	}
)

var operatorTable = []Operation{
	onWorkflow("pauseWorkflow", "pause",
		"Hold a workflow at the next run boundary: a run that has begun goes on to its end and may still make its call",
		decide.Pause{}),
	onWorkflow("resumeWorkflow", "resume", "End a pause and clear the system's hold", decide.Resume{}),
	onWorkflow("archiveWorkflow", "archive", "Stop a workflow for good; its history stays", decide.Archive{}),
	define(operation("runWorkflow", "POST /v1/workflows/{workflow}/run-now", rpc.Operator,
		"Queue every producer of a workflow now, and say what each waits for"), runNow),
	define(operation("approveMutation", "POST /v1/mutations/{mutation}/approve", rpc.Operator,
		"Let exactly the recorded call leave").narrowing(),
		func(ctx context.Context, c *Call, r *approveRequest) (readmodel.Mutation, error) {
			return onMutation(ctx, c, r.Mutation, decide.Approve{Mutation: r.Mutation, ParamsHash: r.ParamsHash},
				"approveMutation")
		}),
	define(operation("rejectMutation", "POST /v1/mutations/{mutation}/reject", rpc.Operator,
		"Go on without the call that awaits approval").narrowing(),
		func(ctx context.Context, c *Call, r *mutationRequest) (readmodel.Mutation, error) {
			return onMutation(ctx, c, r.Mutation, decide.Reject{Mutation: r.Mutation}, "rejectMutation")
		}),
	define(operation("resolveMutation", "POST /v1/mutations/{mutation}/resolve", rpc.Operator,
		"Say what became of an indeterminate mutation").narrowing(),
		func(ctx context.Context, c *Call, r *resolveRequest) (readmodel.Mutation, error) {
			return onMutation(ctx, c, r.Mutation, decide.Resolve{Mutation: r.Mutation, Resolution: r.Resolution,
				Result: r.Result}, "resolveMutation")
		}),
}

func onWorkflow(id, verb, summary string, cmd decide.Command) Operation {
	return define(operation(id, "POST /v1/workflows/{workflow}/"+verb, rpc.Operator, summary),
		func(ctx context.Context, c *Call, r *inWorkflow) (readmodel.Workflow, error) {
			if err := c.backend.cfg.Engine.Operate(ctx, c.Actor, r.Workflow, cmd, id); err != nil {
				return readmodel.Workflow{}, err
			}
			s, err := c.backend.state(r.Workflow)
			return readmodel.WorkflowView(&s.Workflow), err
		})
}

// onMutation finds the mutation's workflow, acts on it and answers with the mutation as it is then.
func onMutation(ctx context.Context, c *Call, id eventlog.MutationID, cmd decide.Command,
	operation string) (readmodel.Mutation, error) {
	m, err := c.mutation(ctx, id)
	if err != nil {
		return readmodel.Mutation{}, err
	}
	if err := c.backend.cfg.Engine.Operate(ctx, c.Actor, m.Workflow, cmd, operation); err != nil {
		return readmodel.Mutation{}, err
	}
	return c.backend.cfg.Reader.Mutation(ctx, id)
}
