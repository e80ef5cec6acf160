package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Checkpoint returns how far the partition's log is in the store, and false when nothing of it
// is.
func (s *Store) Checkpoint(partition int) (Checkpoint, bool, error) {
	var c Checkpoint
	doing := fmt.Sprintf("read the checkpoint of partition %d", partition)
	db, done, err := s.use()
	if err != nil {
		return c, false, fmt.Errorf("%s: %w", doing, err)
	}
	defer done()
	found, err := s.get(db, checkpointKey(partition), &c)
	if err != nil {
		return Checkpoint{}, false, s.fault(doing, err)
	}
	return c, found, nil
}

// Workflows lists the workflows of the partition by name.
func (s *Store) Workflows(partition int) ([]eventlog.WorkflowName, error) {
	doing := fmt.Sprintf("list the workflows of partition %d", partition)
	db, done, err := s.use()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer done()
	var names []eventlog.WorkflowName
	prefix := memberPrefix(partition)
	err = s.scan(db, prefix, func(key, _ []byte) error {
		names = append(names, eventlog.WorkflowName(key[len(prefix):]))
		return nil
	})
	if err != nil {
		return nil, s.fault(doing, err)
	}
	return names, nil
}

// Stops lists the workflows that the partition's checkpoint does not cover, by name.
func (s *Store) Stops(partition int) ([]Stop, error) {
	doing := fmt.Sprintf("list the stopped workflows of partition %d", partition)
	db, done, err := s.use()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer done()
	var stops []Stop
	err = s.scan(db, stopPrefix(partition), func(_, row []byte) error {
		var stop Stop
		err := decode(row, &stop)
		stops = append(stops, stop)
		return err
	})
	if err != nil {
		return nil, s.fault(doing, err)
	}
	return stops, nil
}

// Load returns the workflow as it was last committed, with what belongs in memory: its core,
// its handlers and its live entities. It is the zero State when the workflow is unknown.
func (s *Store) Load(w eventlog.WorkflowName) (*projections.State, error) {
	snap, err := s.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("load workflow %s: %w", w, err)
	}
	defer snap.Close()
	state, err := snap.load(w)
	if err != nil {
		return nil, s.fault("load workflow "+string(w), err)
	}
	return state, nil
}

// Snapshot is the store at one moment. Close it before any other use of the store by the same
// goroutine: Reset and Close of the store wait for it.
type Snapshot struct {
	store *Store
	at    *pebble.Snapshot
	done  func()
}

// Snapshot returns the store as it is now.
func (s *Store) Snapshot() (*Snapshot, error) {
	db, done, err := s.use()
	if err != nil {
		return nil, err
	}
	return &Snapshot{store: s, at: db.NewSnapshot(), done: done}, nil
}

// Close lets go of the snapshot.
func (v *Snapshot) Close() {
	// A snapshot's Close only forgets it; its error is for a second Close.
	_ = v.at.Close()
	v.done()
}

// Owner returns the workflow of a mutation, empty when the store does not know it.
func (v *Snapshot) Owner(id eventlog.MutationID) (eventlog.WorkflowName, error) {
	v.store.keysRead.Add(1)
	name, done, err := v.at.Get(ownerKey(string(id)))
	if errors.Is(err, pebble.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", v.store.fault(fmt.Sprintf("look up mutation %s", id), err)
	}
	owner := eventlog.WorkflowName(name)
	return owner, done.Close()
}

func (v *Snapshot) load(w eventlog.WorkflowName) (state *projections.State, err error) {
	core, state := new(projections.Workflow), new(projections.State)
	found, err := v.store.get(v.at, coreKey(w), core)
	if err != nil || !found {
		return state, err
	}
	entities := []any{core}
	err = v.store.scan(v.at, appendWorkflow(nil, spaceHandler, w), func(_, row []byte) error {
		h := new(projections.Handler)
		entities = append(entities, h)
		return decode(row, h)
	})
	if err != nil {
		return nil, err
	}
	// The marks are in the order of the rows, so those of a kind are read in one direction.
	prefix := appendWorkflow(nil, spaceLive, w)
	err = v.marked(w, prefix, func(mark []byte) (projections.EntityKind, []byte) {
		return projections.EntityKind(mark[len(prefix)]), mark[len(prefix)+1:]
	}, func(entity any) { entities = append(entities, entity) })
	if err != nil {
		return nil, err
	}
	state = state.Hydrate(entities...)
	for _, c := range state.Definition().Consumers {
		for _, topic := range c.Subscribe {
			take := func(b *projections.Backlog) { state = state.Hydrate(b) }
			read := v.backlog
			if c.Concurrent() && c.Key != "" {
				read = v.keyed(c.Name, c.Key)
			}
			if err := read(w, topic, take); err != nil {
				return nil, err
			}
		}
	}
	return state, nil
}

// backlogPart bounds what is read of a queue at once.
const backlogPart = 10_000

// backlog reads the places of the topic's pending events, in parts and oldest first.
func (v *Snapshot) backlog(w eventlog.WorkflowName, topic eventlog.Topic, take func(*projections.Backlog)) error {
	return v.places(w, topic, projections.Backlog{Topic: topic}, take, func(place) (projections.Queued, error) {
		return projections.Queued{}, nil
	})
}

