package store

import (
	"bytes"
	"sync"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/projections"
)

const (
	// firstLayer is how many ids the first layer of a seen has room for; each further one has room for twice as many.
	firstLayer = 1 << 16
	// maxSeen bounds the ids of a seen, which then takes about 40 MB: with more it gives up, and all lookups read.
	maxSeen = 1 << 25
	// falseAnswers is the part of other ids for which a layer answers that it may have them.
	falseAnswers = 0.01
	// collectChunk is how many keys are read at once while the ids of a store are collected.
	collectChunk = 2048
	// collectRest is how long that rests after each chunk, as a multiple of the time that the chunk took.
	collectRest = 4
)

// seen knows which ids of events and inputs the store does not have: nearly each event that is pushed or published is
// new, and the database takes long to say so. It may take an id for one that the store has, never the other way round:
// Commit adds each id before its row can be read, and those that the store had when it was opened are collected in the
// background. Until all of them are there, nothing is known.
//
// Locking: mu guards all of it.
type seen struct {
	mu     sync.RWMutex
	layers []*bloom.BloomFilter
	room   uint // in the last layer
	ids    uint // in all layers
	// whole says that no id of the store is missing.
	whole bool
	// gaveUp says that there are too many ids.
	gaveUp bool
	// ended is closed when the store is closed or reset.
	ended chan struct{}
}

func newSeen() *seen { return &seen{ended: make(chan struct{})} }

// remembers reports whether the ids of the kind are added.
func remembers(kind projections.EntityKind) bool {
	return kind == projections.KindEvent || kind == projections.KindInput
}

// add notes that the store has the id, or will have it soon. The key is that of its entry in the index.
func (s *seen) add(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gaveUp {
		return
	}
	if s.ids == maxSeen {
		s.layers, s.whole, s.gaveUp = nil, false, true
		return
	}
	if s.room == 0 {
		s.room = firstLayer << len(s.layers)
		s.layers = append(s.layers, bloom.NewWithEstimates(s.room, falseAnswers))
	}
	s.layers[len(s.layers)-1].Add(key)
	s.room--
	s.ids++
}

// absent reports whether the store certainly does not have the id.
func (s *seen) absent(key []byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.whole {
		return false
	}
	for _, layer := range s.layers {
		if layer.Test(key) {
			return false
		}
	}
	return true
}

func (s *seen) complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = !s.gaveUp
}

// collect adds the ids that the store had when it was opened, without haste. Each chunk is read from a view of its own,
// since a view keeps files and memory. What is committed meanwhile is added by its commit.
func (s *Store) collect(to *seen) {
	from := []byte{spaceID}
	for {
		began := time.Now()
		next, err := s.collectSome(to, from)
		switch {
		case err != nil:
			return // the next read of these keys fails too, and says so
		case next == nil:
			to.complete()
			return
		}
		from = next
		select {
		case <-time.After(collectRest * time.Since(began)):
		case <-to.ended:
			return
		}
	}
}

// collectSome adds ids from the key on, and returns the key at which to go on, nil at the end.
func (s *Store) collectSome(to *seen, from []byte) (next []byte, err error) {
	db, done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: []byte{spaceID + 1}})
	if err != nil {
		return nil, err
	}
	n := 0
	for ok := it.First(); ok; n++ {
		key := it.Key()
		if n == collectChunk {
			next = bytes.Clone(key)
			break
		}
		name := bytes.IndexByte(key, 0)
		kind := projections.EntityKind(key[name+1])
		if remembers(kind) {
			to.add(key)
			ok = it.Next()
			continue
		}
		ok = it.SeekGE(after(key[:name+2])) // behind all of the kind
	}
	if err := it.Error(); err != nil {
		_ = it.Close()
		return nil, err
	}
	return next, it.Close()
}
