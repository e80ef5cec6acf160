package simulation

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// world is what happened outside. Only the driver touches it.
type world struct {
	requests map[string]*request // by idempotency key
	order    []*request
	effects  map[place]int // how often something happened for an event
	excused  map[place]int // how often a person allowed it to happen again
}

// place is a topic event of a workflow.
type place struct {
	workflow eventlog.WorkflowName
	ref      eventlog.EventRef
}

// request is one mutation as the receiver knows it.
type request struct {
	key  string
	call connector.Call
	prepared
	node    *node
	sent    int
	effects int
	excused bool // a person has spoken since it was made: what it was made for may happen again
	// refused says that it can never be applied any more: the receiver has written that down.
	refused bool
	// until is how long the receiver may still be busy with it: quiet after the end of its call, unseen after
	// its deadline if the call was cut off.
	until time.Time
	// silentUntil is when a call without a reply ends; zero when it got one.
	silentUntil time.Time
	toldLate    bool
	// exchange is that of a call whose connector listens on after the deadline; nil otherwise.
	exchange *exchange
	// retryAfter is for how long the receiver wanted to be left alone when it refused; zero when it did not say.
	retryAfter time.Duration
}

func newWorld() *world {
	return &world{requests: map[string]*request{}, effects: map[place]int{}, excused: map[place]int{}}
}

func (w *world) request(call connector.Call) *request {
	r, ok := w.requests[call.Key]
	if !ok {
		r = &request{key: call.Key, call: call}
		w.requests[call.Key] = r
		w.order = append(w.order, r)
	}
	return r
}

// open reports whether the receiver has the request and may still apply it.
func (r *request) open() bool { return r.sent > 0 && r.effects == 0 && !r.refused }

// busy reports whether the receiver may still be at work on the request.
func (r *request) busy(now time.Time) bool { return r.open() && now.Before(r.until) }

// result is what the receiver answers for an applied request.
func (r *request) result() json.RawMessage {
	result, _ := json.Marshal(map[string]int{"tag": r.Tag})
	return result
}

// excuse notes that a person has said that it did not happen, or asked for the event again.
func (w *world) excuse(workflow eventlog.WorkflowName, refs ...eventlog.EventRef) {
	for _, ref := range refs {
		w.excused[place{workflow, ref}]++
	}
	for _, r := range w.order {
		if r.call.Workflow == workflow && slices.ContainsFunc(r.Refs, func(ref eventlog.EventRef) bool {
			return slices.Contains(refs, ref)
		}) {
			r.excused = true
		}
	}
}

// mayHaveHappened reports whether a call for the event has had its effect, or may still have it, and no person has
// allowed it again since.
func (w *world) mayHaveHappened(workflow eventlog.WorkflowName, ref eventlog.EventRef) bool {
	return slices.ContainsFunc(w.order, func(r *request) bool {
		return r.call.Workflow == workflow && !r.excused && (r.effects > 0 || r.open()) && slices.Contains(r.Refs, ref)
	})
}

// callTimeout is short, so that little time passes until an open call has ended.
const callTimeout = time.Second

// codeBusy is what a receiver says that wants to be left alone for a while (F13).
const codeBusy = "world.busy"

// prepared is what a simulated prepare returns as data: the tag is the identity of the whole
// chain, so that the world can tell what each effect was for.
type prepared struct {
	Tag  int                 `json:"tag"`
	Refs []eventlog.EventRef `json:"refs"`
	// Concurrent is set in the runs of concurrent consumers.
	Concurrent bool `json:"concurrent,omitempty"`
}

// exchange is a call that its connector listens on to after its deadline (F12): its receiver is slow. It ends with
// an answer, when the line breaks, when it gives way to a younger one, when it was listened to for long enough, or
// with its process.
type exchange struct {
	// opened: the call was answered as open at its deadline.
	opened atomic.Bool
	// joined and noted are the driver's: the connector listens, and its end was taken in.
	joined, noted bool
	end           chan connector.Outcome // what ends it
	cut           chan struct{}          // closed when its process is gone
	over          atomic.Pointer[time.Time]
}

func newExchange() *exchange {
	return &exchange{end: make(chan connector.Outcome, 1), cut: make(chan struct{})}
}

// clock is the time that all engines see. Only the driver moves it.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	passing *passing // nil while the time stands still
	waiting []*wait
}

// passing is a time that passes: d in all, while the driver sleeps.
type passing struct {
	began     time.Time // of the sleep
	d, asleep time.Duration
}

type wait struct {
	node  *node
	at    time.Time
	fired chan struct{}
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the clock's time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.passing; p != nil {
		return c.now.Add(time.Duration(float64(p.d) * float64(time.Since(p.began)) / float64(p.asleep)))
	}
	return c.now
}

// pass lets d pass while the driver sleeps. Those that wait for a time that has come are woken at the end.
func (c *clock) pass(d, asleep time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	if asleep > 0 {
		c.passing = &passing{time.Now(), d, asleep}
	}
	c.mu.Unlock()
	time.Sleep(asleep)
	c.mu.Lock()
	c.passing = nil
	c.mu.Unlock()
	c.to(end)
}

// to moves the clock forward and wakes those that waited for a time that has come. It reports
// whether there were any.
func (c *clock) to(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(w *wait) bool {
		due := !w.at.After(c.now)
		if due {
			close(w.fired)
		}
		return due
	})
	return len(c.waiting) < before
}

// next is the soonest time that one of those nodes waits for; zero when none does.
func (c *clock) next(of func(*node) bool) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var soonest time.Time
	for _, w := range c.waiting {
		if of(w.node) && (soonest.IsZero() || w.at.Before(soonest)) {
			soonest = w.at
		}
	}
	return soonest
}

// nodeClock is the clock as one engine sees it: that of its machine may have been set.
type nodeClock struct {
	*clock
	node *node
}

// Now implements clock.Clock.
func (c nodeClock) Now() time.Time { return c.clock.Now().Add(c.node.ahead()) }

// Elapsed is the time that cannot be set.
func (c nodeClock) Elapsed() time.Duration { return time.Duration(c.clock.Now().UnixNano()) }

// At implements clock.Clock.
func (c nodeClock) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t = t.Add(-c.node.ahead()) // what is waited for is a time from now, as of a timer
	w := &wait{node: c.node, at: t, fired: make(chan struct{})}
	if !t.After(c.now) {
		close(w.fired)
		return w.fired, func() {}
	}
	c.waiting = append(c.waiting, w)
	return w.fired, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(other *wait) bool { return other == w })
	}
}
