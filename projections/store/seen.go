package store

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-run/pawl/projections"
)

const (
	// firstLayer is how many ids the first layer of a seen has room for; each further one has room for twice as many.
	firstLayer = 1 << 16
	// maxLayers bounds a seen: nine layers have room for 33 million ids and take 40 MB. With more ids it gives up, and
	// all lookups read the database.
	maxLayers = 9
	// falsePositives is the part of absent ids that one layer takes for ids it has. With all layers it is up to nine
	// times as much: those ids are read from the database, which costs time and nothing else.
	falsePositives = 0.01
	// collectedAtOnce is how many keys collect reads from one view.
	collectedAtOnce = 2048
	// collectRest is how long collect rests after that, as a multiple of the time that it took.
	collectRest = 4
)

// seen is a Bloom filter over the ids of events and inputs in the store. Nearly each event that is pushed or published
// is new; seen says so without a read. It may take a new id for a known one, and then the database is read. It never
// takes a known id for a new one: Commit adds an id before its row can be read, and the ids from before Open are
// collected in the background. Until all of those are added, absent says false.
//
// Locking: mu guards all but ended, which is closed once.
type seen struct {
	mu sync.RWMutex
	// layers are several, since a Bloom filter cannot grow: a full one gets another beside it.
	layers []*bloom.BloomFilter
	room   uint // ids that still fit into the last layer
	// whole says that all ids of the store are added.
	whole bool
	// gaveUp says that there are too many ids.
	gaveUp bool
	// ended is closed when the store is closed or reset.
	ended chan struct{}
}

// newSeen returns one without ids. Of a store that is only looked at, one that has given up.
func newSeen(lookOnly bool) *seen { return &seen{gaveUp: lookOnly, ended: make(chan struct{})} }

// remembers reports whether the ids of the kind are added.
func remembers(kind projections.EntityKind) bool {
	return kind == projections.KindEvent || kind == projections.KindInput
}

// add notes that the store has the id, or will have it soon. The key is that of its entry in the index. An id that is
// added again, as by a commit that has failed before, takes no room. It reports false once there are too many ids.
func (s *seen) add(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has(key) {
		return true
	}
	if s.room == 0 && len(s.layers) == maxLayers {
		s.layers, s.whole, s.gaveUp = nil, false, true
	}
	if s.gaveUp {
		return false
	}
	if s.room == 0 {
		s.room = firstLayer << len(s.layers)
		s.layers = append(s.layers, bloom.NewWithEstimates(s.room, falsePositives))
	}
	s.layers[len(s.layers)-1].Add(key)
	s.room--
	return true
}

// absent reports whether the store certainly does not have the id.
func (s *seen) absent(key []byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.whole && !s.has(key)
}

// has reports whether a layer may have the id. The caller holds mu.
func (s *seen) has(key []byte) bool {
	return slices.ContainsFunc(s.layers, func(layer *bloom.BloomFilter) bool { return layer.Test(key) })
}

// complete says that all ids from before Open are added.
func (s *seen) complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = !s.gaveUp
}

// collect adds the ids that the store had when it was opened, with rests, so that it takes at most a fifth of one
// processor. It reads from one view after the other, since a view keeps files and memory. What is committed meanwhile
// is added by its commit.
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

// collectSome adds the next ids from the key on. It returns the key to continue at, nil at the end.
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
	defer func() { err = errors.Join(err, it.Close()) }()
	ok := it.First()
	for range collectedAtOnce {
		if !ok {
			return nil, it.Error()
		}
		key := it.Key()
		kind := bytes.IndexByte(key, 0) + 1 // I name NUL kind id, see key.go
		switch {
		case !remembers(projections.EntityKind(key[kind])):
			ok = it.SeekGE(after(key[:kind+1])) // past all ids of this kind
		case !to.add(key):
			return nil, nil // there are too many
		default:
			ok = it.Next()
		}
	}
	if !ok {
		return nil, it.Error()
	}
	return bytes.Clone(it.Key()), nil
}
