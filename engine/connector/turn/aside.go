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
	q.aside = q.free(q.aside)
	return q.aside, true
}

// free is the turn at that time, or the next one that is free where another was taken since; no call gets that one. It
// is under mu.
func (q *Queue) free(at time.Time) time.Time {
	free := q.last.Add(q.bounds.Spacing)
	if !free.After(at) {
		return at
	}
	if after := free.Add(q.bounds.Spacing); q.next.Before(after) {
		q.next = after
	}
	return free
}

// awaitAside waits for the turn that is set aside, and takes it.
func (q *Queue) awaitAside(ctx context.Context, call connector.Call, at time.Time) *eventlog.Failure {
	for {
		wait := max(time.Until(at), 0)
		if end, bounded := ctx.Deadline(); bounded && at.After(end) || !sleep(ctx, wait) {
			return connector.HeldBack(ctx, call, max(time.Until(at), again), fmt.Sprintf("its turn at %s comes in %s, too "+
				"late for its time: at most %s (%s)", q.bounds.Target, wait.Round(time.Millisecond), q.bounds.Rate,
				q.bounds.RateFrom))
		}
		if at = q.takeAside(call.Key); at.IsZero() {
			return nil
		}
	}
}

// sleep waits, and reports whether it did so to the end.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// takeAside takes the turn that is set aside for the question with the key. Where a call has taken one at this very
// moment, it returns when the next one is free, which is set aside then.
func (q *Queue) takeAside(key string) (later time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if at := q.free(now); at.After(now) {
		if q.asideKey == key {
			q.aside = at
		}
		return at
	}
	if q.asideKey == key {
		q.aside, q.asideKey = time.Time{}, ""
	}
	q.last = now
	if after := now.Add(q.bounds.Spacing); q.next.Before(after) { // it may be late
		q.next = after
	}
	return time.Time{}
}
