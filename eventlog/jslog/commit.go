package jslog

import (
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// committer sends the appends of one partition: each by itself while few wait, else in batches, where
// the more wait, the fewer syncs each costs. Only its goroutine sends first
// attempts; what a first attempt leaves open goes on in a goroutine of its own, so that one
// workflow never holds up the others.
type committer struct {
	log       *Log
	partition int
	batches   bool // the stream takes atomic batches
	staged    bool // the server stages them at little cost
	from      int  // the least number that goes as a batch
	window    int  // the most that are on their way by themselves at once
	alone     int  // how many more go by themselves before a batch is tried again
	refusals  int  // batches in a row that the server would not stage
	inbox     string
	answers   chan *nats.Msg
	sub       *nats.Subscription
	timer     *time.Timer
	// numbers replies; an answer to an earlier group is recognised and dropped
	next    uint64
	grouped bool                               // the last group was a batch: others may be about to arrive
	last    int                                // how many the last batch had
	writing map[eventlog.WorkflowName]struct{} // workflows with an entry on its way
	ended   chan struct{}
	barrier barrier

	mu     sync.Mutex
	queue  []*request
	closed bool
	wake   chan struct{}
}

// From how many on what waits goes as a batch: for each, the server makes, syncs and removes files, unless
// it stages them in memory. There no more than a window goes by itself at once, so that what waits behind it
// gathers to a batch.
const (
	fromInFiles  = 32
	fromInMemory = 12
	window       = 4
)

func newCommitter(l *Log, partition int, stream jetstream.StreamConfig) (*committer, error) {
	c := &committer{
		log: l, partition: partition, batches: stream.AllowAtomicPublish, from: fromInFiles, window: l.cfg.MaxBatch,
		inbox:   l.nc.NewInbox() + ".",
		answers: make(chan *nats.Msg, 4*l.cfg.MaxBatch),
		timer:   time.NewTimer(time.Hour),
		ended:   make(chan struct{}),
		wake:    make(chan struct{}, 1),
		writing: make(map[eventlog.WorkflowName]struct{}),
		barrier: barrier{log: l},
	}
	if stage := l.cfg.Stage; stage != nil && c.batches && stream.Replicas == 1 {
		if err := stage(stream.Name); err != nil {
			l.cfg.Logger.Debug("the broker stages batches of writes in files, which is slower", slog.Any("reason", err))
		} else {
			c.from, c.window, c.staged = fromInMemory, window, true
		}
	}
	if l.cfg.BatchFrom > 0 {
		c.from = l.cfg.BatchFrom
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
		waiting, closed := c.waiting()
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
			<-c.wake
			continue
		}
		if c.grouped {
			c.gather(waiting)
			if waiting, closed = c.waiting(); closed {
				continue
			}
		}
		most := c.window
		if c.inBatch(waiting) {
			most = c.log.cfg.MaxBatch
		}
		group := c.take(most, c.log.cfg.MaxBatchBytes)
		if c.grouped = c.inBatch(len(group)); c.grouped {
			c.batch(group)
		} else {
			c.singly(group)
		}
	}
}

// inBatch reports whether a group of n is written as a batch.
func (c *committer) inBatch(n int) bool { return c.batches && c.alone == 0 && n >= c.from }

// aloneAfterRefusal is how many messages go by themselves after the first refusal.
const aloneAfterRefusal = 1000

// unstaged takes in that the server refused to stage a batch in memory. Each attempt leaves files behind and
// costs every caller in the group a round trip, so the next one has to wait, longer each time. Elsewhere such a
// refusal says little: a cluster that has a new leader has lost the batch, too.
func (c *committer) unstaged(reason error) {
	if !c.staged {
		return
	}
	stream := slog.String("stream", c.log.names.stream(c.partition))
	if c.refusals == 0 {
		c.log.cfg.Logger.Warn("the broker cannot stage batches of writes in memory, they go one by one, which is slower; "+
			"see whether /dev/shm is full or was cleaned",
			stream, slog.Any("reason", reason))
	}
	c.alone = aloneAfterRefusal << min(c.refusals, 10)
	c.refusals++
	if err := c.log.cfg.Stage(c.log.names.stream(c.partition)); err != nil {
		c.log.cfg.Logger.Debug("the memory for batches of writes was not made again", stream, slog.Any("reason", err))
	}
}

// How long the log rests after a batch that was staged in memory: so long for each of its members, and no
// longer in all.
const (
	restPerMember = 100 * time.Microsecond
	longestRest   = 10 * time.Millisecond
)

// gather lets those that the last group has just woken enqueue again before the next group is
// cut: otherwise every other group would consist of the first one alone. After a batch that was staged in
// memory, and so took no time to speak of, it waits besides, the longer the larger that was: on a busy log
// batches become fewer, larger and cheaper, and where there are few writers none waits long.
func (c *committer) gather(waiting int) {
	if c.staged && waiting < c.log.cfg.MaxBatch {
		c.timer.Reset(min(time.Duration(c.last)*restPerMember, longestRest))
		<-c.timer.C
	}
	for {
		runtime.Gosched()
		now, _ := c.waiting()
		if now == waiting || now >= c.log.cfg.MaxBatch {
			return
		}
		waiting = now
	}
}

// take cuts a group off the queue: in order, at most one entry per workflow (the second could only
// be fenced on what the first has yet to write), at most so many and of so many bytes. What is larger
// than any batch goes alone.
func (c *committer) take(most, room int) []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var group, rest []*request
	alone := room == c.log.cfg.MaxBatchBytes
	for i, r := range c.queue {
		size := len(r.entry.Stored) + headerRoom
		if len(group) == most || size > room && (len(group) > 0 || !alone) {
			rest = append(rest, c.queue[i:]...)
			break
		}
		if _, writing := c.writing[r.entry.Workflow]; writing {
			rest = append(rest, r)
			continue
		}
		c.writing[r.entry.Workflow] = struct{}{}
		room -= size
		group = append(group, r)
	}
	c.queue = rest
	return group
}

// written lets the next entry of the request's workflow go.
func (c *committer) written(r *request) { delete(c.writing, r.entry.Workflow) }

// waiting is how many are in the queue; once the log is closed they wait for nothing.
func (c *committer) waiting() (n int, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue), c.closed
}

func (c *committer) number(m *nats.Msg) (uint64, bool) {
	n, err := strconv.ParseUint(m.Subject[min(len(c.inbox), len(m.Subject)):], 36, 64)
	return n, err == nil && n < c.next
}

// await waits for the answer of that number; nil when it does not come.
func (c *committer) await(number uint64) *nats.Msg {
	c.timer.Reset(c.log.cfg.AckTimeout)
	for {
		select {
		case m := <-c.answers:
			if n, ok := c.number(m); ok && n == number {
				return m
			}
		case <-c.timer.C:
			return nil
		}
	}
}

// reply is where the answer of that number comes to.
func (c *committer) reply(number uint64) string { return c.inbox + strconv.FormatUint(number, 36) }
