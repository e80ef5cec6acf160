package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// again is how long after a call that found no place it is tried again at the soonest.
const again = time.Second

// asideFor is how long a turn that is set aside for a question is kept after it has come. A question comes again within
// the longest pause of policies.reconcile, or not at all.
const asideFor = 15 * time.Minute

// latest is how late a turn may be taken without the next one being later too: timers are late on a busy machine. It is
// short, so that an idle time saves up no turn.
const latest = 50 * time.Millisecond

// longestStep bounds the time between two calls that come again because of how long the last one lasted: that one may
// have been an exception.
const longestStep = 30 * time.Second

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
	// next is when the next turn of the rate comes, last when the last one was taken. afterQuestion says that that was a
	// question's.
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

// Take waits until the call may be sent, for all of ctx: the time of the request begins after it. A failure means that
// ctx ends before, and that nothing may be sent.
func (q *Queue) Take(ctx context.Context, call connector.Call) (*Turn, *eventlog.Failure) {
	return q.take(ctx, call, false)
}

// Ask waits until a question about the earlier call may be sent, in the first half of its time: the rest belongs to the
// question. It takes no place, since that call may still have one.
func (q *Queue) Ask(ctx context.Context, call connector.Call) *eventlog.Failure {
	if q == nil || q.bounds.Spacing == 0 {
		return nil
	}
	ctx, cancel := firstHalf(ctx)
	defer cancel()
	if due, mine := q.setAside(call.Key); mine {
		return q.awaitAside(ctx, call, due)
	}
	_, failure := q.take(ctx, call, true)
	return failure
}

func (q *Queue) take(ctx context.Context, call connector.Call, question bool) (*Turn, *eventlog.Failure) {
	if q == nil {
		return &Turn{}, nil
	}
	w := &waiter{call: call, question: question, ready: make(chan struct{})}
	q.mu.Lock()
	if turn, late := q.tooLate(ctx, w); late {
		defer q.mu.Unlock()
		return nil, q.heldBack(ctx, w, turn, fmt.Sprintf("its turn at %s comes in %s, too late for its time: at most %s (%s)",
			q.bounds.Target, time.Until(turn).Round(time.Millisecond), q.bounds.Rate, q.bounds.RateFrom))
	}
	q.ringOf(w).add(w)
	q.dispatch()
	q.mu.Unlock()
	select {
	case <-w.ready:
		return w.turn, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.turn != nil { // it came at the last moment, and whether anything may still leave is asked at the first byte
		return w.turn, nil
	}
	ahead := q.ahead(w)
	q.ringOf(w).remove(w)
	if !question && q.full() {
		return nil, q.heldBack(ctx, w, time.Now().Add(again), fmt.Sprintf(
			"too many calls to %s were under way for as long as it could wait: at most %s at once (%s)", q.bounds.Target,
			eventlog.Count(q.bounds.Places, "call"), q.bounds.PlacesFrom))
	}
	return nil, q.heldBack(ctx, w, q.turnAfter(ahead), fmt.Sprintf("its turn at %s had not come within its time: at most "+
		"%s (%s)", q.bounds.Target, q.bounds.Rate, q.bounds.RateFrom))
}

// tooLate is when the turn of a call comes that would wait from now on, and whether that is certain to be after ctx
// ends.
func (q *Queue) tooLate(ctx context.Context, w *waiter) (time.Time, bool) {
	end, bounded := ctx.Deadline()
	if !bounded || q.bounds.Spacing == 0 {
		return time.Time{}, false
	}
	turn := q.turnAfter(q.ahead(w))
	return turn, turn.After(end)
}

// turnAfter is when the turn of the rate comes that follows so many others.
func (q *Queue) turnAfter(ahead int) time.Time {
	turn := time.Now()
	if q.next.After(turn) {
		turn = q.next
	}
	return turn.Add(time.Duration(ahead) * q.bounds.Spacing)
}

// ahead is how many turns come before that of w, as far as is known now.
func (q *Queue) ahead(w *waiter) int {
	own, other := &q.calls, &q.questions
	if w.question {
		own, other = other, own
	}
	n := own.ahead(w)
	return n + min(other.n, n+1)
}

// heldBack is under mu. It sets a turn aside for a question, and tells a call when to come again: each at another time,
// so that they do not all come at once.
func (q *Queue) heldBack(ctx context.Context, w *waiter, turn time.Time, why string) *eventlog.Failure {
	now := time.Now()
	wait := time.Duration(0)
	if at, ok := q.setAsideFor(w); ok {
		wait = at.Sub(now)
	} else {
		wait = q.promise(turn).Sub(now)
	}
	return connector.HeldBack(ctx, w.call, max(wait, again), why)
}

// promise is when a call that found no turn may come again: one after the other. Those that never come again must not
// keep the rest away, so the times begin anew after a while.
func (q *Queue) promise(turn time.Time) time.Time {
	step := max(q.bounds.Spacing, 50*time.Millisecond)
	if q.bounds.Places > 0 {
		step = max(step, min(q.lasted/time.Duration(q.bounds.Places), longestStep))
	}
	q.promised = q.promised.Add(step)
	if q.promised.Before(turn) || q.promised.After(turn.Add(max(5*time.Minute, 10*step))) {
		q.promised = turn
	}
	return q.promised
}

// dispatch gives turns to those that may have one now. It is under mu.
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

// Waiting lists the workflow's calls that wait for their turn, by run.
func (q *Queue) Waiting(workflow eventlog.WorkflowName) []connector.Waiting {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []connector.Waiting
	for _, waiters := range [][]*waiter{q.questions.of[workflow], q.calls.of[workflow]} {
		for _, w := range waiters {
			one := connector.Waiting{Workflow: workflow, Run: w.call.Run, Key: w.call.Key, Target: q.bounds.Target,
				Setting: q.bounds.Setting,
				Bound:   "at most " + eventlog.Count(q.bounds.Places, "call") + " at once"}
			if w.question || !q.full() {
				one.Bound, one.Until = "at most "+q.bounds.Rate, q.turnAfter(q.ahead(w))
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b connector.Waiting) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key))
	})
	return all
}
