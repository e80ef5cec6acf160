package ops

import (
	"context"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

var whyTable = []Operation{
	define(operation("explainWorkflow", "GET /v1/workflows/{workflow}/why", rpc.Viewer,
		"Explain what a workflow does or waits for"), func(_ context.Context, c *Call, r *inWorkflow) (explain.Why, error) {
		return c.backend.explain(r.Workflow)
	}),
	define(operation("explainAll", "GET /v1/why", rpc.Viewer, "Explain what every workflow does or waits for").narrowing(),
		explainAll),
}

func (b *backend) explain(name eventlog.WorkflowName) (explain.Why, error) {
	if err := b.cfg.Engine.Stopped()[name]; err != nil {
		return explain.Stopped(name, err), nil
	}
	state, err := b.state(name)
	if err != nil {
		return explain.Why{}, err
	}
	if past := b.cfg.Engine.Damage().Workflows[name]; past != nil {
		return explain.Damaged(name, past), nil
	}
	return b.explainState(&state), nil
}

func (b *backend) explainState(state *projections.State) explain.Why {
	var todo decide.Todo
	if wait, ok := b.cfg.Engine.Why(state.Name); ok && wait != nil {
		todo = *wait
	} else {
		// The worker of the workflow works, or was woken a moment ago: the rules say what it does.
		todo = explain.Owed(state, b.present(state))
	}
	why := b.explainTodo(state, todo)
	why.Hooks(b.hooks.Refusing(state))
	if b.cfg.Calls != nil {
		why.Turns(state, b.cfg.Calls.Waiting(state.Name))
	}
	return why
}

// present is what the rules need beside the workflow's state.
func (b *backend) present(state *projections.State) decide.Present {
	return decide.Present{Now: eventlog.At(b.cfg.Now()), Engine: explain.Stepper(state),
		MaxHeld: b.cfg.Engine.Policies().Held.Max}
}

// explainTodo explains what the workflow has to do or waits for, completed with what only its history says.
func (b *backend) explainTodo(state *projections.State, todo decide.Todo) explain.Why {
	if wait, ok := todo.(decide.Wait); ok {
		cause, err := explain.Cause(context.Background(), *b.cfg.Reader, state, wait)
		if err != nil {
			b.cfg.Logger.Warn("the explanation of a wait says less", "workflow", string(state.Name), "error", err)
		}
		return explain.Workflow(state, wait, b.present(state),
			explain.Beside{Cause: cause, Outlook: b.cfg.Engine.Outlook})
	}
	return explain.Workflow(state, todo, b.present(state), explain.Beside{Outlook: b.cfg.Engine.Outlook})
}

func explainAll(ctx context.Context, c *Call, _ *noRequest) (readmodel.Page[explain.Why], error) {
	page := readmodel.Page[explain.Why]{Items: []explain.Why{}}
	stopped, damage := c.backend.cfg.Engine.Stopped(), c.backend.cfg.Engine.Damage()
	for name, err := range c.backend.workflows(ctx) {
		if err != nil {
			return page, err
		}
		if c.Sees(name) != nil {
			continue
		}
		if err := stopped[name]; err != nil {
			page.Items = append(page.Items, explain.Stopped(name, err))
		} else if past := damage.Workflows[name]; past != nil {
			page.Items = append(page.Items, explain.Damaged(name, past))
		} else if state, ok := c.backend.cfg.Engine.State(name); ok {
			page.Items = append(page.Items, c.backend.explainState(&state))
		}
	}
	return page, nil
}
