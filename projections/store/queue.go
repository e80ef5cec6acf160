package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Queue reads pending events by their places. It is a view at one moment; Close must be called.
type Queue struct {
	store     *Store
	workflow  eventlog.WorkflowName
	partition int
	rows      *pebble.Iterator
	done      func()
}

// Queue opens the rows of the workflow's events in the partition.
func (s *Store) Queue(w eventlog.WorkflowName, partition int) (*Queue, error) {
	db, done, err := s.use()
	if err != nil {
		return nil, fmt.Errorf("read pending events of workflow %s: %w", w, err)
	}
	prefix := appendRows(nil, projections.KindEvent, partition)
	rows, err := db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		done()
		return nil, s.fault("read pending events of workflow "+string(w), err)
	}
	return &Queue{store: s, workflow: w, partition: partition, rows: rows, done: done}, nil
}

// Event returns the event at the place; that there is none is damage.
func (q *Queue) Event(at projections.Ordinal) (*projections.TopicEvent, error) {
	key := appendRow(nil, projections.KindEvent, place{q.partition, at})
	entity, err := q.store.placed(q.rows, q.workflow, projections.KindEvent, key)
	if err != nil {
		return nil, q.store.fault("read a pending event of workflow "+string(q.workflow), err)
	}
	return entity.(*projections.TopicEvent), nil
}

// Close ends the view.
func (q *Queue) Close() error {
	defer q.done()
	if err := q.rows.Close(); err != nil {
		return q.store.fault("read pending events of workflow "+string(q.workflow), err)
	}
	return nil
}
