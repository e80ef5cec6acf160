package turn

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// usedWithin is how long a turn may wait to be used, unless the rate gives turns more rarely.
const usedWithin = 2 * time.Second

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

// Enter gives the call's own turn back, if it has one of this queue, and else waits for one in the first half of its
// time: the rest belongs to the request. Turns that were not used at once would leave together, so an old one is ended
// and the call waits for another.
func (q *Queue) Enter(ctx context.Context, call connector.Call) (*Turn, *eventlog.Failure) {
	if own, ok := call.Turn.(*Turn); ok && own.queue == q {
		if !own.old() {
			return own, nil
		}
		own.End()
	}
	ctx, cancel := firstHalf(ctx)
	defer cancel()
	return q.Take(ctx, call)
}

// old reports whether too much time has passed since the turn for the rate to take it as used now.
func (t *Turn) old() bool {
	return t.queue != nil && t.queue.bounds.Spacing > 0 &&
		time.Since(t.began) > max(usedWithin, 2*t.queue.bounds.Spacing)
}

// firstHalf is ctx for the first half of the time that it has left.
func firstHalf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, bounded := ctx.Deadline()
	if !bounded {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}
