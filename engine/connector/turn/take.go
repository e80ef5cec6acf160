package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// usedWithin is how long a turn may wait to be used, unless the rate gives turns more rarely.
const usedWithin = 2 * time.Second

// Enter gives the call's own turn back, if it has one of this queue, and else waits for one in the first half of its
// time: the rest belongs to the request. Turns that were not used at once would leave together, so an old one is ended
// and the call waits for another. A nil Queue sets no bounds: it returns a nil Turn, whose End does nothing.
func (q *Queue) Enter(ctx context.Context, call connector.Call) (*Turn, *eventlog.Failure) {
	if q == nil {
		return nil, nil // before FirstHalf: a call without bounds needs no context of its own
	}
	if own, ok := call.Turn.(*Turn); ok && own.queue == q {
		if !own.old() {
			return own, nil
		}
		own.End()
	}
	ctx, cancel := FirstHalf(ctx)
	defer cancel()
	return q.Take(ctx, call)
}

// again is how long after a call that found no place it is tried again at the soonest.
const again = time.Second

// asideFor is how long a turn that is set aside for a question is kept after it has come. A question comes again within
// the longest pause of policies.reconcile, or not at all.
const asideFor = 15 * time.Minute

// longestStep bounds the time between two calls that come again because of how long the last one lasted: that one may
// have been an exception.
const longestStep = 30 * time.Second

// Take waits until the call may be sent, for all of ctx: the time of the request begins after it. A failure means that
// ctx ends before, and that nothing may be sent.
func (q *Queue) Take(ctx context.Context, call connector.Call) (*Turn, *eventlog.Failure) {
	return q.take(ctx, call, false)
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

// heldBack sets a turn aside for a question, and tells a call when to come again: each at another time, so that they do
// not all come at once. The caller holds mu.
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

// setAsideFor sets a turn aside for a question that is held back, if none is set aside for another one: the next turn,
// or the one behind it where the last was a question's. The caller holds mu.
func (q *Queue) setAsideFor(w *waiter) (time.Time, bool) {
	if !w.question || q.bounds.Spacing == 0 || w.call.Key == "" {
		return time.Time{}, false
	}
	now := time.Now()
	if !q.aside.IsZero() && now.Before(q.aside.Add(asideFor)) {
		return time.Time{}, false
	}
	q.aside, q.asideKey = q.turnAfter(0), w.call.Key
	if q.afterQuestion {
		q.aside = q.aside.Add(q.bounds.Spacing)
	} else {
		q.next = q.aside.Add(q.bounds.Spacing)
	}
	q.afterQuestion = true
	return q.aside, true
}

// old reports whether too much time has passed since the turn for the rate to take it as used now.
func (t *Turn) old() bool {
	return t.queue != nil && t.queue.bounds.Spacing > 0 &&
		time.Since(t.began) > max(usedWithin, 2*t.queue.bounds.Spacing)
}

// FirstHalf is ctx for the first half of the time that it has left.
func FirstHalf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, bounded := ctx.Deadline()
	if !bounded {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}
