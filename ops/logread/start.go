package logread

import (
	"context"
	"math"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Start returns the position at which reading begins in every partition. It fails for a query that cannot be answered.
func (r *Reader) Start(ctx context.Context, q *Query) ([]uint64, error) {
	from, err := r.positions(q.From, 0)
	if err != nil {
		return nil, err
	}
	if err := q.checkTypes(); err != nil {
		return nil, err
	}
	if q.Workflow != "" {
		if err := r.Known(q.Workflow); err != nil {
			return nil, err
		}
	}
	ends, err := r.ends(q)
	if err != nil {
		return nil, err
	}
	if q.Before != "" && q.Follow {
		return nil, rpc.Malformed("before.follow",
			"what stands before a position is not followed: it is written already").WithHint("leave one of the two out")
	}
	return from, r.tail(ctx, q, from, ends)
}

// ends are the positions before which reading ends in every partition: there is no end in a partition that q.Before
// does not name.
func (r *Reader) ends(q *Query) ([]uint64, error) {
	before, err := r.positions(q.Before, 0)
	if err != nil {
		return nil, err
	}
	for p, seq := range before {
		if q.Before == "" || seq == 1 && len(before) > 1 {
			before[p] = math.MaxUint64
		}
	}
	return before, nil
}

// Behind returns the positions behind those that were read last.
func (r *Reader) Behind(last string) ([]uint64, error) { return r.positions(last, 1) }
