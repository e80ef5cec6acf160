package simulation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// errOver ends what is parked when the simulation is over.
var errOver = errors.New("the simulation is over")

// kind is what an engine asks of the outside.
type kind int

const (
	opAppend    kind = iota // nothing of it is written yet
	opAck                   // it is written, and the engine does not know yet
	opPerform               // nothing has left yet
	opReconcile             // the connector was not asked yet
	opScript                // the handler has not run yet
	opTurn                  // a run of a concurrent consumer would go on at the same time as others
)

func (k kind) String() string {
	return [...]string{"append", "ack", "perform", "reconcile", "script", "turn"}[k]
}

// op is one parked operation of one engine.
type op struct {
	node     *node
	workflow eventlog.WorkflowName
	kind     kind
	serial   int // orders operations of the same node, workflow and kind
	// about comes before serial where a workflow has several at once, which come up in any order.
	about string

	entry  eventlog.Entry
	call   connector.Call
	script sandbox.Invocation
	// follows: it is a mutate that follows its prepare in the same call.
	follows bool

	// looked and seen belong to the judge: whether it has noted the arrival; and of a prepare, which events it could
	// see and how often each had become pending.
	looked bool
	seen   map[eventlog.EventRef]int

	answer chan any
}

// gate holds every operation that waits for the driver.
type gate struct {
	over chan struct{} // closed when the simulation ends

	mu      sync.Mutex
	parked  []*op
	serials map[serialKey]int
}

type serialKey struct {
	node     int
	workflow eventlog.WorkflowName
	kind     kind
}

func newGate() *gate { return &gate{over: make(chan struct{}), serials: map[serialKey]int{}} }

// park waits for the driver's answer. The error is errOver or that of ctx.
func (g *gate) park(ctx context.Context, o *op) (any, error) {
	o.answer = make(chan any, 1)
	g.mu.Lock()
	key := serialKey{o.node.number, o.workflow, o.kind}
	g.serials[key]++
	o.serial = g.serials[key]
	g.parked = append(g.parked, o)
	g.mu.Unlock()
	select {
	case answer := <-o.answer:
		return answer, nil
	case <-ctx.Done():
	case <-g.over:
	}
	if !g.remove(o) {
		return <-o.answer, nil
	}
	select {
	case <-g.over:
		return nil, errOver
	default:
		return nil, context.Cause(ctx)
	}
}

// pass waits for the driver until the simulation is over.
func (g *gate) pass(o *op) { _, _ = g.park(context.Background(), o) }

// remove takes the operation out, and reports whether it was still there.
func (g *gate) remove(o *op) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.parked, o)
	if i < 0 {
		return false
	}
	g.parked = slices.Delete(g.parked, i, i+1)
	return true
}

// release lets the operation go on with the answer.
func (g *gate) release(o *op, answer any) {
	if g.remove(o) {
		o.answer <- answer
	}
}

// waiting lists what is parked by those nodes, in an order that the seed fixes.
func (g *gate) waiting(of func(*node) bool) []*op {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ops []*op
	for _, o := range g.parked {
		if of(o.node) {
			ops = append(ops, o)
		}
	}
	slices.SortFunc(ops, func(a, b *op) int {
		return cmp.Or(cmp.Compare(a.node.number, b.node.number), cmp.Compare(a.workflow, b.workflow),
			cmp.Compare(a.kind, b.kind), cmp.Compare(a.about, b.about), cmp.Compare(a.serial, b.serial))
	})
	return ops
}

// performs reports whether the node has parked the call.
func (g *gate) performs(n *node, key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.parked, func(o *op) bool {
		return o.node == n && o.kind == opPerform && o.call.Key == key
	})
}

// has reports whether the node has parked one of the kinds for the workflow.
func (g *gate) has(n *node, w eventlog.WorkflowName, kinds ...kind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.parked, func(o *op) bool {
		return o.node == n && o.workflow == w && slices.Contains(kinds, o.kind)
	})
}
