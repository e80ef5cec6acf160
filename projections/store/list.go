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
	// Marked leaves out what is not marked so: the cost is that of what is marked, however long the history is.
	Marked Mark
}

// Mark is a part of a workflow's entities that has an index.
type Mark byte

// The marks.
const (
	// MarkNone lists all.
	MarkNone Mark = 0
	// MarkLive is what belongs in memory: of events those that are reserved or held, of mutations at least those whose
	// outcome is open, of runs those that have not ended or owe a retry.
	MarkLive Mark = spaceLive
	// MarkAside are the events that are discarded.
	MarkAside Mark = spaceAside
)

// space is where the entries of the range stand.
func (r *Range) space() byte {
	if r.Marked != MarkNone {
		return byte(r.Marked)
	}
	return spaceOwn
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
	err := v.store.scan(v.at, appendWorkflow(nil, spaceHandler, w), func(_, row []byte) error {
		h := new(projections.Handler)
		handlers = append(handlers, h)
		return decode(row, h)
	})
	if err != nil {
		return nil, v.store.fault("list handlers of workflow "+string(w), err)
	}
	return handlers, nil
}

// lane is one partition's part of a list, standing at its next entry: a row, or in a list of one
// workflow the entry for one.
type lane struct {
	partition int
	it        *pebble.Iterator
	prefix    int // bytes before the place in its keys
	place     projections.Ordinal
	head      head
	entity    []byte // of the row
}

func (v *Snapshot) list(r Range, at Position, yield func(Item) bool) (err error) {
	if r.Workflow == "" && r.Marked != MarkNone {
		return v.listMarked(r, at, yield)
	}
	lanes, err := v.lanes(r, at)
	defer func() {
		for _, l := range lanes {
			err = errors.Join(err, l.it.Close())
		}
	}()
	if err != nil {
		return err
	}
	rows, err := v.at.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	open := slices.Clone(lanes)
	for len(open) > 0 {
		next := open[0]
		for _, l := range open[1:] {
			if l.before(next) != r.Desc {
				next = l
			}
		}
		item, err := v.item(r, next, rows)
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
	if l.head.time != m.head.time {
		return l.head.time < m.head.time
	}
	return l.partition < m.partition
}

// lanes opens the partitions' parts of the list, each at its first entry after the position.
// Those that are at their end are closed and left out.
func (v *Snapshot) lanes(r Range, at Position) (lanes []*lane, err error) {
	if r.Workflow != "" {
		return v.lane(nil, r, at, 0, appendKind(nil, r.space(), r.Workflow, r.Kind), len(at) == 0)
	}
	partitions, err := v.partitions(r.Kind)
	if err != nil {
		return nil, err
	}
	first := len(at) == 0
	for _, p := range partitions {
		if lanes, err = v.lane(lanes, r, at, p, appendRows(nil, r.Kind, p), first); err != nil {
			return lanes, err
		}
	}
	return lanes, nil
}

func (v *Snapshot) lane(lanes []*lane, r Range, at Position, partition int, prefix []byte, first bool) ([]*lane,
	error) {
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
	l := &lane{partition: partition, it: it, prefix: len(prefix)}
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
	l.head, l.entity, err = decodeHead(l.it.Value())
	return err
}

// item decodes the entity at which the lane stands.
func (v *Snapshot) item(r Range, l *lane, rows *pebble.Iterator) (Item, error) {
	if r.Workflow != "" {
		at, err := placeOf(l.it.Key()[l.prefix:], l.it.Value())
		if err != nil {
			return Item{}, err
		}
		entity, err := v.placed(rows, r.Workflow, r.Kind, at)
		return Item{Workflow: r.Workflow, Entity: entity}, err
	}
	item := Item{Workflow: l.head.workflow, Entity: projections.NewEntity(r.Kind)}
	switch {
	case item.Entity == nil:
		return Item{}, fmt.Errorf("%s cannot be listed", kindName(r.Kind))
	case r.Kind != projections.KindWorkflow:
		return item, decode(l.entity, item.Entity)
	}
	found, err := v.store.get(v.at, coreKey(item.Workflow), item.Entity)
	if err == nil && !found {
		err = fmt.Errorf("%w: workflow %s is in the order and has no row", ErrDamaged, item.Workflow)
	}
	return item, err
}

// partitions finds the partitions that have entities of the kind, by skipping from one to the
// next.
func (v *Snapshot) partitions(kind projections.EntityKind) (partitions []int, err error) {
	prefix := []byte{spaceRow, byte(kind)}
	it, err := v.at.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		v.store.keysRead.Add(1)
		key := it.Key()
		if len(key) < len(prefix)+partitionSize {
			return nil, fmt.Errorf("%w: a row has a key of %d bytes", ErrDamaged, len(key))
		}
		p := int(binary.BigEndian.Uint32(key[len(prefix):]))
		partitions = append(partitions, p)
		ok = it.SeekGE(after(appendRows(nil, kind, p)))
	}
	return partitions, it.Error()
}
