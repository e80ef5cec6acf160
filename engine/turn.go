package engine

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// turns keeps the turn that a call got before its start was recorded, until send uses it. The key is the mutation's id,
// which is the id of its run.
type turns struct {
	mu sync.Mutex
	of map[eventlog.MutationID]connector.Turn
}

func (t *turns) put(id eventlog.MutationID, turn connector.Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[eventlog.MutationID]connector.Turn{}
	}
	t.of[id] = turn
}

// take hands the turn over, nil for none.
func (t *turns) take(id eventlog.MutationID) connector.Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.of[id]
	delete(t.of, id)
	return turn
}

// awaitTurn waits for the turn of a call that a script has named, before anything of it is recorded: whatever happens
// meanwhile, nothing was sent. A turn that does not come in time is the failure of the call. A call that needs
// approval, or may not be made at all, waits for nothing. The returned function ends the turn, unless the call was sent
// with it.
func (c *calls) awaitTurn(ctx context.Context, named *decide.FinishMutate) (end func()) {
	if named.Call == nil || named.Failure != nil || named.Asks || capability.GrantedAt(c.workflow.state().Grants,
		named.Call.Connector, named.Call.Operation, named.Host, true) != eventlog.GrantAllow {
		return func() {}
	}
	id, paused := eventlog.MutationID(named.Run), c.workflow.state().Pause != nil
	end, named.Failure = c.reserveTurn(ctx, id, connector.Call{
		Workflow: c.workflow.name, Run: named.Run, Connector: named.Call.Connector, Operation: named.Call.Operation,
		Params: named.Call.Params, Key: decide.IdempotencyKey(c.workflow.name, id),
	})
	named.Waited = !paused
	return end
}

// reserveTurn waits for the turn of a call that is to be recorded, and keeps it for the line that sends.
func (c *calls) reserveTurn(ctx context.Context, id eventlog.MutationID, call connector.Call) (end func(),
	failure *eventlog.Failure) {
	turn, failure := c.workflow.engine.Config.Connectors.Turn(ctx, call)
	if turn == nil || failure != nil {
		return func() {}, failure // where ctx has ended, nothing is recorded of it
	}
	c.turns.put(id, turn)
	return func() {
		if unused := c.turns.take(id); unused != nil {
			unused.End()
		}
	}, nil
}

// turnAfterStart waits for the turn of a call that is recorded as started already: a person has approved it, and it
// would need another approval if it had to begin anew. Its time passes already, so that its turn has to come in the
// first half of it: the rest belongs to the request. What stops it says so instead of a turn.
func (c *calls) turnAfterStart(s started, call connector.Call) (connector.Turn, *eventlog.Failure) {
	engine, paused := c.workflow.engine, c.workflow.state().Pause != nil
	ctx, cancel := context.WithTimeout(engine.Life, callTimeout(s.Mutation)/2)
	defer cancel()
	turn, failure := engine.Config.Connectors.Turn(ctx, call)
	if failure != nil || turn == nil {
		return turn, failure
	}
	switch now := c.workflow.state(); {
	case now.Archived:
		return turn, decide.StoppedInTime("the workflow was archived while its call waited for its turn")
	case now.Pause != nil && !paused:
		return turn, decide.StoppedInTime("the workflow was paused while its call waited for its turn")
	}
	if denied := c.denied(call); denied != nil {
		return turn, denied
	}
	return turn, c.mayLeave(s)
}

// denied says which grant of the call has been taken from the workflow since it was recorded, nil for none. What a
// person has approved needs no other grant to be sent than not to be forbidden.
func (c *calls) denied(call connector.Call) *eventlog.Failure {
	s, connectors := c.workflow.state(), c.workflow.engine.Config.Connectors
	if denied := capability.DeniedSecret(c.workflow.name, s.Grants, connectors.Secrets(call)); denied != nil {
		return denied
	}
	host := connectors.Host(call)
	if capability.GrantedAt(s.Grants, call.Connector, call.Operation, host, true) == eventlog.GrantDeny {
		return capability.Denied(c.workflow.name, call.Connector, call.Operation, host)
	}
	return nil
}
