package logread

import "context"

// Start says where reading begins in every partition, if what is asked for can be read at all.
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
	return from, r.tail(ctx, q, from)
}

// Behind says where reading goes on behind the positions that were read last.
func (r *Reader) Behind(last string) ([]uint64, error) { return r.positions(last, 1) }
