package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Batch is what becomes visible together.
type Batch struct {
	Partition  int
	Checkpoint Checkpoint
	Changes    []Change
	// Stops are workflows that the checkpoint goes on without; Resumed are some of those that it covers
	// again.
	Stops   []Stop
	Resumed []eventlog.WorkflowName
}

// Change brings one workflow's rows to a state.
type Change struct {
	State *projections.State
	// Touched lists every entity that changed since the workflow's last commit, as the states
	// on the way listed them. An entity whose liveness changed is among them.
	Touched []projections.Key
}

// Commit writes the batch as one. A touched entity that the state does not hold in memory is an
// error, as is a state older than the rows: nothing is written then.
func (s *Store) Commit(b Batch) error {
	s.committing.Lock()
	defer s.committing.Unlock()
	db, done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Err(); err != nil {
		return err
	}
	w := writer{store: s, db: db, batch: db.NewBatchWithSize(s.batchSize), partition: b.Partition,
		heads: map[eventlog.WorkflowName]uint64{}}
	defer func() { _ = w.batch.Close() }()
	for i := range b.Changes {
		if err := w.change(&b.Changes[i]); err != nil {
			return s.fault(fmt.Sprintf("commit workflow %s at revision %d", b.Changes[i].State.Name,
				b.Changes[i].State.Head.Revision), err)
		}
	}
	for _, name := range b.Resumed {
		w.remove(stopKey(b.Partition, name))
	}
	for i := range b.Stops {
		w.put(stopKey(b.Partition, b.Stops[i].Workflow), &b.Stops[i])
	}
	w.put(checkpointKey(b.Partition), &b.Checkpoint)
	w.count(s.commits + 1)
	if w.err != nil {
		return s.fault("commit", w.err)
	}
	// Not synced: the log is synced, and what a crash takes from the store is replayed from it.
	if err := w.write(); err != nil {
		return s.fault("commit", err)
	}
	s.commits++
	s.batchSize = min(w.batch.Len(), memTableSize)
	for name, head := range w.heads {
		s.heads[name] = head
	}
	return nil
}

// writer fills one batch.
type writer struct {
	store     *Store
	db        *pebble.DB
	batch     *pebble.Batch
	partition int
	heads     map[eventlog.WorkflowName]uint64 // as they will be after the commit
	// key and value are buffers: the batch copies what it is given.
	key, value []byte
	err        error
}

// write hands the batch to the database, which does not know whether a write has failed.
func (w *writer) write() error {
	if err := w.batch.Commit(pebble.NoSync); err != nil {
		return err
	}
	return w.store.Err()
}

func (w *writer) set(key, value []byte) {
	if w.err == nil {
		w.err = w.batch.Set(key, value, nil)
	}
}

// count makes the batch the n-th commit.
func (w *writer) count(n uint64) {
	w.set(lastKey(), encodeNumber(n))
	if w.err == nil {
		w.err = w.batch.Merge(countKey(), encodeNumber(1), nil)
	}
}

func (w *writer) remove(key []byte) {
	if w.err == nil {
		w.err = w.batch.Delete(key, nil)
	}
}

func (w *writer) put(key []byte, v any) {
	if w.err != nil {
		return
	}
	row, err := w.store.enc.row(v)
	if err != nil {
		w.err = err
		return
	}
	w.set(key, row)
}

// head returns where the workflow's rows end, zero when it has none.
func (w *writer) head(name eventlog.WorkflowName) (uint64, error) {
	if head, ok := w.heads[name]; ok {
		return head, nil
	}
	if head, ok := w.store.heads[name]; ok {
		return head, nil
	}
	row, done, err := w.db.Get(coreKey(name))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var core projections.Workflow
	err = errors.Join(decode(row, &core), done.Close())
	return core.Head.Seq, err
}

