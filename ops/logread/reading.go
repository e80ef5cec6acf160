package logread

import (
	"context"
	"errors"
	"iter"
	"math"

	"github.com/pawl-run/pawl/eventlog"
)

// merged reads all partitions to their present ends, or to the given ones, merged by time; within a partition the order
// is that of the log.
func (r *Reader) merged(ctx context.Context, from, ends []uint64, only eventlog.WorkflowName,
) iter.Seq2[eventlog.Record, error] {
	if only != "" {
		p := r.Log.PartitionOf(only)
		return until(ends[p], r.Log.ReadWorkflow(ctx, only, from[p]))
	}
	if len(from) == 1 {
		return until(ends[0], r.Log.Read(ctx, 0, from[0]))
	}
	return func(yield func(eventlog.Record, error) bool) {
		type lane struct {
			next   func() (eventlog.Record, error, bool)
			record eventlog.Record
			err    error
		}
		var lanes []*lane
		for p := range from {
			next, stop := iter.Pull2(until(ends[p], r.Log.Read(ctx, p, from[p])))
			defer stop()
			if record, err, ok := next(); ok {
				lanes = append(lanes, &lane{next, record, err})
			}
		}
		for len(lanes) > 0 {
			first := 0
			for i, l := range lanes {
				if l.err != nil || lanes[first].err == nil && l.record.At < lanes[first].record.At {
					first = i
				}
			}
			l := lanes[first]
			if !yield(l.record, l.err) {
				return
			}
			var ok bool
			if l.record, l.err, ok = l.next(); !ok {
				lanes = append(lanes[:first], lanes[first+1:]...)
			}
		}
	}
}

// until yields the records before the end.
func until(end uint64, records iter.Seq2[eventlog.Record, error]) iter.Seq2[eventlog.Record, error] {
	if end == math.MaxUint64 {
		return records
	}
	return func(yield func(eventlog.Record, error) bool) {
		for record, err := range records {
			if record.Position.Seq >= end || !yield(record, err) {
				return
			}
		}
	}
}

// readRecord is what the reader of a partition has read: a record, or an error.
type readRecord struct {
	record eventlog.Record
	err    error
	last   bool // nothing follows the error
}

// foreign says that the record is of another workflow than the query's, whether or not it can be read, or that the
// query does not ask for it: it only moves the reader on.
func (r readRecord) foreign(q *Query) bool {
	if r.err == nil && !q.shows(r.record) {
		return true
	}
	return q.Workflow != "" && !r.last && r.record.Workflow != "" && r.record.Workflow != q.Workflow
}

// readAll sends records until ctx ends, the log ends (without follow) or fails. For one workflow it sends the records
// of its partition, and the receiver passes the foreign ones over.
func (r *Reader) readAll(ctx context.Context, q *Query, from []uint64, to chan<- readRecord) {
	from = append([]uint64(nil), from...) // the caller changes its own positions
	pass := func(records iter.Seq2[eventlog.Record, error]) {
		for record, err := range records {
			got := readRecord{record, err, err != nil && !readable(err)}
			select {
			case to <- got:
			case <-ctx.Done():
				return
			}
			if got.last {
				return
			}
		}
	}
	if !q.Follow {
		ends, err := r.ends(q)
		if err != nil { // this does not happen: Start has read the same positions
			pass(func(yield func(eventlog.Record, error) bool) { yield(eventlog.Record{}, err) })
			return
		}
		pass(r.merged(ctx, from, ends, q.Workflow))
		return
	}
	if q.Workflow != "" {
		p := r.Log.PartitionOf(q.Workflow)
		pass(r.Log.Watch(ctx, p, from[p]))
		return
	}
	done := make(chan struct{})
	for p := range from {
		go func() {
			defer func() { done <- struct{}{} }()
			pass(r.Log.Watch(ctx, p, from[p]))
		}()
	}
	for range from {
		<-done
	}
}

// readable reports whether the log can be read behind the error: that is so where only one record is unreadable.
func readable(err error) bool { return errors.Is(err, eventlog.ErrUnreadable) }
