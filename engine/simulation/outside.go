package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// The operations of the one connector: send can be asked what became of it, fire cannot.
const (
	connectorName = "world"
	opList        = "list"
	opGet         = "get"
	opSend        = "send"
	opFire        = "fire"
)

var operations = []connector.Operation{
	{Name: opList, Kind: connector.List, Timeout: callTimeout},
	{Name: opGet, Kind: connector.Get, Timeout: callTimeout},
	{Name: opSend, Kind: connector.Mutate, Reconciles: true, Timeout: callTimeout,
		Schema: json.RawMessage(`{"required":["tag"]}`)},
	{Name: opFire, Kind: connector.Mutate, Timeout: callTimeout},
}

// performAnswer is what a call comes to: an outcome, or no reply until it runs out of time.
type performAnswer struct {
	outcome connector.Outcome
	silent  bool
	// exchange of a silent call stays open after its deadline.
	exchange *exchange
}

// outside is the world as one engine reaches it.
type outside struct {
	connector.Schemas
	sim  *sim
	node *node
}

var _ engine.Connectors = (*outside)(nil)

// Operation implements deploy.Catalog.
func (o *outside) Operation(name, operation string) (connector.Operation, bool) {
	for _, op := range operations {
		if name == connectorName && op.Name == operation && !o.sim.away.Load() {
			op.Reconciles = op.Reconciles && !o.sim.mute.Load()
			op.Timeout = o.sim.timeout
			return op, true
		}
	}
	return connector.Operation{}, false
}

// Connectors implements deploy.Catalog.
func (o *outside) Connectors() []string {
	if o.sim.away.Load() {
		return nil
	}
	return []string{connectorName}
}

// Operations implements deploy.Catalog.
func (o *outside) Operations(string) []string {
	if o.sim.away.Load() {
		return nil
	}
	return []string{opList, opGet, opSend, opFire}
}

// Similar implements deploy.Catalog.
func (o *outside) Similar(string) []string { return nil }

// Read implements engine.Connectors.
func (o *outside) Read(_ context.Context, call connector.Call) (json.RawMessage, error) {
	if o.sim.away.Load() {
		return nil, notOffered()
	}
	var params struct{ Fail eventlog.Class }
	if err := json.Unmarshal(call.Params, &params); err != nil {
		return nil, err
	}
	if params.Fail != "" {
		return nil, &eventlog.Failure{Class: params.Fail, Code: "world.read", Message: "the world does not answer"}
	}
	return json.RawMessage(`[]`), nil
}

// notOffered is what the gate says of a tool that is not offered now.
func notOffered() *eventlog.Failure {
	return &eventlog.Failure{Class: eventlog.Transient, Code: connector.CodeUnknown,
		Message: "there is no connector world now"}
}

// Perform implements engine.Connectors. Nothing has left before the driver releases it.
func (o *outside) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	if o.sim.away.Load() {
		o.turn(call)
		return connector.FailedWith(notOffered())
	}
	noticed, stop := o.sim.noticing(ctx, o.node)
	defer stop()
	answer, err := o.sim.gate.park(noticed, &op{node: o.node, workflow: call.Workflow, kind: opPerform, call: call,
		about: aboutCall(call)})
	if err != nil {
		o.turn(call)
		return connector.FailedWith(&eventlog.Failure{Class: eventlog.Transient, Code: "world.notSent",
			Message: "time was over before the request left"})
	}
	done := answer.(performAnswer)
	if done.silent {
		select {
		case <-ctx.Done():
		case <-o.sim.gate.over:
		}
		o.turn(call)
		if done.exchange != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			out := connector.UncertainWith(connector.ContextFailure(ctx, call))
			out.Open = true
			done.exchange.opened.Store(true)
			return out
		}
		return connector.UncertainWith(&eventlog.Failure{Class: eventlog.Transient, Code: "world.silent",
			Message: "no reply in time"})
	}
	return done.outcome
}

// Reconciles implements engine.Connectors.
func (o *outside) Reconciles(call connector.Call) bool {
	op, ok := o.Operation(call.Connector, call.Operation)
	return ok && op.Reconciles
}

