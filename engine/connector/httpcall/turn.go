package httpcall

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// maxConnections is how many connections to one host each transport has at most, one for each call at
// once, also while it is listened to after its deadline. A call that gets none within its time was not sent.
// An open call never gives its connection up to another: the host may still carry it out, and nothing but its own
// end says when it no longer does.
const maxConnections = 256

// maxConcurrency is the most calls at once that a host can be configured with: there are no more connections.
const maxConcurrency = maxConnections

// turnAgain is how long after a call that found no place at its host another one is tried.
const turnAgain = time.Second

// maxPromise is how long after the next turn a call that found none is told to come again at most.
const maxPromise = 5 * time.Minute

// turns hands out the right to call one host: so many calls at once, and so many in a time. The first that asks is the
// first that gets one. A nil *turns sets no bounds.
type turns struct {
	host  string        // the configured key
	slots chan struct{} // a value for each call under way; nil for no bound
	pace  *rate.Limiter // nil for no bound
	rate  string        // as configured
	// spacing is the time between two turns.
	spacing time.Duration

	mu      sync.Mutex
	waiting map[*connector.Waiting]struct{}
	// promised is the latest time at which a call that found no turn was told to come again.
	promised time.Time
}

// newTurns checks the bounds of a host; nil for none.
func newTurns(name string, concurrency int, perTime string) (*turns, error) {
	if concurrency < 0 || concurrency > maxConcurrency {
		return nil, wrong("concurrency", "concurrency: want a number from 1 to %d, or 0 for no bound", maxConcurrency)
	}
	bound, err := eventlog.ParseRate(perTime)
	if err != nil {
		return nil, wrong("rate", "rate: %w", err)
	}
	if concurrency == 0 && bound.Runs == 0 {
		return nil, nil
	}
	t := &turns{host: name, rate: perTime, waiting: make(map[*connector.Waiting]struct{})}
	if concurrency > 0 {
		t.slots = make(chan struct{}, concurrency)
	}
	if bound.Runs > 0 {
		t.spacing = bound.Spacing()
		t.pace = rate.NewLimiter(rate.Every(t.spacing), 1)
	}
	return t, nil
}

// take waits until one request of the call may be sent. The caller calls release when the exchange is over. A failure
// means that ctx ends before the turn comes, and that nothing was sent. A question about an earlier call waits for the
// rate only, since that earlier call may still hold a place.
func (t *turns) take(ctx context.Context, call connector.Call, question bool) (release func(),
	failure *eventlog.Failure) {
	release = func() {}
	if t == nil {
		return release, nil
	}
	if t.slots != nil && !question {
		if failure := t.place(ctx, call); failure != nil {
			return nil, failure
		}
		release = func() { <-t.slots }
	}
	if t.pace != nil {
		if failure := t.await(ctx, call); failure != nil {
			release()
			return nil, failure
		}
	}
	return release, nil
}

func (t *turns) place(ctx context.Context, call connector.Call) *eventlog.Failure {
	select {
	case t.slots <- struct{}{}:
		return nil
	default:
	}
	bound := fmt.Sprintf("at most %s at once", eventlog.Count(cap(t.slots), "call"))
	defer t.wait(call, bound, time.Time{})()
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return connector.HeldBack(ctx, call, turnAgain, fmt.Sprintf("too many calls to %s were under way for all of "+
			"its time: %s (connectors.http.hosts.%s.concurrency)", t.host, bound, t.host))
	}
}

func (t *turns) await(ctx context.Context, call connector.Call) *eventlog.Failure {
	reserved, delay, again := t.reserve(ctx)
	if reserved == nil {
		return connector.HeldBack(ctx, call, again, fmt.Sprintf("its turn at %s comes in %s, after its deadline: "+
			"at most %s (connectors.http.hosts.%s.rate)", t.host, delay.Round(time.Millisecond), t.rate, t.host))
	}
	if delay == 0 {
		return nil
	}
	defer t.wait(call, "at most "+t.rate, time.Now().Add(delay))()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		reserved.Cancel()
		t.mu.Unlock()
		return connector.HeldBack(ctx, call, max(delay, turnAgain), fmt.Sprintf("its turn at %s had not come "+
			"within its time: at most %s (connectors.http.hosts.%s.rate)", t.host, t.rate, t.host))
	}
}

// reserve takes the next turn if it comes before ctx ends, and says how far away it is. Where it comes later, no turn
// is taken, and again is when to ask once more: later for each call that is refused, so that they do not all come back
// at the same time.
func (t *turns) reserve(ctx context.Context) (reserved *rate.Reservation, delay, again time.Duration) {
	t.mu.Lock() // a reservation is given back whole only while there is none behind it
	defer t.mu.Unlock()
	now := time.Now()
	reserved = t.pace.ReserveN(now, 1)
	delay = reserved.DelayFrom(now)
	turn := now.Add(delay)
	if end, bounded := ctx.Deadline(); !bounded || !turn.After(end) {
		return reserved, delay, 0
	}
	reserved.CancelAt(now)
	t.promised = t.promised.Add(t.spacing)
	if t.promised.Before(turn) {
		t.promised = turn
	}
	if last := turn.Add(maxPromise); t.promised.After(last) {
		t.promised = last
	}
	return nil, delay, max(t.promised.Sub(now), turnAgain)
}

// wait notes that the call waits, until the returned function is called.
func (t *turns) wait(call connector.Call, bound string, until time.Time) (done func()) {
	w := &connector.Waiting{Workflow: call.Workflow, Run: call.Run, Key: call.Key, Target: t.host, Bound: bound,
		Until: until}
	t.mu.Lock()
	t.waiting[w] = struct{}{}
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		delete(t.waiting, w)
		t.mu.Unlock()
	}
}
