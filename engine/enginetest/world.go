package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// World is the outside: a connector whose behaviour a test sets, and the effects it has had.
type World struct {
	name string

	mu      sync.Mutex
	effects map[string]int // by idempotency key
	order   []string
	params  map[string]json.RawMessage
	// What the operations do; nil fields have a plain default.
	onRead      func(connector.Call) (json.RawMessage, error)
	onPerform   func(context.Context, connector.Call) connector.Outcome
	onReconcile func(connector.Call) connector.Reconciliation
	operations  []connector.Operation
	// Ending says when nothing of a call is under way any more. Set before an engine starts.
	Ending connector.Ending
}

// NewWorld makes a world that scripts see as ctx.<name>: list and get read, send mutates and
// reconciles, fire mutates and cannot be asked.
func NewWorld(name string) *World {
	return &World{
		name: name, effects: map[string]int{}, params: map[string]json.RawMessage{},
		Ending: connector.Ending{Quiet: connector.DefaultQuiet, Unseen: connector.DefaultQuiet},
		operations: []connector.Operation{
			{Name: "list", Kind: connector.List},
			{Name: "get", Kind: connector.Get},
			{Name: "send", Kind: connector.Mutate, Reconciles: true, Timeout: 5 * time.Second},
			{Name: "fire", Kind: connector.Mutate, Timeout: 5 * time.Second},
		},
	}
}

// Offer replaces the operations.
func (w *World) Offer(operations ...connector.Operation) *World {
	w.operations = operations
	return w
}

// OnRead sets what list and get answer.
func (w *World) OnRead(f func(connector.Call) (json.RawMessage, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onRead = f
}

// OnPerform sets what a mutation does. It calls Apply for the effect itself.
func (w *World) OnPerform(f func(context.Context, connector.Call) connector.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onPerform = f
}

// OnReconcile sets what a reconcile answers.
func (w *World) OnReconcile(f func(connector.Call) connector.Reconciliation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onReconcile = f
}

// Apply has the effect: it counts.
func (w *World) Apply(call connector.Call) connector.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[call.Key]++
	w.order = append(w.order, call.Key)
	w.params[call.Key] = call.Params
	return connector.Outcome{Status: connector.Applied, Result: json.RawMessage(fmt.Sprintf(`{"n":%d}`, len(w.order)))}
}

// Effects returns how often each idempotency key took effect.
func (w *World) Effects() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]int, len(w.effects))
	for k, n := range w.effects {
		out[k] = n
	}
	return out
}

// Params returns the parameters of every effect, in order.
func (w *World) Params() []json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []json.RawMessage
	for _, k := range w.order {
		all = append(all, w.params[k])
	}
	return all
}

// Twice lists keys that took effect more than once: there must be none.
func (w *World) Twice() []string {
	var twice []string
	for k, n := range w.Effects() {
		if n > 1 {
			twice = append(twice, k)
		}
	}
	return twice
}

// Name implements connector.Connector.
func (w *World) Name() string { return w.name }

// CallEnding implements connector.EndingDescriber.
func (w *World) CallEnding(connector.Call) connector.Ending { return w.Ending }

// Operations implements connector.Connector.
func (w *World) Operations() []connector.Operation { return w.operations }

// Read implements connector.Connector.
func (w *World) Read(_ context.Context, call connector.Call) (json.RawMessage, error) {
	w.mu.Lock()
	f := w.onRead
	w.mu.Unlock()
	if f == nil {
		return json.RawMessage(`[]`), nil
	}
	return f(call)
}

// Perform implements connector.Connector.
func (w *World) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	w.mu.Lock()
	f := w.onPerform
	w.mu.Unlock()
	if f == nil {
		return w.Apply(call)
	}
	return f(ctx, call)
}

// Reconcile implements connector.Connector: by default it knows what took effect.
func (w *World) Reconcile(_ context.Context, call connector.Call) connector.Reconciliation {
	w.mu.Lock()
	f := w.onReconcile
	n := w.effects[call.Key]
	w.mu.Unlock()
	switch {
	case f != nil:
		return f(call)
	case n > 0:
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: json.RawMessage(`{"reconciled":true}`)}
	default:
		return connector.Reconciliation{Verdict: connector.VerdictFailed}
	}
}

// Failing is the definite failure of a class, for OnPerform and OnRead.
func Failing(class eventlog.Class, code string) *eventlog.Failure {
	return &eventlog.Failure{Class: class, Code: code, Message: "the world says " + code}
}
