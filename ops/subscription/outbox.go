package subscription

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/outgoing"
)

// The bounds of the messages that are on their way to one target at once.
const (
	// maxWaiting bounds the messages that are read and not delivered. One workflow alone may fill it: then the others
	// wait too.
	maxWaiting = 64
	// maxAhead bounds the messages from the first undelivered one on, with those behind it that were delivered: a
	// restart delivers these once more.
	maxAhead = 4096
	// maxWaitingBytes bounds the size of their bodies together, except that one body may exceed it: a receiver that
	// hangs must not fill the memory.
	maxWaitingBytes = 16 << 20
	// maxAttempts bounds the attempts under way at once.
	maxAttempts = 8
)

// freshPart bounds the parking of a subscription that had failed before the engine was started: the attempts of this
// engine must first have failed for parkAfter divided by freshPart.
const freshPart = 24

// item is one message on its way.
type item struct {
	seq uint64
	// line names the messages that keep their order, which are those of one workflow.
	line    string
	message outgoing.Message
	// kind is the message's ce-type.
	kind     string
	recorded time.Time
	// at is the message's place, as a position holds it; the zero value for a message that is in no stream.
	at        place
	delivered bool
}

// outbox delivers messages, those of a line one after the other. It does not know where they come from.
type outbox struct {
	post      func(context.Context, outgoing.Message) outgoing.Result
	policy    schedule.Transient
	parkAfter time.Duration
	// attempted is called after each attempt, failing once for each period in which attempts fail and are repeated.
	attempted func(outgoing.Result)
	failing   func(error)

	attempts chan struct{}
	room     chan struct{}

	mu    sync.Mutex
	lines map[string][]*item // undelivered messages; each line in the map has a goroutine
	order []*item            // all messages behind passed, oldest first
	// waiting counts those of order that are not delivered, and bytes is the size of their bodies.
	waiting, bytes int
	// passed is the last message up to which all are delivered.
	passed item
	// since is the time at which attempts began to fail, by the sequence of the message.
	since map[uint64]time.Time
	// inherited is the time since which attempts had failed before this outbox was made, zero if they had not;
	// failedHere is the time of its own first failed attempt.
	inherited, failedHere time.Time
	last                  error     // that of the last failed attempt
	heldUntil             time.Time // the receiver has asked to send nothing until then
	changed               chan struct{}
	running               sync.WaitGroup
	// stuck ends the outbox: a message has failed for longer than parkAfter, or the receiver wants no more.
	stuck chan parked
}

func newOutbox(post func(context.Context, outgoing.Message) outgoing.Result, policy schedule.Transient,
	parkAfter time.Duration, failingSince *time.Time) *outbox {
	o := &outbox{post: post, policy: policy, parkAfter: parkAfter, attempts: make(chan struct{}, maxAttempts),
		room: make(chan struct{}, maxWaiting), lines: map[string][]*item{}, since: map[uint64]time.Time{},
		changed: make(chan struct{}), stuck: make(chan parked, 1),
		attempted: func(outgoing.Result) {}, failing: func(error) {}}
	if failingSince != nil {
		o.inherited = *failingSince
	}
	return o
}

