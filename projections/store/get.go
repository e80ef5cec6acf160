package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Get returns pointers to those of the entities that the store has, in the order of keys. The key
// of a topic's queue stands for the places of its pending events, as *projections.Backlog, also with the keys that they
// have for a consumer; that of a place for the pending event there.
func (s *Store) Get(w eventlog.WorkflowName, keys []projections.Key) ([]any, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(keys, func(k projections.Key) bool {
		return k.Kind == projections.KindPending || k.Kind == projections.KindKeyed
	}) {
		snap, err := s.Snapshot()
		if err != nil {
			return nil, fmt.Errorf("read rows of workflow %s: %w", w, err)
		}
		defer snap.Close()
		return snap.Get(w, keys)
	}
	// Each decision comes by here: the one iterator is a view at one moment by itself, and a
	// snapshot's end costs a look at all that could be compacted. An id that is left out was absent a moment before.
	db, done, err := s.use()
	if err != nil {
		return nil, fmt.Errorf("read rows of workflow %s: %w", w, err)
	}
	defer done()
	if keys = s.withoutAbsent(w, keys); len(keys) == 0 {
		return nil, nil
	}
	rows, err := s.rows(db, w, keys, nil)
	if err != nil {
		return nil, s.fault("read rows of workflow "+string(w), err)
	}
	return rows, nil
}

// withoutAbsent returns the keys but those of ids that are certainly new. The caller uses the database.
func (s *Store) withoutAbsent(w eventlog.WorkflowName, keys []projections.Key) (rest []projections.Key) {
	var buffer [128]byte // holds most keys, so that none is allocated
	for _, k := range keys {
		if !remembers(k.Kind) || !s.seen.absent(appendID(buffer[:0], w, k)) {
			rest = append(rest, k)
		}
	}
	return rest
}

// Get is Get of the store, as it was.
func (v *Snapshot) Get(w eventlog.WorkflowName, keys []projections.Key) ([]any, error) {
	rows, err := v.store.rows(v.at, w, keys, v)
	if err != nil {
		return nil, v.store.fault("read rows of workflow "+string(w), err)
	}
	return rows, nil
}

// rows reads those of the entities that are there; snap, if they name any, a topic's queue.
func (s *Store) rows(from pebble.Reader, w eventlog.WorkflowName, keys []projections.Key, snap *Snapshot,
) (entities []any, err error) {
	// One iterator for all: it keeps its blocks between neighbouring keys. It reads the filters
	// of the lowest level too, which a plain Get does not, and so answers for absent ids there
	// without reading rows.
	it, err := from.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	find := func(key []byte) (bool, error) {
		s.keysRead.Add(1)
		if it.SeekPrefixGE(key) {
			return true, nil
		}
		return false, it.Error()
	}
	var key []byte
	take := func(b *projections.Backlog) { entities = append(entities, b) }
	for _, k := range keys {
		var row []byte
		placed := false
		switch k.Kind {
		case projections.KindPending:
			if err := snap.backlog(w, eventlog.Topic(k.ID), take); err != nil {
				return nil, err
			}
			continue
		case projections.KindKeyed:
			topic, consumer, path := k.Keyed()
			if err := snap.keyed(consumer, path)(w, topic, take); err != nil {
				return nil, err
			}
			continue
		case projections.KindPlace:
			topic, at := k.Place()
			key = appendOrdinal(appendOpen(key[:0], w, topic), at)
			found, err := find(key)
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
			partition, err := decodePartition(it.Value()[:min(partitionSize, len(it.Value()))])
			if err != nil {
				return nil, err
			}
			k.Kind = projections.KindEvent
			key = appendRow(key[:0], k.Kind, place{partition, at})
			row, placed = key, true
		case projections.KindWorkflow:
			row = coreKey(w)
		case projections.KindHandler:
			row = handlerKey(w, k.ID)
		default:
			key = appendID(key[:0], w, k)
			found, err := find(key)
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
			at, err := decodePlace(it.Value())
			if err != nil {
				return nil, err
			}
			key = appendRow(key[:0], k.Kind, at)
			row, placed = key, true
		}
		found, err := find(row)
		if err != nil {
			return nil, err
		}
		if !found {
			if !placed {
				continue
			}
			return nil, fmt.Errorf("%w: %s %q of workflow %s is in the index and has no row", ErrDamaged, kindName(k.Kind), k.ID,
				w)
		}
		entity := projections.NewEntity(k.Kind)
		if entity == nil {
			return nil, fmt.Errorf("%s is not stored", kindName(k.Kind))
		}
		if placed {
			err = decodeOwn(it.Value(), w, entity)
		} else {
			err = decode(it.Value(), entity)
		}
		if err != nil {
			return nil, err
		}
		entities = append(entities, entity)
	}
	return entities, nil
}
