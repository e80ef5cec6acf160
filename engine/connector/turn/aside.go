package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Ask waits until a question about the earlier call may be sent, in the first half of its time: the rest belongs to the
// question. It takes no place, since that call may still have one.
func (q *Queue) Ask(ctx context.Context, call connector.Call) *eventlog.Failure {
	if q == nil || q.bounds.Spacing == 0 {
		return nil
	}
	ctx, cancel := FirstHalf(ctx)
	defer cancel()
	if due, mine := q.setAside(call.Key); mine {
		return q.awaitAside(ctx, call, due)
	}
	_, failure := q.take(ctx, call, true)
	return failure
}

// setAside returns when the turn comes that is set aside for the question with the key. Where that turn has passed, and
// another one was taken since, it is the next free one.
func (q *Queue) setAside(key string) (at time.Time, mine bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.aside.IsZero() || q.asideKey != key {
		return q.aside, false
	}
	q.aside = q.free(q.aside)
	return q.aside, true
}

// free is the turn at that time, or the next free one where another was taken since; no call gets that turn. The caller
// holds mu.
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

func (q *Queue) waiting(workflow eventlog.WorkflowName) []connector.Waiting {
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
	return all
}

// Waiting lists the workflow's calls that wait in any of the queues, by target, run and key.
func Waiting(workflow eventlog.WorkflowName, queues ...*Queue) []connector.Waiting {
	var all []connector.Waiting
	for _, queue := range queues {
		all = append(all, queue.waiting(workflow)...)
	}
	slices.SortFunc(all, func(a, b connector.Waiting) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key))
	})
	return all
}
