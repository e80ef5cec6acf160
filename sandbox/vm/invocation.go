package vm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

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
	reserves     bool          // prepare has returned reservations of events
}

// encoded is the JSON of an argument; a value without JSON ends the invocation, as does an
// exception out of its getters: the author's catch would otherwise hide a call that was never made.
func (inv *invocation) encoded(v goja.Value, code, what string) json.RawMessage {
	raw, err := value.Encode(inv.rt, v)
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

func (inv *invocation) title() string { return inv.call.Title() }

// scheduledAt is what ctx.scheduledAt says: the time that the schedule asked for, as ISO 8601 text.
func (inv *invocation) scheduledAt() string {
	at := inv.call.ScheduledAt
	if at.IsZero() {
		at = inv.call.Now
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// quickPrepare bounds the time of a prepare after which mutate is called without its caller: it is small beside what
// an executor of processes gives a handler beyond its limits, which it keeps for both together.
const quickPrepare = 50 * time.Millisecond

// thenMutate is the call of mutate with what prepare has returned. It is nil where the caller did not ask for it, where
// prepare reserves nothing, and where the caller has to make it.
func (inv *invocation) thenMutate(prepared json.RawMessage) *sandbox.Invocation {
	call := &inv.call
	if !call.ThenMutate || call.Phase != sandbox.Prepare || call.Source.Counted || !inv.reserves ||
		time.Since(inv.start) > quickPrepare {
		return nil
	}
	then := call.Mutate()
	then.Prepared, then.Now, then.Seed = prepared, inv.now(), inv.random().Uint64()
	return &then
}
