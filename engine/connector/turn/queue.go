package turn

import (
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// latest is how late a turn may be taken without the next one being later too: timers are late on a busy machine. It is
// short, so that no turns are saved up while nothing is called.
const latest = 50 * time.Millisecond

// Bounds of a target. The zero value of each number sets no bound.
type Bounds struct {
	// Target names what is called, as the configuration does.
	Target string
	// Setting is the key of the configuration under which the bounds stand, empty for those of the connector itself.
	Setting string
	// Places is how many calls may be under way at once. PlacesFrom says in messages where that comes from.
	Places     int
	PlacesFrom string
	// Spacing is the time between two turns, Rate is the same as the configuration says it, RateFrom its key.
	Spacing        time.Duration
	Rate, RateFrom string
}

// Queue hands out the turns of one target. A nil Queue sets no bounds. It is safe for concurrent use.
type Queue struct {
	bounds Bounds

	mu sync.Mutex
	// taken is how many places are taken.
	taken            int
	calls, questions ring
	// next is when the next turn of the rate comes, last when the last one was taken. afterQuestion says that a
	// question had that turn.
	next, last    time.Time
	afterQuestion bool
	timer         *time.Timer
	// aside is the turn that is set aside for the question with asideKey; zero for none.
	aside    time.Time
	asideKey string
	// promised is the latest time at which a call that found no turn was told to come again.
	promised time.Time
	// lasted is how long the last call had its place.
	lasted time.Duration
}

// New makes the queue of a target; nil where nothing is bounded.
func New(bounds Bounds) *Queue {
	if bounds.Places <= 0 && bounds.Spacing <= 0 {
		return nil
	}
	return &Queue{bounds: bounds}
}

// Turn is the right to send one request to the target. It ends with End.
type Turn struct {
	queue *Queue
	began time.Time
	once  sync.Once
	// place says that it has one of the places.
	place bool
}

// End gives the place back. Only the first call of End counts.
func (t *Turn) End() {
	if t == nil || t.queue == nil || !t.place {
		return
	}
	t.once.Do(func() {
		q := t.queue
		q.mu.Lock()
		defer q.mu.Unlock()
		q.taken, q.lasted = q.taken-1, time.Since(t.began)
		q.dispatch()
	})
}

// dispatch gives turns to those that may have one now. The caller holds mu.
func (q *Queue) dispatch() {
	for {
		w := q.first()
		if w == nil {
			return
		}
		if q.bounds.Spacing > 0 {
			now := time.Now()
			if now.Before(q.next) {
				q.wake(q.next.Sub(now))
				return
			}
			q.pass(now)
			q.last = now
			q.afterQuestion = w.question
		}
		q.ringOf(w).pop()
		w.turn = &Turn{queue: q, began: time.Now(), place: !w.question && q.bounds.Places > 0}
		if w.turn.place {
			q.taken++
		}
		close(w.ready)
	}
}

// pass lets the next turn of the rate pass.
func (q *Queue) pass(now time.Time) {
	if now.Sub(q.next) < min(q.bounds.Spacing, latest) {
		q.next = q.next.Add(q.bounds.Spacing) // a late look does not slow the rate down
	} else {
		q.next = now.Add(q.bounds.Spacing)
	}
	if late := q.next.Sub(q.aside); late > -q.bounds.Spacing && late < q.bounds.Spacing {
		q.next = q.aside.Add(q.bounds.Spacing)
	}
}

// first is the one that has the next turn, nil if no one can use it now.
func (q *Queue) first() *waiter {
	question, call := q.questions.first(), q.calls.first()
	if q.full() {
		call = nil
	}
	if question != nil && (call == nil || !q.afterQuestion) {
		return question
	}
	return call
}

// full reports whether all places are taken.
func (q *Queue) full() bool { return q.bounds.Places > 0 && q.taken >= q.bounds.Places }

func (q *Queue) ringOf(w *waiter) *ring {
	if w.question {
		return &q.questions
	}
	return &q.calls
}

func (q *Queue) wake(in time.Duration) {
	if q.timer == nil {
		q.timer = time.AfterFunc(in, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.dispatch()
		})
		return
	}
	q.timer.Reset(in)
}

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
