package jslog

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// committer sends the appends of one partition in groups: while one group is on its way the next
// one gathers, so the more wait, the fewer syncs each costs. Only its goroutine sends first
// attempts; what a first attempt does not settle goes on in a goroutine of its own, so that one
// workflow never holds up the others.
type committer struct {
	log       *Log
	partition int
	batches   bool // the stream takes atomic batches
	inbox     string
	answers   chan *nats.Msg
	sub       *nats.Subscription
	timer     *time.Timer
	next      uint64 // numbers replies; an answer to an earlier group is recognised and dropped
	grouped   bool   // the last group had more than one member: others may be about to arrive
	ended     chan struct{}
	chooser   chooser
	barrier   barrier

	mu     sync.Mutex
	queue  []*request
	closed bool
	wake   chan struct{}
}

func newCommitter(l *Log, partition int, batches bool) (*committer, error) {
	c := &committer{
		log: l, partition: partition, batches: batches,
		inbox:   l.nc.NewInbox() + ".",
		answers: make(chan *nats.Msg, 4*l.cfg.MaxBatch),
		timer:   time.NewTimer(time.Hour),
		ended:   make(chan struct{}),
		wake:    make(chan struct{}, 1),
		barrier: barrier{log: l},
	}
	var err error
	// Answers come straight into the channel that the committer reads: no goroutine in between.
	if c.sub, err = l.nc.ChanSubscribe(c.inbox+"*", c.answers); err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	return c, nil
}

// enqueue hands over a request; false once the log is closed.
func (c *committer) enqueue(r *request) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.queue = append(c.queue, r)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return true
}

// close ends the committer after the group that is on its way and refuses what still waits.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	<-c.ended
}

func (c *committer) run() {
	defer close(c.ended)
	for {
		c.mu.Lock()
		waiting, closed := len(c.queue), c.closed
		c.mu.Unlock()
		switch {
		case closed:
			c.mu.Lock()
			for _, r := range c.queue {
				r.fail(r.refuse(eventlog.ErrClosed))
			}
			c.queue = nil
			c.mu.Unlock()
			_ = c.sub.Unsubscribe()
			c.timer.Stop()
			return
		case waiting == 0:
			began := time.Now()
			<-c.wake
			c.chooser.rested(time.Since(began))
			continue
		}
		if c.grouped {
			c.gather(waiting)
		}
		group := c.take()
		c.grouped = len(group) > 1
		began := time.Now()
		if c.inBatch(len(group)) {
			c.batch(group)
		} else {
			c.singly(group)
		}
		c.chooser.wrote(len(group), time.Since(began))
	}
}

// inBatch reports whether a group of n is written as a batch.
func (c *committer) inBatch(n int) bool {
	switch from := c.log.cfg.BatchFrom; {
	case !c.batches:
		return false
	case from != 0:
		return n >= from
	default:
		return c.chooser.batches(n)
	}
}

// most is the largest size of a group.
func (c *committer) most() int {
	if c.log.cfg.BatchFrom != 0 {
		return c.log.cfg.MaxBatch
	}
	return c.chooser.most(c.log.cfg.MaxBatch)
}

// gather lets those that the last group has just woken enqueue again before the next group is
// cut: otherwise every other group would consist of the first one alone.
func (c *committer) gather(waiting int) {
	for {
		runtime.Gosched()
		c.mu.Lock()
		now := len(c.queue)
		c.mu.Unlock()
		if now == waiting || now >= c.log.cfg.MaxBatch {
			return
		}
		waiting = now
	}
}

// take cuts the next group off the queue: in order, at most one entry per workflow (the second
// could only be fenced on what the first has yet to write), within the limits of a batch.
func (c *committer) take() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 1 {
		group := c.queue
		c.queue = nil
		return group
	}
	var group, rest []*request
	workflows := make(map[eventlog.WorkflowName]struct{}, len(c.queue))
	size, most := 0, c.most()
	for i, r := range c.queue {
		if len(group) == most || len(group) > 0 && size+len(r.entry.Stored) > c.log.cfg.MaxBatchBytes {
			rest = append(rest, c.queue[i:]...)
			break
		}
		if _, taken := workflows[r.entry.Workflow]; taken {
			rest = append(rest, r)
			continue
		}
		workflows[r.entry.Workflow] = struct{}{}
		size += len(r.entry.Stored) + headerRoom
		group = append(group, r)
	}
	c.queue = rest
	return group
}

