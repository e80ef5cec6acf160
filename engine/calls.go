package engine

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/underway"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// calls are the mutation calls of one workflow: they leave, end, are asked about and are settled.
//
// Locking: none but that of underWay. Each call runs in a goroutine of its own, which looks at the workflow's state
// without a lock, and its settlement is recorded like any other decision.
type calls struct {
	workflow *aggregate
	underWay underway.Calls
	turns    turns
}

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

// call is the mutation as its connector gets it. Times on the wire are the machine's: a clock set
// by hand moves what the log says, not what others see.
func (c *calls) call(m *projections.Mutation) connector.Call {
	ahead := time.Since(c.workflow.engine.Config.Clock.Now())
	return connector.Call{
		Workflow: c.workflow.name, Run: m.Run, Connector: m.Call.Connector, Operation: m.Call.Operation,
		Params: m.Call.Params,
		Key:    m.Key, StartedAt: m.StartedAt.Time().Add(ahead), Deadline: m.Deadline.Time().Add(ahead),
	}
}

func callTimeout(m *projections.Mutation) time.Duration {
	if m.Call.TimeoutMS <= 0 {
		return connector.DefaultTimeout
	}
	return time.Duration(m.Call.TimeoutMS) * time.Millisecond
}

// logAttrs is what identifies a mutation's call in the engine's own log, which names the workflow itself.
func (c *calls) logAttrs(m *projections.Mutation) []any {
	about := []any{"mutation", m.ID, "run", m.Run, "operation", m.Call.Connector + "." + m.Call.Operation}
	if host := c.workflow.engine.Config.Connectors.Host(c.call(m)); host != "" {
		about = append(about, "host", host)
	}
	return append(about, "since", m.StartedAt.String())
}
