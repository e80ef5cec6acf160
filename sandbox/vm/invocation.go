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
	buffered     goja.Value     // the promise that each ctx.publish returns: it says the same of all
	entered      bool           // the handler was called
	asks         bool           // the consumer's approval wants a person to look at the call
	sendsUnasked bool           // the consumer has mutate and no approval: its calls leave without a question
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

// quickPrepare is how long prepare may have taken if mutate is to follow in the same call. Package worker counts the
// time of both against the limits of one handler, and kills a process that is 250 ms late. Prepare may use up only a
// small part of these, or mutate would be killed before it reaches its own limits.
const quickPrepare = 50 * time.Millisecond

// thenMutate is the call of mutate with what prepare has returned. It is nil where the caller did not ask for it, where
// prepare reserves nothing or was slow, and where statements are counted: a counting caller counts each call by itself.
// It is nil too where prepare has read: a caller that lost the process at once could not call prepare again unseen.
func (inv *invocation) thenMutate(prepared json.RawMessage) *sandbox.Invocation {
	call := &inv.call
	if !call.ThenMutate || call.MutateReadsByID || call.Source.Counted || !inv.reserves || inv.reads.made > 0 ||
		time.Since(inv.start) > quickPrepare {
		return nil
	}
	then := call.Mutate()
	then.Prepared, then.Now, then.Seed = prepared, inv.now(), inv.random().Uint64()
	return &then
}
