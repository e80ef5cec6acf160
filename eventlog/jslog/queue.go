package jslog

import (
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// committer sends the appends of one partition: each by itself while few wait, else in batches. The more appends wait,
// the fewer syncs each of them costs. Only the committer's goroutine sends first attempts. An append whose first
// attempt leaves its fate open goes on in a goroutine of its own, so that one workflow never holds up the others.
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
	// next numbers replies; an answer to an earlier group is recognised and dropped
	next    uint64
	grouped bool                               // the last group was a batch: others may be about to arrive
	last    int                                // how many workflows wrote the last batch
	writing map[eventlog.WorkflowName]struct{} // workflows with an entry on its way
	writers writers                            // workflows that have written lately
	ended   chan struct{}
	barrier barrier

	mu     sync.Mutex
	queue  []*request
	enough int // how many must be in the queue to wake the committer: 0 unless it rests
	closed bool
	wake   chan struct{}
}

// groupFrom is how many messages of a workflow are worth a batch where the server stages batches in files.
const groupFrom = 4

// weight is how many single messages the requests count for when the committer decides between single messages and a
// batch. A group counts for enough to be a batch: sent singly, its messages would have to wait for each other.
func (c *committer) weight(requests ...*request) (n int) {
	for _, r := range requests {
		switch size := r.messages(); {
		case size > 1 && c.staged, size >= groupFrom:
			n += max(c.from, size)
		default:
			n += size
		}
	}
	return n
}

// enqueue hands over a request; false once the log is closed.
func (c *committer) enqueue(r *request) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.queue = append(c.queue, r)
	wakes := len(c.queue) >= c.enough
	c.mu.Unlock()
	if !wakes {
		return true
	}
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

// take cuts a group off the queue: in order, at most one request per workflow (the second could only
// be fenced on what the first has yet to write), at most so many messages and of so many bytes. What is
// larger than any batch goes alone.
func (c *committer) take(most, room int) []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var group, rest []*request
	alone := room == c.log.cfg.MaxBatchBytes
	taken := 0
	for i, r := range c.queue {
		size := sizeOf(r)
		if (taken+r.messages() > most || size > room) && (taken > 0 || !alone) {
			rest = append(rest, c.queue[i:]...)
			break
		}
		if _, writing := c.writing[r.entry.Workflow]; writing {
			rest = append(rest, r)
			continue
		}
		c.writing[r.entry.Workflow] = struct{}{}
		room -= size
		taken += r.messages()
		group = append(group, r)
	}
	c.queue = rest
	return group
}

// written lets the next entry of the request's workflow go.
func (c *committer) written(r *request) {
	delete(c.writing, r.entry.Workflow)
	if c.staged { // elsewhere the log does not rest
		c.writers.wrote(r.entry.Workflow, time.Now())
	}
}

// waiting is the weight of what is in the queue, and reports whether the log is closed.
func (c *committer) waiting() (n int, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight(c.queue...), c.closed
}

// inBatch reports whether a group of n is written as a batch.
func (c *committer) inBatch(n int) bool { return c.batches && c.alone == 0 && n >= c.from }

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

// aloneAfterRefusal is how many messages go by themselves after the first refusal.
const aloneAfterRefusal = 1000

// unstaged notes that the server refused to stage a batch in memory. Each attempt leaves files behind and costs every
// caller in the group a round trip, so the next one has to wait, longer each time. Elsewhere such a refusal says
// little: a cluster that has a new leader has lost the batch, too.
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

// sizeOf is how many bytes the requests take, with their followers.
func sizeOf(requests ...*request) (size int) {
	for _, r := range requests {
		size += len(r.entry.Stored) + headerRoom
		for _, f := range r.followers {
			size += len(f.entry.Stored) + headerRoom
		}
	}
	return size
}
