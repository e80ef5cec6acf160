package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// markedRow is a row with a mark.
type markedRow struct {
	workflow eventlog.WorkflowName
	place    place
	time     eventlog.Instant
}

// listMarked lists what is marked across workflows, in the order of every such list. It finds all marks first: they are
// sorted by workflow.
func (v *Snapshot) listMarked(r Range, at Position, yield func(Item) bool) (err error) {
	rows, err := v.at.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var found []markedRow
	members, err := v.members()
	if err != nil {
		return err
	}
	for _, w := range members {
		prefix := appendKind(nil, byte(r.Marked), w, r.Kind)
		err := v.store.scan(v.at, prefix, func(key, partition []byte) error {
			at, err := placeOf(key[len(prefix):], partition)
			found = append(found, markedRow{workflow: w, place: at})
			return err
		})
		if err != nil {
			return err
		}
	}
	if found, err = v.listed(r, at, found, rows); err != nil {
		return err
	}
	for _, row := range found {
		entity, err := v.placed(rows, row.workflow, r.Kind, row.place)
		if err != nil {
			return err
		}
		at[row.place.partition] = row.place.Ordinal
		if !yield(Item{Workflow: row.workflow, Entity: entity}) {
			return nil
		}
	}
	return nil
}

// listed are those of the rows that stand after the position, in the order of the list.
func (v *Snapshot) listed(r Range, at Position, found []markedRow, rows *pebble.Iterator) ([]markedRow, error) {
	first := len(at) == 0
	ends := Position{}
	found = slices.DeleteFunc(found, func(row markedRow) bool {
		p := row.place.partition
		if last := ends[p]; row.place.Seq > last.Seq || row.place.Seq == last.Seq && row.place.N >= last.N {
			ends[p] = projections.Ordinal{Seq: row.place.Seq, N: row.place.N + 1}
		}
		last, seen := at[p]
		behind := compareOrdinals(row.place.Ordinal, last)
		return r.Desc && !seen && !first || seen && (r.Desc && behind >= 0 || !r.Desc && behind <= 0)
	})
	if r.Desc && first {
		for p, end := range ends {
			at[p] = end // the list ends here, whatever is appended before the next page
		}
	}
	if err := v.times(r.Kind, found, rows); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b markedRow) int {
		order := cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.place.partition, b.place.partition),
			compareOrdinals(a.place.Ordinal, b.place.Ordinal))
		if r.Desc {
			return -order
		}
		return order
	})
	return found, nil
}

// times reads when the rows came to be. Within a partition the order is that of the log: a time that goes back is taken
// for the one before.
func (v *Snapshot) times(kind projections.EntityKind, found []markedRow, rows *pebble.Iterator) error {
	slices.SortFunc(found, func(a, b markedRow) int {
		return cmp.Or(cmp.Compare(a.place.partition, b.place.partition), compareOrdinals(a.place.Ordinal, b.place.Ordinal))
	})
	for i := range found {
		key := appendRow(nil, kind, found[i].place)
		v.store.keysRead.Add(1)
		if !rows.SeekGE(key) || !bytes.Equal(rows.Key(), key) {
			return errors.Join(rows.Error(), fmt.Errorf("%w: workflow %s has a mark of a %s and not its row", ErrDamaged,
				found[i].workflow, kindName(kind)))
		}
		head, _, err := decodeHead(rows.Value())
		if err != nil {
			return err
		}
		if found[i].time = head.time; i > 0 && found[i-1].place.partition == found[i].place.partition {
			found[i].time = max(found[i].time, found[i-1].time)
		}
	}
	return nil
}

// members are the workflows of all partitions.
func (v *Snapshot) members() (names []eventlog.WorkflowName, err error) {
	err = v.store.scan(v.at, []byte{spaceMember}, func(key, _ []byte) error {
		if len(key) < 1+partitionSize {
			return fmt.Errorf("%w: a member has a key of %d bytes", ErrDamaged, len(key))
		}
		names = append(names, eventlog.WorkflowName(key[1+partitionSize:]))
		return nil
	})
	return names, err
}

func compareOrdinals(a, b projections.Ordinal) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N))
}
