package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Kind says what an operation does to the outside; the phase table and grants rest on it.
type Kind string

// The kinds of operations.
const (
	// List finds things (search, list): a read that selects.
	List Kind = "list"
	// Get reads one thing by its id or unique key.
	Get Kind = "get"
	// Mutate changes the outside: sent at most once per run, and recorded before that.
	Mutate Kind = "mutate"
)

// DefaultTimeout bounds a call whose operation names no timeout of its own.
const DefaultTimeout = 30 * time.Second

// Operation describes one operation; a deploy pins what it says.
type Operation struct {
	Name string
	Kind Kind
	// Schema is the JSON Schema of the parameters; empty accepts any JSON object.
	Schema json.RawMessage
	// Result is the JSON Schema of the result, for the authors of scripts: it is not pinned, and no result is checked
	// against it here. Empty says nothing. A large result is cut, and a person may settle a call without one.
	Result json.RawMessage
	// Timeout bounds one call; 0 means DefaultTimeout.
	Timeout time.Duration
	// Reconciles says whether Reconcile can settle this mutation (F5, O3).
	Reconciles bool
	// Summary is one line for `pawl connectors`.
	Summary string
}

// Call is one request to the outside, complete: nothing else decides what is sent.
type Call struct {
	Workflow  eventlog.WorkflowName
	Run       eventlog.RunID
	Connector string
	Operation string
	// Params is the exact JSON the script gave (for an approved call: the recorded bytes).
	Params json.RawMessage
	// Key is the idempotency key of a mutation, derived from its chain's first run; empty for reads.
	Key string
	// StartedAt and Deadline are wall-clock times; a call ends at its deadline at the latest.
	StartedAt time.Time
	Deadline  time.Time
	// Gate is asked immediately before the first byte of a mutation is handed over, from any goroutine:
	// a failure says why the right to send it has passed. nil lets everything out.
	Gate func() *eventlog.Failure
	// Resend says that the same call was sent before, and is sent again with the same key to find out what became of it.
	Resend bool
	// Turn is the turn that Registry.Turn gave this call; nil where it has none yet. Registry.Perform ends it.
	Turn Turn
	// Traceparent is the context of the trace that the call belongs to, as W3C Trace Context writes it, for connectors
	// whose requests have headers; empty where nothing is traced.
	Traceparent string
	// Reach is asked before a read follows a redirect to another host than the call names: a failure says why it may
	// not. nil lets it follow to every host.
	Reach func(host string) *eventlog.Failure
}

// normal gives absent parameters their meaning: an empty object.
func normal(call Call) Call {
	if len(bytes.TrimSpace(call.Params)) == 0 {
		call.Params = json.RawMessage("{}")
	}
	return call
}

// Status is what became of a mutation call. There is no error besides: a timeout cannot be mistaken for a failure.
type Status int

// The outcomes of a mutation call.
const (
	// Uncertain: it may or may not have happened. The zero value, so that a forgotten
	// status can never cause a second send.
	Uncertain Status = iota
	// Applied: it happened; Result holds what the outside answered.
	Applied
	// Failed: it definitely did not happen and never will by this request (F4).
	Failed
)

// Outcome of one mutation call.
type Outcome struct {
	Status Status
	// Result is the answer of an applied mutation, JSON.
	Result json.RawMessage
	// Failure says why for Failed and Uncertain; its Class drives F2.
	Failure *eventlog.Failure
	// Answered, of an Uncertain outcome: the outside has answered completely, so nothing of the call
	// is under way any more. What it said leaves open whether the call was applied.
	Answered bool
	// Relayed, of an Uncertain outcome: another party on the way may have answered because it has stopped
	// waiting. The outside behind it may still be at work, and its end is not seen.
	Relayed bool
	// Open, of an Uncertain outcome: the call itself goes on. The Registry sets it where it has
	// answered at the deadline for a connector that listens on; OnLate tells the end.
	Open bool
}

// DefaultQuiet is how long the outside may go on with a call after its exchange has ended, when its
// connector does not say otherwise.
const DefaultQuiet = 5 * time.Second

// DefaultListen is how long an exchange may stay open after the deadline of its call, when its connector does not say
// otherwise: the outside may need that long for the call.
const DefaultListen = 5 * time.Minute

// Ending says when nothing of a call can be under way any more: that is when a reconcile's "failed"
// is believed (F5).
type Ending struct {
	// Quiet is how long the outside may go on after the end of an exchange that this process has seen end
	// without a complete answer.
	Quiet time.Duration
	// Unseen is how long the outside may go on after the deadline of a call whose end this process cannot
	// see: the process that held its exchange is gone, or another party on the way has stopped waiting.
	Unseen time.Duration
	// Lasting takes the place of Unseen for a call whose exchange was still open after its deadline when the
	// process that held it ended: the outside was seen to be slow, and a restart must not hurry it.
	Lasting time.Duration
	// Detached: the end of the exchange says nothing about the outside, as with a message that was handed
	// over. Only a complete answer ends such a call; otherwise its end is not seen.
	Detached bool
}

// DefaultEnding holds where nothing is known of the outside: a slow call that was cut off may go on for as long as its
// exchange would have been listened to.
func DefaultEnding() Ending {
	return Ending{Quiet: DefaultQuiet, Unseen: DefaultQuiet, Lasting: DefaultListen + DefaultQuiet}
}