// keyed reads them with the keys of the events for the consumer: those are in the payloads alone, so it takes as long
// as reading them all.
func (v *Snapshot) keyed(consumer eventlog.Handler, path string) func(eventlog.WorkflowName, eventlog.Topic,
	func(*projections.Backlog)) error {
	return func(w eventlog.WorkflowName, topic eventlog.Topic, take func(*projections.Backlog)) (err error) {
		rows, err := v.at.NewIter(nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		empty := projections.Backlog{Topic: topic, Consumer: consumer, Path: path}
		return v.places(w, topic, empty, take, func(at place) (projections.Queued, error) {
			entity, err := v.placed(rows, w, projections.KindEvent, at)
			if err != nil {
				return projections.Queued{}, err
			}
			return entity.(*projections.TopicEvent).QueuedWith(consumer, path), nil
		})
	}
}

// places reads the queue of a topic in parts, each of which begins as a copy of empty. keyOf returns the key of a
// place, which the index entry does not hold.
func (v *Snapshot) places(w eventlog.WorkflowName, topic eventlog.Topic, empty projections.Backlog,
	take func(*projections.Backlog), keyOf func(place) (projections.Queued, error)) error {
	fresh := func() *projections.Backlog { part := empty; return &part }
	part := fresh()
	prefix := appendOpen(nil, w, topic)
	err := v.store.scan(v.at, prefix, func(mark, value []byte) error {
		if len(value) < partitionSize {
			return fmt.Errorf("%w: the mark of a pending event has %d bytes", ErrDamaged, len(value))
		}
		at, err := placeOf(mark[len(prefix):], value[:partitionSize])
		if err != nil {
			return err
		}
		waits, err := decodeWaits(value[partitionSize:])
		if err != nil {
			return err
		}
		q, err := keyOf(at)
		if err != nil {
			return err
		}
		q.Created, q.ScheduledAt = at.Ordinal, waits.scheduledAt
		q.FailedAt, q.BacksOff = waits.failedAt, waits.backsOff
		if len(part.Queued) == backlogPart {
			take(part)
			part = fresh()
			part.Queued = make([]projections.Queued, 0, backlogPart)
		}
		part.Queued = append(part.Queued, q)
		if waits.scheduledAt != 0 {
			part.Scheduled = append(part.Scheduled, projections.ScheduledEvent{Topic: topic, MessageID: waits.id,
				ScheduledAt: waits.scheduledAt})
		}
		return nil
	})
	if err == nil && len(part.Queued) > 0 {
		take(part)
	}
	return err
}

// marked reads the rows to which the index entries with the prefix point. split returns the kind and the place that an
// entry names.
func (v *Snapshot) marked(w eventlog.WorkflowName, prefix []byte, split func(mark []byte) (projections.EntityKind,
	[]byte), add func(entity any)) (err error) {
	rows, err := v.at.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return v.store.scan(v.at, prefix, func(mark, value []byte) error {
		kind, ordinal := split(mark)
		at, err := placeOf(ordinal, value)
		if err != nil {
			return err
		}
		entity, err := v.placed(rows, w, kind, at)
		if err == nil {
			add(entity)
		}
		return err
	})
}

// placeOf joins the two halves of a row's place in an entry: its order and its partition.
func placeOf(ordinal, partition []byte) (at place, err error) {
	if at.Ordinal, err = decodeOrdinal(ordinal); err != nil {
		return place{}, err
	}
	at.partition, err = decodePartition(partition)
	return at, err
}

// placed reads the workflow's row at the place.
func (v *Snapshot) placed(rows *pebble.Iterator, w eventlog.WorkflowName, kind projections.EntityKind, at place) (any,
	error) {
	return v.store.placed(rows, w, kind, appendRow(nil, kind, at))
}

func (s *Store) placed(rows *pebble.Iterator, w eventlog.WorkflowName, kind projections.EntityKind, key []byte) (any,
	error) {
	s.keysRead.Add(1)
	if !rows.SeekGE(key) || !bytes.Equal(rows.Key(), key) {
		if err := rows.Error(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: workflow %s has an entry for a %s and not its row", ErrDamaged, w, kindName(kind))
	}
	entity := projections.NewEntity(kind)
	if entity == nil {
		return nil, fmt.Errorf("%w: workflow %s has an entry of unknown kind", ErrDamaged, w)
	}
	return entity, decodeOwn(rows.Value(), w, entity)
}

// get reads one row into v and reports whether it is there.
func (s *Store) get(from pebble.Reader, key []byte, v any) (bool, error) {
	s.keysRead.Add(1)
	row, done, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, errors.Join(decode(row, v), done.Close())
}

// scan calls visit for each key with the prefix, in order. Key and value are valid during the
// call only.
func (s *Store) scan(from pebble.Reader, prefix []byte, visit func(key, value []byte) error) (err error) {
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		s.keysRead.Add(1)
		if err := visit(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}
