package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Item is one entity of a list, with the workflow it belongs to.
type Item struct {
	Workflow eventlog.WorkflowName
	Entity   any
}

// Range says what to list: the entities of a kind, of one workflow or, when Workflow is empty,
// of all. Handlers cannot be listed, see Handlers.
type Range struct {
	Kind     projections.EntityKind
	Workflow eventlog.WorkflowName
	Desc     bool // newest first
}

// Position is how far a list was read: the last place taken, by partition (partition 0 for a
// list of one workflow). Rows that arrive later neither shift nor repeat what follows it.
type Position map[int]projections.Ordinal

// List yields the entities of the range in the order in which they were created, from after the
// position on, and moves the position along. Within a partition that is the order of the log;
// partitions are merged by time. In a list that runs backwards, rows newer than its first page
// never appear.
func (v *Snapshot) List(r Range, at Position) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := v.list(r, at, func(i Item) bool { return yield(i, nil) }); err != nil {
			yield(Item{}, v.store.fault("list "+kindName(r.Kind)+"s", err))
		}
	}
}

// Handlers returns the workflow's handlers by name, also those of former versions.
func (v *Snapshot) Handlers(w eventlog.WorkflowName) ([]*projections.Handler, error) {
	var handlers []*projections.Handler
	err := v.store.scan(v.at, workflowPrefix(spaceHandler, w), func(_, row []byte) error {
		h := new(projections.Handler)
		handlers = append(handlers, h)
		return decode(row, h)
	})
	if err != nil {
		return nil, v.store.fault("list handlers of workflow "+string(w), err)
	}
	return handlers, nil
}

// lane is one partition's part of a list, standing at its next entry.
type lane struct {
	partition int
	it        *pebble.Iterator
	prefix    int // bytes before the place in its keys
	place     projections.Ordinal
	time      eventlog.Instant
	workflow  eventlog.WorkflowName
}

func (v *Snapshot) list(r Range, at Position, yield func(Item) bool) (err error) {
	lanes, err := v.lanes(r, at)
	defer func() {
		for _, l := range lanes {
			err = errors.Join(err, l.it.Close())
		}
	}()
	if err != nil {
		return err
	}
	var rows *pebble.Iterator
	if r.Workflow == "" {
		if rows, err = v.at.NewIter(nil); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
	}
	open := slices.Clone(lanes)
	for len(open) > 0 {
		next := open[0]
		for _, l := range open[1:] {
			if l.before(next) != r.Desc {
				next = l
			}
		}
		item, err := v.item(r.Kind, next, rows)
		if err != nil {
			return err
		}
		at[next.partition] = next.place
		if !yield(item) {
			return nil
		}
		more, err := v.step(r, next)
		if err != nil {
			return err
		}
		if !more {
			open = slices.DeleteFunc(open, func(l *lane) bool { return l == next })
		}
	}
	return nil
}

// before orders the entries of different partitions: by time, and where that says nothing by
// partition, so that the order is the same in every replay.
func (l *lane) before(m *lane) bool {
	if l.time != m.time {
		return l.time < m.time
	}
	return l.partition < m.partition
}

// lanes opens the partitions' parts of the list, each at its first entry after the position.
// Those that are at their end are closed and left out.
func (v *Snapshot) lanes(r Range, at Position) (lanes []*lane, err error) {
	if r.Workflow != "" {
		return v.lane(nil, r, at, 0, kindPrefix(spaceRow, r.Workflow, r.Kind), len(at) == 0)
	}
	partitions, err := v.partitions(r.Kind)
	if err != nil {
		return nil, err
	}
	first := len(at) == 0
	for _, p := range partitions {
		if lanes, err = v.lane(lanes, r, at, p, allPartitionPrefix(r.Kind, p), first); err != nil {
			return lanes, err
		}
	}
	return lanes, nil
}

func (v *Snapshot) lane(lanes []*lane, r Range, at Position, partition int, prefix []byte, first bool) ([]*lane, error) {
	bounds := &pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)}
	last, seen := at[partition]
	switch {
	case seen && r.Desc:
		bounds.UpperBound = appendOrdinal(slices.Clone(prefix), last)
	case seen:
		bounds.LowerBound = append(appendOrdinal(slices.Clone(prefix), last), 0)
	case r.Desc && !first:
		return lanes, nil // empty when the list began: all of it is newer
	}
	it, err := v.at.NewIter(bounds)
	if err != nil {
		return lanes, err
	}
	l := &lane{partition: partition, it: it, prefix: len(prefix), workflow: r.Workflow}
	found := it.First
	if r.Desc {
		found = it.Last
	}
	if !found() {
		return lanes, errors.Join(it.Error(), it.Close())
	}
	lanes = append(lanes, l)
	if err := v.read(r, l); err != nil {
		return lanes, err
	}
	if r.Desc && !seen {
		// The list ends here at its new end, whatever is appended before the next page.
		at[partition] = projections.Ordinal{Seq: l.place.Seq, N: l.place.N + 1}
	}
	return lanes, nil
}

func (v *Snapshot) step(r Range, l *lane) (bool, error) {
	more := l.it.Next
	if r.Desc {
		more = l.it.Prev
	}
	if !more() {
		return false, l.it.Error()
	}
	return true, v.read(r, l)
}

func (v *Snapshot) read(r Range, l *lane) (err error) {
	v.store.keysRead.Add(1)
	if l.place, err = decodeOrdinal(l.it.Key()[l.prefix:]); err != nil || r.Workflow != "" {
		return err
	}
	l.time, l.workflow, err = splitAll(l.it.Value())
	return err
}

// item decodes the entity at which the lane stands: its row in a list of one workflow, else the
// row that its entry points to.
func (v *Snapshot) item(kind projections.EntityKind, l *lane, rows *pebble.Iterator) (Item, error) {
	row := l.it
	if rows != nil {
		key := placeKey(spaceRow, l.workflow, kind, l.place)
		if kind == projections.KindWorkflow {
			key = coreKey(l.workflow)
		}
		v.store.keysRead.Add(1)
		if !rows.SeekGE(key) || !slices.Equal(rows.Key(), key) {
			if err := rows.Error(); err != nil {
				return Item{}, err
			}
			return Item{}, fmt.Errorf("%w: a %s of workflow %s is in the order and has no row", ErrDamaged, kindName(kind), l.workflow)
		}
		row = rows
	}
	entity := projections.NewEntity(kind)
	if entity == nil {
		return Item{}, fmt.Errorf("%s cannot be listed", kindName(kind))
	}
	if err := decode(row.Value(), entity); err != nil {
		return Item{}, err
	}
	return Item{Workflow: l.workflow, Entity: entity}, nil
}

// partitions finds the partitions that have entities of the kind, by skipping from one to the
// next.
func (v *Snapshot) partitions(kind projections.EntityKind) (partitions []int, err error) {
	prefix := allPrefix(kind)
	it, err := v.at.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		v.store.keysRead.Add(1)
		key := it.Key()
		if len(key) < len(prefix)+4 {
			return nil, fmt.Errorf("%w: an entry in the order across workflows has a key of %d bytes", ErrDamaged, len(key))
		}
		p := int(binary.BigEndian.Uint32(key[len(prefix):]))
		partitions = append(partitions, p)
		ok = it.SeekGE(after(allPartitionPrefix(kind, p)))
	}
	return partitions, it.Error()
}