// add adds a message once there is room. The sequences of the messages must rise. The error is ctx's.
func (o *outbox) add(ctx context.Context, i item) error {
	select {
	case o.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !o.until(ctx, func() bool {
		return len(o.order) < maxAhead && (o.bytes == 0 || o.bytes+len(i.message.Body) <= maxWaitingBytes)
	}) {
		<-o.room
		return ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	o.bytes += len(i.message.Body)
	o.order = append(o.order, &i)
	line, busy := o.lines[i.line]
	o.lines[i.line] = append(line, &i)
	if !busy {
		o.running.Go(func() { o.deliver(ctx, i.line) })
	}
	return nil
}

// deliver delivers a line until it is empty.
func (o *outbox) deliver(ctx context.Context, line string) {
	for {
		o.mu.Lock()
		waiting := o.lines[line]
		if len(waiting) == 0 {
			delete(o.lines, line)
			o.mu.Unlock()
			return
		}
		next := waiting[0]
		o.mu.Unlock()
		if !o.try(ctx, *next) {
			return
		}
		o.mu.Lock()
		o.lines[line] = o.lines[line][1:]
		o.delivered(next)
		o.mu.Unlock()
		<-o.room
	}
}

// delivered notes that a message needs nothing more. The caller locks.
func (o *outbox) delivered(i *item) {
	o.waiting--
	o.bytes -= len(i.message.Body)
	i.delivered, i.message.Body = true, nil
	for len(o.order) > 0 && o.order[0].delivered {
		o.passed = *o.order[0]
		o.order = o.order[1:]
	}
	close(o.changed)
	o.changed = make(chan struct{})
}

// try makes attempts until one succeeds. It reports false when ctx ends, or nothing more is to be sent.
func (o *outbox) try(ctx context.Context, i item) bool {
	for attempt := 1; ; attempt++ {
		if !o.turn(ctx) {
			return false
		}
		result := o.post(ctx, i.message)
		<-o.attempts
		if result.Err != nil && ctx.Err() != nil {
			return false // the attempt was ended by ctx, and counts as no failure
		}
		o.attempted(result)
		if result.Err == nil {
			o.succeeded(i)
			return true
		}
		if o.failed(i, result) {
			return false
		}
		delay := max(o.policy.Delay(attempt, rand.Float64()), result.RetryAfter)
		if !clock.Sleep(ctx, delay) {
			return false
		}
	}
}

// turn waits until another attempt may begin: fewer than maxAttempts are under way, and the receiver has not asked for
// a pause. It reports false when ctx ends.
func (o *outbox) turn(ctx context.Context) bool {
	for {
		select {
		case o.attempts <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		o.mu.Lock()
		wait := time.Until(o.heldUntil)
		o.mu.Unlock()
		if wait <= 0 {
			return ctx.Err() == nil
		}
		<-o.attempts
		if !clock.Sleep(ctx, wait) {
			return false
		}
	}
}

func (o *outbox) succeeded(i item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.since, i.seq)
	o.inherited = time.Time{}
	if len(o.since) == 0 {
		o.last = nil
	}
}

// failed notes a failed attempt, and reports whether it was the last one.
func (o *outbox) failed(i item, result outgoing.Result) bool {
	o.mu.Lock()
	now := time.Now()
	first := len(o.since) == 0
	if o.failedHere.IsZero() {
		o.failedHere = now
	}
	since, known := o.since[i.seq]
	if !known {
		if since = now; !o.inherited.IsZero() && o.inherited.Before(now) { // if it is not before, a clock was set back
			since = o.inherited
		}
		o.since[i.seq] = since
	}
	o.last = result.Err
	if result.RetryAfter > 0 {
		o.heldUntil = now.Add(result.RetryAfter)
	}
	// While no engine ran there were no attempts, so a long time since then is no reason to park at once.
	goesOn := now.Sub(since) < o.parkAfter || now.Sub(o.failedHere) < o.parkAfter/freshPart && !o.inherited.IsZero()
	o.mu.Unlock()
	if !result.Gone && goesOn {
		if first {
			o.failing(result.Err)
		}
		return false
	}
	why := fmt.Sprintf("no attempt to deliver %s has succeeded since %s: %v", i.message.ID,
		since.UTC().Format(time.RFC3339), result.Err)
	if result.Gone {
		why = fmt.Sprintf("the receiver wants no more (410): %v", result.Err)
	}
	select {
	case o.stuck <- parked{At: now.UTC(), Since: i.recorded.UTC(), Error: why, Message: &eventlog.SkippedMessage{
		ID: i.message.ID, Type: i.kind, Workflow: eventlog.WorkflowName(i.line)}}:
	default: // another message has ended the outbox already
	}
	return true
}

// progress is how far an outbox has come.
type progress struct {
	passed  item // its seq is 0 where nothing was delivered
	waiting int
	oldest  time.Time // the time of the oldest waiting message, zero for none
	// failingSince is the time at which attempts began to fail, zero while they do not; last is the newest failure.
	failingSince time.Time
	last         error
}

func (o *outbox) progress() progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := progress{passed: o.passed, waiting: o.waiting, failingSince: o.inherited, last: o.last}
	if len(o.order) > 0 {
		s.oldest = o.order[0].recorded
	}
	for _, since := range o.since {
		if s.failingSince.IsZero() || since.Before(s.failingSince) {
			s.failingSince = since
		}
	}
	return s
}

// empty waits until nothing is on its way. It reports false when ctx ends first.
func (o *outbox) empty(ctx context.Context) bool {
	return o.until(ctx, func() bool { return len(o.order) == 0 })
}

// until waits for a condition, which it tests again after each delivery. It reports false when ctx ends first.
func (o *outbox) until(ctx context.Context, holds func() bool) bool {
	for {
		o.mu.Lock()
		done, changed := holds(), o.changed
		o.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
