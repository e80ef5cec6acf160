package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/eventlog"
)

// maxForgotten is how many single keys one commit of Forget deletes.
const maxForgotten = 10_000

// Forget empties the store of one partition: its checkpoint, its workflows and all that is theirs. The other partitions
// keep what they have. A crash in the middle leaves the checkpoint, so the caller finds again what it has to forget.
func (s *Store) Forget(partition int) error {
	doing := fmt.Sprintf("forget partition %d", partition)
	names, err := s.Workflows(partition)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	db, done, err := s.use()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer done()
	if err := s.Err(); err != nil {
		return err
	}
	gone := make(map[eventlog.WorkflowName]bool, len(names))
	for _, name := range names {
		gone[name] = true
	}
	if err := s.forgetOwners(db, gone); err != nil {
		return s.fault(doing, err)
	}
	err = s.delete(db, func(w *writer) {
		for _, name := range names {
			w.remove(coreKey(name))
			for _, space := range []byte{spaceHandler, spaceID, spaceOwn, spaceLive, spaceOpen} {
				w.removeAll(appendWorkflow(nil, space, name))
			}
		}
		for _, kind := range kinds {
			w.removeAll(appendRows(nil, kind, partition))
		}
		w.removeAll(memberPrefix(partition))
		w.removeAll(stopPrefix(partition))
		w.remove(checkpointKey(partition))
	})
	if err != nil {
		return s.fault(doing, err)
	}
	for _, name := range names {
		delete(s.heads, name)
	}
	return nil
}

// forgetOwners deletes the names under which mutations of these workflows are found.
func (s *Store) forgetOwners(db *pebble.DB, gone map[eventlog.WorkflowName]bool) error {
	var keys [][]byte
	flush := func() error {
		err := s.delete(db, func(w *writer) {
			for _, key := range keys {
				w.remove(key)
			}
		})
		keys = keys[:0]
		return err
	}
	err := s.scan(db, []byte{spaceOwner}, func(key, name []byte) error {
		if !gone[eventlog.WorkflowName(name)] {
			return nil
		}
		if keys = append(keys, append([]byte(nil), key...)); len(keys) < maxForgotten {
			return nil
		}
		return flush()
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	return flush()
}

// delete commits what the function removes. Under committing.
func (s *Store) delete(db *pebble.DB, remove func(*writer)) error {
	w := writer{store: s, db: db, batch: db.NewBatch()}
	defer func() { _ = w.batch.Close() }()
	remove(&w)
	w.count(s.commits + 1)
	if w.err != nil {
		return w.err
	}
	if err := w.write(); err != nil {
		return err
	}
	s.commits++
	return nil
}

func (w *writer) removeAll(prefix []byte) {
	if w.err == nil {
		w.err = w.batch.DeleteRange(prefix, after(prefix), nil)
	}
}
