package turn

import (
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// waiter is a call or a question that waits for its turn.
type waiter struct {
	call     connector.Call
	question bool
	ready    chan struct{} // closed when it has its turn
	turn     *Turn
}

// ring gives its workflows turns one after the other, and each of them in the order of its waiters.
type ring struct {
	order []eventlog.WorkflowName // those that have a waiter, the next one first
	of    map[eventlog.WorkflowName][]*waiter
	n     int
}

func (r *ring) add(w *waiter) {
	name := w.call.Workflow
	if r.of == nil {
		r.of = map[eventlog.WorkflowName][]*waiter{}
	}
	if len(r.of[name]) == 0 {
		r.order = append(r.order, name)
	}
	r.of[name] = append(r.of[name], w)
	r.n++
}

// first is the one whose turn is next, nil for none.
func (r *ring) first() *waiter {
	if len(r.order) == 0 {
		return nil
	}
	return r.of[r.order[0]][0]
}

// pop takes the first one out; its workflow is last in the order then.
func (r *ring) pop() {
	name := r.order[0]
	r.remove(r.of[name][0])
	if len(r.of[name]) > 0 {
		r.order = append(r.order[1:], name)
	}
}

// remove takes a waiter out wherever it stands.
func (r *ring) remove(w *waiter) {
	name := w.call.Workflow
	left := slices.DeleteFunc(r.of[name], func(x *waiter) bool { return x == w })
	r.n--
	if r.of[name] = left; len(left) > 0 {
		return
	}
	delete(r.of, name)
	r.order = slices.DeleteFunc(r.order, func(x eventlog.WorkflowName) bool { return x == name })
}

// ahead is how many of the ring have their turn before w, which stands in it or would be the last of its workflow.
func (r *ring) ahead(w *waiter) (n int) {
	name := w.call.Workflow
	before := slices.Index(r.of[name], w)
	if before < 0 {
		before = len(r.of[name])
	}
	passed := false // the workflow's own place in the order
	for _, other := range r.order {
		if other == name {
			passed = true
			continue
		}
		rounds := before // each other one has a turn in each round before that of w
		if !passed {
			rounds++
		}
		n += min(len(r.of[other]), rounds)
	}
	return n + before
}