// singly publishes each of the group by itself, all at once, and waits for the answers.
func (c *committer) singly(group []*request) {
	first := c.next
	c.next += uint64(len(group))
	waiting := 0
	answered := make([]bool, len(group))
	for i, r := range group {
		m := r.message()
		m.Reply = c.inbox + strconv.FormatUint(first+uint64(i), 36)
		c.log.counters.publishes.Add(1)
		if err := c.log.nc.PublishMsg(m); err != nil {
			answered[i] = true
			c.log.settle(r, answer{verdict: lost, err: err})
			continue
		}
		waiting++
	}
	var barriers []passage
	c.timer.Reset(c.log.cfg.AckTimeout)
	for waiting > 0 {
		var m *nats.Msg
		select {
		case m = <-c.answers:
		case <-c.timer.C:
			for i, r := range group {
				if !answered[i] {
					c.log.settle(r, answer{verdict: lost, err: nats.ErrTimeout})
				}
			}
			waiting = 0
			continue
		}
		n, ok := c.number(m)
		if !ok || n < first || answered[n-first] {
			continue // an answer that was given up on: its append is being settled
		}
		i := n - first
		r := group[i]
		if c.log.dropped(r.entry) {
			continue
		}
		answered[i] = true
		waiting--
		a := readAnswer(m)
		switch {
		case a.verdict != accepted:
			c.log.settle(r, a)
		case r.entry.Barrier && c.log.cfg.EmbeddedSync:
			c.log.acknowledged(r, a.seq)
			barriers = append(barriers, passage{r, a.seq})
		default:
			c.log.acknowledged(r, a.seq)
			r.succeed(a.seq)
		}
	}
	c.barrier.pass(barriers)
}

func (c *committer) number(m *nats.Msg) (uint64, bool) {
	n, err := strconv.ParseUint(m.Subject[min(len(c.inbox), len(m.Subject)):], 36, 64)
	return n, err == nil && n < c.next
}

// batch publishes the group as one atomic batch: all are written with one sync, or none.
func (c *committer) batch(group []*request) {
	id := c.log.session + "-" + strconv.Itoa(c.partition) + "-" + strconv.FormatUint(c.next, 36)
	expected := c.next
	c.next++
	c.log.counters.batches.Add(1)
	c.log.counters.batched.Add(uint64(len(group)))
	for i, r := range group {
		m := r.message()
		m.Header["Nats-Batch-Id"] = []string{id}
		m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
		if i == len(group)-1 {
			m.Header["Nats-Batch-Commit"] = []string{"1"}
			m.Reply = c.inbox + strconv.FormatUint(expected, 36)
		}
		if err := c.log.nc.PublishMsg(m); err != nil {
			// Without its end the batch is never written, but the error need not mean that the
			// end was not sent.
			c.settleAll(group, answer{verdict: lost, err: err})
			return
		}
	}
	c.timer.Reset(c.log.cfg.AckTimeout)
	for {
		select {
		case m := <-c.answers:
			if n, ok := c.number(m); !ok || n != expected || c.log.dropped(group[len(group)-1].entry) {
				continue
			}
			c.batchAnswered(group, readAnswer(m))
		case <-c.timer.C:
			c.settleAll(group, answer{verdict: lost, err: nats.ErrTimeout})
		}
		return
	}
}

func (c *committer) batchAnswered(group []*request, a answer) {
	switch {
	case a.verdict == accepted && (a.count != len(group) || a.seq < uint64(len(group))):
		// Not what was sent: each must be looked at.
		c.settleAll(group, answer{verdict: lost, err: fmt.Errorf("batch of %d was answered for %d messages", len(group), a.count)})
	case a.verdict == accepted:
		var barriers []passage
		first := a.seq - uint64(len(group)) + 1
		c.log.acknowledged(group[len(group)-1], a.seq)
		for i, r := range group {
			seq := first + uint64(i)
			if r.entry.Barrier && c.log.cfg.EmbeddedSync {
				barriers = append(barriers, passage{r, seq})
				continue
			}
			r.succeed(seq)
		}
		c.barrier.pass(barriers)
	case a.verdict == lost:
		c.settleAll(group, a)
	default:
		// Nothing of it was written. One stale member is enough, and the answer does not say
		// which: each gets its own.
		c.singly(group)
	}
}

func (c *committer) settleAll(group []*request, a answer) {
	for _, r := range group {
		c.log.settle(r, a)
	}
}
