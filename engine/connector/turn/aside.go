package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// setAsideFor sets a turn aside for a question that is held back, if none is set aside for another one: the next turn,
// or the one behind it where the last was a question's. It is under mu.
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

// setAside is when the turn comes that is set aside for the question with the key. Where it has passed, and another one
// was taken since, it is the next one that is free.
func (q *Queue) setAside(key string) (at time.Time, mine bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.aside.IsZero() || q.asideKey != key {
		return q.aside, false
	}
	if free := q.last.Add(q.bounds.Spacing); free.After(q.aside) {
		q.aside = free
		if after := free.Add(q.bounds.Spacing); q.next.Before(after) {
			q.next = after
		}
	}
	return q.aside, true
}

// awaitAside waits for the turn that is set aside, and takes it.
func (q *Queue) awaitAside(ctx context.Context, call connector.Call, at time.Time) *eventlog.Failure {
	wait := max(time.Until(at), 0)
	if end, bounded := ctx.Deadline(); !bounded || !at.After(end) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.asideKey == call.Key {
				q.aside, q.asideKey = time.Time{}, ""
			}
			q.last = time.Now()
			if after := q.last.Add(q.bounds.Spacing); q.next.Before(after) { // it may be late
				q.next = after
			}
			return nil
		case <-ctx.Done():
		}
	}
	return connector.HeldBack(ctx, call, max(time.Until(at), again), fmt.Sprintf("its turn at %s comes in %s, too late "+
		"for its time: at most %s (%s)", q.bounds.Target, wait.Round(time.Millisecond), q.bounds.Rate, q.bounds.RateFrom))
}