func (w *writer) change(c *Change) error {
	name := c.State.Name
	if !c.State.Exists() || c.State.Head.Seq == 0 {
		return fmt.Errorf("the state has no place in the log")
	}
	stored, err := w.head(name)
	if err != nil {
		return fmt.Errorf("read its head: %w", err)
	}
	if c.State.Head.Seq < stored {
		return fmt.Errorf("the state ends at sequence %d, its rows already at %d", c.State.Head.Seq, stored)
	}
	w.heads[name] = c.State.Head.Seq
	w.put(coreKey(name), c.State.Workflow)
	if stored == 0 {
		w.set(append(memberPrefix(w.partition), name...), nil)
		w.row(projections.KindWorkflow, place{w.partition, c.State.Created}, head{born(c.State), name}, nil)
	}
	for _, k := range c.Touched {
		if k.Kind == projections.KindWorkflow {
			continue
		}
		entity := c.State.Entity(k)
		if entity == nil {
			return fmt.Errorf("%s %q was touched and is not in memory", kindName(k.Kind), k.ID)
		}
		if k.Kind == projections.KindHandler {
			w.put(handlerKey(name, k.ID), entity)
			continue
		}
		w.entity(name, k, entity, stored, c.State.Live(k))
	}
	return w.err
}

// entity writes the row, and the index entries that are not there yet. Only an entity created
// after the rows' head can lack them, and only one created before it can have a live mark that
// must go: so a row that is written once and finished at once leaves no tombstone.
func (w *writer) entity(name eventlog.WorkflowName, k projections.Key, entity any, stored uint64, live bool) {
	created, time := origin(entity)
	at := place{w.partition, created}
	w.row(k.Kind, at, head{time, name}, entity)
	fresh := created.Seq > stored
	if fresh {
		w.value = appendPlace(w.value[:0], at)
		w.key = appendID(w.key[:0], name, k)
		if remembers(k.Kind) {
			w.store.seen.add(w.key) // before the row can be read
		}
		w.set(w.key, w.value)
		w.key = appendOrdinal(appendKind(w.key[:0], spaceOwn, name, k.Kind), created)
		w.set(w.key, w.value[:partitionSize])
		if k.Kind == projections.KindMutation {
			w.set(ownerKey(k.ID), []byte(name))
		}
	}
	event, ok := entity.(*projections.TopicEvent)
	pending := ok && event.Status == eventlog.EventStatusPending
	w.value = appendPartition(w.value[:0], w.partition)
	w.key = appendOrdinal(appendKind(w.key[:0], spaceLive, name, k.Kind), created)
	w.mark(live && (!pending || event.Held != nil), fresh) // a held event is in memory like a reserved one
	if ok {
		w.key = appendOrdinal(appendKind(w.key[:0], spaceAside, name, k.Kind), created)
		w.mark(event.Status == eventlog.EventStatusDiscarded, fresh || !failedOnce(event))
		w.value = appendWaits(w.value, event)
		w.key = appendOrdinal(appendOpen(w.key[:0], name, event.Topic), created)
		w.mark(pending, fresh)
	}
}

// failedOnce reports whether the event was discarded once, or may have been.
func failedOnce(e *projections.TopicEvent) bool {
	return slices.ContainsFunc(e.Attempts, func(a projections.Attempt) bool { return a.Failure != nil })
}

// mark sets the mark with the key to the value, or removes it.
func (w *writer) mark(set, fresh bool) {
	switch {
	case set:
		w.set(w.key, w.value)
	case !fresh:
		w.remove(w.key)
	}
}

func (w *writer) row(kind projections.EntityKind, at place, h head, entity any) {
	if w.err != nil {
		return
	}
	row, err := w.store.enc.placed(h, entity)
	if err != nil {
		w.err = err
		return
	}
	w.key = appendRow(w.key[:0], kind, at)
	w.set(w.key, row)
}

// born is when the workflow's first version was deployed; zero when that is not in memory.
func born(s *projections.State) eventlog.Instant {
	for _, script := range s.Scripts() {
		if script.Created.Seq == s.Created.Seq {
			return script.DeployedAt
		}
	}
	return 0
}

func kindName(k projections.EntityKind) string {
	names := map[projections.EntityKind]string{
		projections.KindWorkflow: "workflow", projections.KindHandler: "handler", projections.KindRun: "run",
		projections.KindEvent: "event", projections.KindMutation: "mutation", projections.KindInput: "input",
		projections.KindSession: "session", projections.KindScript: "script version",
	}
	if name, ok := names[k]; ok {
		return name
	}
	return fmt.Sprintf("entity of kind %q", byte(k))
}
