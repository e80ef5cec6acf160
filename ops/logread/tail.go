package logread

import (
	"context"
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// entry is a transition that a reader of the log will see, or a place that cannot be read.
type entry struct {
	seq uint64
	at  eventlog.Instant
}

// tail moves the start of a reading on, so that of what it would show only the newest q.Tail are left. It reads each
// partition from its end, in parts that grow: the cost is that of what is shown, unless little of the log is.
func (r *Reader) tail(ctx context.Context, q *Query, from []uint64) error {
	if q.Tail == 0 {
		return nil
	}
	newest := make([][]entry, len(from))
	for p := range from {
		if q.Workflow != "" && p != r.Log.PartitionOf(q.Workflow) {
			continue
		}
		end, err := r.Log.Last(ctx, p)
		if err != nil {
			return err
		}
		for part, start := uint64(q.Tail), end+1; start > from[p] && len(newest[p]) < int(q.Tail); part *= 4 {
			start = from[p]
			if end+1-start > part {
				start = end + 1 - part
			}
			if newest[p], err = r.newestFrom(ctx, q, p, start); err != nil {
				return err
			}
		}
		from[p] = max(from[p], end+1)
		if len(newest[p]) > 0 {
			from[p] = newest[p][0].seq
		}
	}
	skipOlder(newest, int(q.Tail), from)
	return nil
}

// newestFrom returns the last q.Tail entries of the partition at start or behind it.
func (r *Reader) newestFrom(ctx context.Context, q *Query, p int, start uint64) ([]entry, error) {
	var records iter.Seq2[eventlog.Record, error]
	if q.Workflow != "" {
		records = r.Log.ReadWorkflow(ctx, q.Workflow, start)
	} else {
		records = r.Log.Read(ctx, p, start)
	}
	var found []entry
	for record, err := range records {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !readable(err) {
			break // the next read, which begins here, reports it
		}
		if err == nil && !q.shows(record) {
			continue
		}
		if len(found) == int(q.Tail) {
			found = found[1:]
		}
		found = append(found, entry{record.Position.Seq, record.At})
	}
	return found, nil
}

// skipOlder moves the starts on until most entries are left of all partitions, in the order in which they are shown:
// by time, and within a partition that of the log.
func skipOlder(entries [][]entry, most int, from []uint64) {
	left := 0
	for _, of := range entries {
		left += len(of)
	}
	for ; left > most; left-- {
		oldest := -1
		for p, of := range entries {
			if len(of) > 0 && (oldest < 0 || of[0].at < entries[oldest][0].at) {
				oldest = p
			}
		}
		from[oldest] = entries[oldest][0].seq + 1
		entries[oldest] = entries[oldest][1:]
	}
}
