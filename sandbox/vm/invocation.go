package vm

import (
	"context"
	"encoding/json"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// encoded is the JSON of an argument; a value without JSON ends the invocation, as does an
// exception out of its getters: the author's catch would otherwise hide a call that was never made.
func (inv *invocation) encoded(v goja.Value, code, what string) json.RawMessage {
	raw, err := value.Encode(v)
	if err == nil && raw == nil {
		inv.abort(sandbox.ScriptFault(code, "%s must be given", what))
	}
	if err != nil {
		inv.abort(sandbox.ScriptFault(code, "%s cannot be written as JSON: %s", what, inv.reason(err)))
	}
	return raw
}

// reason says why encode failed.
func (inv *invocation) reason(err error) string {
	if ex, ok := err.(*goja.Exception); ok {
		return inv.describe(ex.Value()).message
	}
	return sandbox.Clip(err.Error(), 300)
}

// invocation is one handler call: a session with a ctx. It needs the call and a way to its host,
// nothing else, so that it can run in any process.
type invocation struct {
	*session
	ctx  context.Context
	call sandbox.Invocation
	// transport takes reads to the host, which may be in another process.
	transport Transport

	reads        reads
	readID       int
	hostCalls    int
	publishBytes int
	publishes    []sandbox.Publish
	published    map[string]int // by topic and messageId, the last of publishes
	entered      bool           // the handler was called
	asks         bool           // the consumer's approval wants a person to look at the call
	inputs       []sandbox.Input
	malformed    sandbox.Place // of a result of prepare that is none
}

func (inv *invocation) title() string { return inv.call.Title() }

// approval finds out whether the consumer wants a person to approve the call of its mutate. A function is asked before
// mutate runs, with prepared values of its own, and answers at once: anything but true and false ends the call, so that
// nothing leaves by mistake.
func (inv *invocation) approval(consumer goja.Value) (bool, error) {
	const fix = "; write approval: (prepared) => prepared.data.total > 1000"
	v := property(consumer, "approval")
	ask, callable := goja.AssertFunction(v)
	switch {
	case value.Undefined(v):
		return false, nil
	case callable:
	case value.IsText(v) && v.String() == sandbox.ApprovalAsk:
		return true, nil
	default:
		inv.abort(sandbox.ScriptFault("approval.result", `approval of consumer %q must be "ask" or a function, and is %s`,
			inv.call.Handler, value.KindOf(v)))
	}
	answer, err := ask(consumer, inv.arguments()[1:]...)
	if err != nil {
		return false, err
	}
	if value.IsPromise(answer) {
		inv.abort(sandbox.ScriptFault("approval.result",
			"approval of consumer %q returns a promise; it has to answer at once, without async"+fix, inv.call.Handler))
	}
	asked, ok := answer.Export().(bool)
	if !ok {
		inv.abort(sandbox.ScriptFault("approval.result",
			"approval of consumer %q must return true, to ask a person, or false, and returned %s"+fix, inv.call.Handler,
			value.KindOf(answer)))
	}
	return asked, nil
}

// scheduledAt is what ctx.scheduledAt says: the time that the schedule asked for, as ISO 8601 text.
func (inv *invocation) scheduledAt() string {
	at := inv.call.ScheduledAt
	if at.IsZero() {
		at = inv.call.Now
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}
