package jslog

import (
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// batch publishes the group, and the requests that come until the server is ready for it, as one atomic batch: all are
// written with one sync, or none. Of a batch that was not acknowledged, a power failure can leave the first members,
// each of which is whole and fenced by itself. A refused batch says nothing about its single messages, since one stale
// member is enough: then each is sent by itself and gets its own answer.
func (c *committer) batch(group []*request) {
	members, leaders, rejected := c.publishBatch(group)
	c.last = len(leaders)
	if rejected {
		c.singly(leaders)
		return
	}
	for _, r := range members {
		c.written(r)
	}
}

// publishBatch returns the members of the batch, which of them are leaders, and whether the batch was refused: then
// nothing of it was written. Else its members are acknowledged, or are being confirmed; the confirmation changes which
// of them follow another one.
func (c *committer) publishBatch(group []*request) (members, leaders []*request, rejected bool) {
	id := c.log.session + "-" + strconv.Itoa(c.partition) + "-" + strconv.FormatUint(c.next, 36)
	send := func(i int, reply string, commit bool) error {
		m := group[i].message()
		m.Header["Nats-Batch-Id"] = []string{id}
		m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
		if commit {
			m.Header["Nats-Batch-Commit"] = []string{"1"}
		}
		m.Reply = reply
		return c.log.nc.PublishMsg(m)
	}
	unconfirmed := func(err error) ([]*request, []*request, bool) {
		leaders := leadersOf(group)
		for _, r := range leaders {
			c.log.confirm(r, answer{verdict: lost, err: err})
		}
		return group, leaders, false
	}
	taken, committed := c.next, c.next+1
	c.next += 2

	// A server that still removes the files of the last batch takes nothing. It says when it has
	// taken the first message; until then other entries, which would only wait otherwise, may join.
	if err := send(0, c.reply(taken), false); err != nil {
		return unconfirmed(err)
	}
	switch m := c.await(taken); {
	case m == nil:
		return unconfirmed(nats.ErrTimeout)
	case len(m.Data) > 0 || len(m.Header) > 0: // an error, or no server listens
		a := readAnswer(m)
		if a.verdict == lost {
			return unconfirmed(a.err)
		}
		if a.verdict == notBatched {
			c.unstaged(a.err)
		}
		return group, leadersOf(group), true
	}
	more := c.take(c.log.cfg.MaxBatch-len(group), c.log.cfg.MaxBatchBytes-sizeOf(leadersOf(group)...))
	group = append(group, membersOf(more)...)
	c.log.counters.batches.Add(1)
	c.log.counters.batched.Add(uint64(len(group)))
	for i := 1; i < len(group); i++ {
		reply, last := "", i == len(group)-1
		if last {
			reply = c.reply(committed)
		}
		if err := send(i, reply, last); err != nil {
			// Without its end the batch is never written, but the error need not mean that the
			// end was not sent.
			return unconfirmed(err)
		}
	}
	m := c.await(committed)
	if m == nil || c.log.dropped(group[len(group)-1].entry) {
		return unconfirmed(nats.ErrTimeout)
	}
	switch a := readAnswer(m); {
	case a.verdict == accepted && (a.count != len(group) || a.seq < uint64(len(group))):
		// Not what was sent: each must be looked at.
		return unconfirmed(fmt.Errorf("batch of %d was answered for %d messages", len(group), a.count))
	case a.verdict == accepted:
		c.refusals = 0
		c.batchWritten(group, a.seq)
		return group, leadersOf(group), false
	case a.verdict == lost:
		return unconfirmed(a.err)
	case a.verdict == notBatched:
		c.unstaged(a.err)
		return group, leadersOf(group), true
	default:
		return group, leadersOf(group), true
	}
}

// batchWritten acknowledges the members of a batch whose last message has that sequence.
func (c *committer) batchWritten(group []*request, last uint64) {
	var barriers []passage
	first := last - uint64(len(group)) + 1
	c.log.acknowledged(group[len(group)-1], last)
	for i, r := range group {
		seq := first + uint64(i)
		if r.entry.Barrier && c.log.cfg.EmbeddedSync {
			barriers = append(barriers, passage{r, seq})
			continue
		}
		r.succeed(seq, false)
	}
	c.barrier.pass(barriers...)
}
