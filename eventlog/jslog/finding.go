package jslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// finding is what stands in the log after the head that an entry was decided on.
type finding struct {
	seq      uint64 // the entry itself
	conflict bool   // only others' messages
	last     uint64 // the workflow's last message
}

// lookUp reads the workflow's messages after the expected one from the stream's leader. An
// expected sequence is passed only once, so if others stand there and the entry does not, it
// never will.
func (l *Log) lookUp(ctx context.Context, r *request) (finding, error) {
	var f finding
	last, err := l.fetch(ctx, r.partition, query{Last: r.fence})
	if err != nil && !isMessageNotFound(err) {
		return f, err
	}
	f.last = last.Seq
	between := l.newReader(r.partition, r.follows+1, r.fence)
	for between.next <= f.last {
		m, err := l.fetch(ctx, r.partition, query{Seq: between.next, Next: r.fence})
		if isMessageNotFound(err) { // the search ends at a damaged message, with others behind it
			m, err = between.probe(ctx, f.last)
		}
		if err != nil {
			return f, err
		}
		// The bytes hold the entry's random id, so equal bytes are this entry and no other's.
		if eventlog.HashOf(m.Data) == r.entry.Hash() {
			f.seq = m.Seq
			return f, nil
		}
		between.next = m.Seq + 1
	}
	f.conflict = f.last > r.follows
	return f, nil
}

// followLost lets the entry follow a message although the server knows none of the workflow, or an older one, as its
// last: it searches for the last message and cannot read it. It reports whether the entry may follow: the message is
// there, nothing of the workflow stands behind it, and all that is missing behind it was accepted as lost. The entry is
// then fenced on what the server knows, so any message that is written meanwhile still refuses it.
func (l *Log) followLost(ctx context.Context, r *request, serverLast uint64) (bool, error) {
	part := l.partitions[r.partition]
	behind := part.accepted.without(spans{{0, r.follows}})
	if len(behind) == 0 || r.expects == serverLast {
		return false, nil
	}
	m, err := l.fetch(ctx, r.partition, query{Seq: r.follows})
	switch {
	case isMessageNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case l.names.workflow(m.Subject) != r.entry.Workflow,
		r.follows == r.entry.Expected.Seq && eventlog.HashOf(m.Data) != r.entry.Expected.Hash:
		return false, nil
	}
	last, err := l.Last(ctx, r.partition)
	if err != nil {
		return false, err
	}
	follows, failed := true, error(nil)
	after := l.newReader(r.partition, r.follows+1, "")
	after.all = true
	after.run(ctx, last, func(record eventlog.Record, err error) bool {
		switch {
		case err != nil && record.Position.Seq == 0:
			failed = fmt.Errorf("read what stands behind %d: %w", r.follows, err)
		case record.Workflow == r.entry.Workflow, errors.Is(err, eventlog.ErrDamaged) &&
			!errors.Is(err, eventlog.ErrUnreadable):
			follows = false
		}
		return follows && failed == nil
	})
	if failed == nil && follows {
		r.expects = serverLast
	}
	return follows, failed
}
