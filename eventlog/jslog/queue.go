package jslog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/pawl-run/pawl/eventlog"
)

// request is one Append on its way.
type request struct {
	ctx       context.Context
	entry     eventlog.Entry
	partition int
	subject   string
	fence     string
	// follows is the sequence of the workflow's last message, as the entry expects it. expects is the one that
	// the server must know as the last: another one only behind records that are lost, see followLost.
	follows, expects uint64
	// followers are the entries of a group after this one, its first. A follower has no fence of its own: it leaves in the
	// batch of the one before it, or by itself, fenced on what that one was acknowledged as.
	followers []*request
	follower  bool
	// uncertain: an attempt was made whose fate is not known. Only an acknowledgement or a
	// refusal by the fence may then decide the append.
	uncertain bool
	done      chan result // buffered: the sender of the answer never waits for the caller
}

type result struct {
	written eventlog.Written
	err     error
}

// refuse is the error for an append that ends without being written by this attempt.
func (r *request) refuse(reason error) error {
	if r.uncertain {
		return fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, reason)
	}
	return reason
}

// message builds the form of the entry on the wire. What is stored of it is always the same.
func (r *request) message() *nats.Msg {
	m := &nats.Msg{Subject: r.subject, Header: nats.Header{}, Data: r.entry.Stored}
	if !r.follower {
		m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(r.expects, 10)}
		m.Header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{r.fence}
	}
	return m
}

// fenceOn fences a follower on the sequence of the entry before it.
func (r *request) fenceOn(seq uint64) {
	r.follower, r.follows, r.expects, r.entry.Expected.Seq = false, seq, seq, seq
}

// messages is how many messages a request is, with its followers.
func (r *request) messages() int { return 1 + len(r.followers) }

// groupFrom is how many messages of a workflow are worth a batch where the server stages batches in files.
const groupFrom = 4

// weight is how many single messages the requests count for when it is asked whether a batch is worth it. A group
// counts for enough: its messages would have to wait for each other.
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

// membersOf lists the messages of a group of requests, each before its followers.
func membersOf(group []*request) (members []*request) {
	for _, r := range group {
		members = append(append(members, r), r.followers...)
	}
	return members
}

// leadersOf lists the requests of which membersOf has listed the messages.
func leadersOf(members []*request) []*request {
	return slices.DeleteFunc(slices.Clone(members), func(r *request) bool { return r.follower })
}

// succeed answers that the entry stands at seq, and whether others had written after it by then.
func (r *request) succeed(seq uint64, overtaken bool) {
	r.done <- result{written: eventlog.Written{Head: r.entry.HeadAt(seq), Overtaken: overtaken}}
}

func (r *request) fail(err error) { r.done <- result{err: err} }

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
	last    int                                // how many workflows wrote the last batch
	writing map[eventlog.WorkflowName]struct{} // workflows with an entry on its way
	ended   chan struct{}
	barrier barrier

	mu     sync.Mutex
	queue  []*request
	closed bool
	wake   chan struct{}
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
func (c *committer) written(r *request) { delete(c.writing, r.entry.Workflow) }

// waiting is the weight of what is in the queue; once the log is closed they wait for nothing.
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