// EndingDescriber is implemented by a connector whose calls end in another way than DefaultEnding says. Ask
// through Registry.Ending.
type EndingDescriber interface {
	// CallEnding says when nothing of the call can be under way any more. It does no I/O.
	CallEnding(call Call) Ending
}

// Verdict is a reconcile's answer.
type Verdict int

// The answers of a reconcile.
const (
	// VerdictRetry: not known yet, ask again later; nothing is sent.
	VerdictRetry Verdict = iota
	// VerdictApplied: the call took effect.
	VerdictApplied
	// VerdictFailed: the call did not take effect and can never take effect any more.
	VerdictFailed
)

// Reconciliation is what a connector found out about an earlier mutation call.
type Reconciliation struct {
	Verdict Verdict
	Result  json.RawMessage
	// Failure says why the answer is VerdictRetry, or why the call failed; may be nil.
	Failure *eventlog.Failure
}

// Connector owns every call to one outside system. Implementations are safe for concurrent use.
// One call is one request on the wire. Nothing is sent after ctx has ended, and every call returns
// then, with one exception: a Perform whose request has left completely may listen on for the reply
// after ctx's deadline (never after its cancellation). The Registry answers Uncertain at the
// deadline and passes on what such a call returns later (F12).
type Connector interface {
	// Name is what scripts write: ctx.<name>.<operation>(params).
	Name() string
	// Operations lists what it offers now, in a stable order.
	Operations() []Operation
	// Read performs a list or get operation. An error is a *eventlog.Failure;
	// anything else counts as internal (F3).
	Read(ctx context.Context, call Call) (json.RawMessage, error)
	// Perform sends the mutation once. Every outcome after the request may have left is
	// Uncertain unless the outside said explicitly that it did not apply it (F4). It asks MayLeave
	// immediately before it hands over the first byte, and sends nothing if that fails.
	Perform(ctx context.Context, call Call) Outcome
	// Reconcile asks whether an earlier Perform of the same call took effect. It never
	// sends the mutation. Called only for operations with Reconciles.
	Reconcile(ctx context.Context, call Call) Reconciliation
}

// CallReconciler is implemented by a connector whose answer to "can you reconcile this?" depends on
// the call and not on the operation alone, as with one configured host out of several. Without it
// the operation's Reconciles holds for every call. Ask through Registry.Reconciles: when it says no,
// an uncertain call is indeterminate at once (F5).
type CallReconciler interface {
	// ReconcilesCall says whether Reconcile can settle this call. It does no I/O.
	ReconcilesCall(call Call) bool
}

// CallResender is implemented by a connector that finds out what became of some calls by sending them once more, with
// the same key, since the operator promises that their target knows it. Perform gets such a call with Resend: it
// answers Applied only where the call has taken effect, and Failed with CodeNotApplied only where it never will. Any
// other failure is one of this request alone. Ask through Registry.Resends.
type CallResender interface {
	// CallResends is for how long after its start the target knows the call by its key; 0 where it is not sent again. It
	// does no I/O.
	CallResends(call Call) time.Duration
}

// HostNamer is implemented by a connector whose calls name a host, which grants may name then. Ask through
// Registry.Host.
type HostNamer interface {
	// CallHost is the host of the call as grants write it: in lower case, with a port where it is not
	// the scheme's own; empty for a call that is refused anyway. It does no I/O.
	CallHost(call Call) string
}

// SecretNamer is implemented by a connector whose calls may carry secrets of the configuration by name. Each of them
// has to be granted to the workflow. Ask through Registry.Secrets.
type SecretNamer interface {
	// CallSecrets names the secrets of the call, each once. It does no I/O.
	CallSecrets(call Call) []string
}

// Waiting is a call that has not left yet: it waits for its turn at its target, because of a bound in the
// configuration.
type Waiting struct {
	Workflow eventlog.WorkflowName
	Run      eventlog.RunID
	// Key is the idempotency key of a mutation, empty for a read.
	Key string
	// Target names what is called, as the configuration does, and Bound what it waits for: "at most 10/s".
	Target, Bound string
	// Setting is the key of the configuration that sets the bound, empty for a bound of the connector itself.
	Setting string
	// Until is when its turn comes, where that is known.
	Until time.Time
}

// CallsWaiter is implemented by a connector whose calls may have to wait for their turn. Ask through Registry.Waiting.
type CallsWaiter interface {
	// Waiting lists the calls of the workflow that wait now. It does no I/O.
	Waiting(workflow eventlog.WorkflowName) []Waiting
}

// Turn is the right of one call to be sent to its target, which takes only so many calls at once or in a time.
type Turn interface {
	// End gives the turn back, so that another call can have its place. It may be called more than once.
	End()
}

// TurnWaiter is implemented by a connector whose mutations may have to wait for their turn. Ask through Registry.Turn.
type TurnWaiter interface {
	// MayWait reports whether any call may have to wait. If not, CallTurn is not asked.
	MayWait() bool
	// CallTurn waits until the mutation may be sent. A failure says why its turn does not come before ctx ends: nothing
	// was sent, and nothing may be. Perform takes a turn of its own where the call has none.
	CallTurn(ctx context.Context, call Call) (Turn, *eventlog.Failure)
}

// CallTimeouter is implemented by a connector whose timeout depends on the call and not on the
// operation alone. It can only shorten the operation's timeout. Ask through Registry.Timeout.
type CallTimeouter interface {
	// CallTimeout bounds this call; 0 means that the operation's timeout holds. It does no I/O.
	CallTimeout(call Call) time.Duration
}