// Resends implements engine.Connectors.
func (o *outside) Resends(call connector.Call) time.Duration {
	if o.sim.within == 0 || !o.Reconciles(call) {
		return 0
	}
	return o.sim.within
}

// Ending implements engine.Connectors.
func (o *outside) Ending(call connector.Call) connector.Ending {
	o.turn(call)
	return connector.Ending{Quiet: o.sim.quiet, Unseen: o.sim.unseen, Lasting: o.sim.lasting()}
}

// lasting is how long a receiver may go on after the deadline of a call that is on record as open then.
func (s *sim) lasting() time.Duration { return connector.DefaultListen + s.quiet }

// Host implements engine.Connectors.
func (o *outside) Host(connector.Call) string { return "" }

// Secrets implements engine.Connectors.
func (o *outside) Secrets(connector.Call) []string { return nil }

// Timeout implements engine.Connectors.
func (o *outside) Timeout(connector.Call) (time.Duration, bool) { return o.sim.timeout, true }

// Turn implements engine.Connectors: nothing bounds the calls.
func (o *outside) Turn(_ context.Context, call connector.Call) (connector.Turn, *eventlog.Failure) {
	return unbounded{o, call}, nil
}

// unbounded is the turn of a call, which waited for nothing. A turn that ends unused is that of a call that is not
// made: its run goes on at the same time as others without having asked the driver for anything.
type unbounded struct {
	outside *outside
	call    connector.Call
}

// End implements connector.Turn.
func (u unbounded) End() { u.outside.turn(u.call) }

// Reconcile implements engine.Connectors.
func (o *outside) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	if o.sim.away.Load() || o.sim.mute.Load() {
		return connector.RetryWith(notOffered())
	}
	answer, err := o.sim.gate.park(ctx, &op{node: o.node, workflow: call.Workflow, kind: opReconcile, call: call,
		about: aboutCall(call)})
	if err != nil {
		<-ctx.Done() // an answer at once would be asked for again, and time would stand still
		o.turn(call)
		return connector.RetryWith(&eventlog.Failure{Class: eventlog.Transient, Code: "world.silent",
			Message: "no answer in time"})
	}
	return answer.(connector.Reconciliation)
}

// OnLate implements engine.Connectors.
func (o *outside) OnLate(late func(connector.Call, connector.Outcome)) { o.node.late = late }

// turn waits for the driver once more where a run of a concurrent consumer would go on at the same time as others
// without having asked it for anything: of two that end in the same moment, the seed says which is first.
func (o *outside) turn(call connector.Call) {
	if isConcurrent(call) {
		o.sim.gate.pass(&op{node: o.node, workflow: call.Workflow, kind: opTurn, call: call, about: aboutCall(call)})
	}
}

// aboutCall and aboutScript order what comes up at the gate in the same moment: by what it is about, since ids are
// not the seed's.
func aboutCall(call connector.Call) string {
	if !isConcurrent(call) {
		return ""
	}
	return call.Operation + string(call.Params)
}

// isConcurrent reports whether the call is that of a concurrent consumer's run.
func isConcurrent(call connector.Call) bool {
	var params prepared
	return json.Unmarshal(call.Params, &params) == nil && params.Concurrent
}

// tool lets the connector go away or come back, or become another one than was deployed with.
func (s *sim) tool() {
	switch {
	case s.away.Load():
		s.away.Store(false)
		s.say("the connector is back")
	case s.chance(0.5):
		s.away.Store(true)
		s.say("the connector is gone")
		s.did("tool gone")
	default:
		s.mute.Store(!s.mute.Load())
		s.say("the connector has changed: send cannot be asked: %v", s.mute.Load())
		s.did("tool changed")
	}
}

// outage lets the target fail every call alike, or work again (C7).
func (s *sim) outage() {
	if s.down != "" {
		s.down = ""
		s.say("the target works again")
		return
	}
	s.down = pick(s, eventlog.Transient, eventlog.Transient, eventlog.Auth, eventlog.Permission, eventlog.Internal)
	s.say("the target is down: every call fails as %s", s.down)
	s.did("outage")
}
