package logread

import (
	"context"
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// entry is a transition that the query asks for, or a position that cannot be read.
type entry struct {
	seq uint64
	at  eventlog.Instant
}

// tail moves the start of a reading forward, so that only the newest q.Tail entries are left. It reads each partition
// from its end, in parts that grow, so the cost depends on the number of entries, unless they are rare in the log. Then
// q.Scan bounds the search, and the reading begins where the search has ended.
func (r *Reader) tail(ctx context.Context, q *Query, from, ends []uint64) error {
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
		end = min(end, ends[p]-1)
		start, read := end+1, 0
		for part := uint64(q.Tail); start > from[p] && len(newest[p]) < int(q.Tail); part *= grows {
			if q.Scan > 0 && read*grows > int(q.Scan) {
				break // the next part, which is larger, could exceed the bound
			}
			start = from[p]
			if end+1-start > part {
				start = end + 1 - part
			}
			if newest[p], read, err = r.newestFrom(ctx, q, p, start, ends[p]); err != nil {
				return err
			}
		}
		searched := start <= from[p]
		from[p] = max(from[p], end+1)
		switch {
		case len(newest[p]) > 0 && (searched || len(newest[p]) == int(q.Tail)):
			from[p] = newest[p][0].seq
		case !searched:
			from[p] = start
		}
	}
	skipOlder(newest, int(q.Tail), from)
	return nil
}

// grows is how many times larger than the part before it each part of a search is.
const grows = 4

// newestFrom returns the last q.Tail entries of the partition from start to before the end, and how many transitions it
// has read.
func (r *Reader) newestFrom(ctx context.Context, q *Query, p int, start, end uint64) (found []entry, read int,
	err error) {
	var records iter.Seq2[eventlog.Record, error]
	if q.Workflow != "" {
		records = r.Log.ReadWorkflow(ctx, q.Workflow, start)
	} else {
		records = r.Log.Read(ctx, p, start)
	}
	for record, err := range records {
		if ctx.Err() != nil {
			return nil, read, ctx.Err()
		}
		if err != nil && !readable(err) {
			break // the next read, which begins here, reports it
		}
		if record.Position.Seq >= end {
			break
		}
		read++
		if err == nil && !q.shows(record) {
			continue
		}
		if len(found) == int(q.Tail) {
			found = found[1:]
		}
		found = append(found, entry{record.Position.Seq, record.At})
	}
	return found, read, nil
}

// skipOlder moves the starts forward until at most most entries of all partitions are left: the last ones in the order
// in which they are shown, which is by time, and within a partition that of the log.
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
