package store

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// keysOf are those of the events that the pipeline has published, and of their inputs.
func keysOf(p *pipeline) (keys []projections.Key) {
	for i := 1; i <= p.n; i++ {
		keys = append(keys, projections.EventKey("in", eventlog.MessageID(fmt.Sprintf("order-%d", i))),
			projections.InputKey(eventlog.InputID(fmt.Sprintf("I%d", i))))
	}
	return keys
}

// Every row is found before, while and after the ids are collected: rows from before Open and rows committed since, of
// two workflows.
func TestSeenHidesNoRow(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	config := Config{Dir: "store", FS: disk}
	s, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t, s)
	neighbour := grow(t, foldtest.NewLog(5), "z", 80)
	theirs := whole(neighbour)
	theirs.Partition = 1
	commit(t, s, theirs)
	found := func(all bool) {
		t.Helper()
		keys := keysOf(p)
		if !all {
			keys = keys[max(0, len(keys)-500):]
		}
		if rows, err := p.s.Get("w", keys); err != nil || len(rows) != len(keys) {
			t.Fatalf("of %d events: %d of %d rows are found, %v", p.n, len(rows), len(keys), err)
		}
	}
	for opened := range 4 {
		for range 8 {
			for range collectedAtOnce / 16 {
				p.publish()
			}
			p.flush()
			found(false)
		}
		fresh := newSeen(false)
		p.s.collect(fresh)
		for _, k := range keysOf(p) {
			if fresh.absent(appendID(nil, "w", k)) {
				t.Fatalf("after %d starts, %q counts as absent", opened, k.ID)
			}
		}
		for _, k := range neighbour.State.Keys() {
			if remembers(k.Kind) && fresh.absent(appendID(nil, "z", k)) {
				t.Fatalf("after %d starts, the neighbour's %q counts as absent", opened, k.ID)
			}
		}
		if err := p.s.Close(); err != nil {
			t.Fatal(err)
		}
		if p.s, err = Open(config); err != nil {
			t.Fatal(err)
		}
		found(true)
	}
	if err := p.s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Once the ids are collected, a new id costs no read, and one that is not remembered is looked up as before.
func TestSeenAnswersForNewIDs(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	p := newPipeline(t, s)
	for range 3000 {
		p.publish()
	}
	p.flush()
	s.seen = newSeen(false) // the store's own may not be whole yet
	s.collect(s.seen)
	p.publish()
	p.flush()
	before := s.keysRead.Load()
	const ids = 2000
	for i := range ids {
		rows, err := s.Get("w", []projections.Key{projections.EventKey("in", eventlog.MessageID(fmt.Sprint("new-", i))),
			projections.InputKey(eventlog.InputID(fmt.Sprint("new-", i)))})
		if err != nil || len(rows) > 0 {
			t.Fatalf("a new id has %d rows, %v", len(rows), err)
		}
	}
	if read := s.keysRead.Load() - before; read > 2*ids/20 {
		t.Errorf("%d of %d new ids were looked up, want at most %d", read, 2*ids, 2*ids/20)
	}
	before = s.keysRead.Load()
	if _, err := s.Get("w", []projections.Key{projections.RunKey("R"), projections.HandlerKey("h")}); err != nil {
		t.Fatal(err)
	}
	if read := s.keysRead.Load() - before; read != 2 {
		t.Errorf("%d of 2 other keys were looked up", read)
	}
}

// Nothing counts as absent before all ids of a store are there, and with too many of them.
func TestSeenKnowsNothingUntilItIsWhole(t *testing.T) {
	t.Parallel()
	s := newSeen(false)
	key := func(i int) []byte { return fmt.Append(nil, "key", i) }
	s.add(key(1))
	room := s.room
	if s.add(key(1)); s.room != room {
		t.Error("an id that is added again takes room")
	}
	if s.absent(key(2)) {
		t.Error("an id counts as absent before the others are collected")
	}
	s.complete()
	if s.absent(key(1)) || !s.absent(key(2)) {
		t.Error("the ids are collected: one counts as absent that was added, or another does not")
	}
	for i := range 3*firstLayer - 1 {
		s.add(key(i))
	}
	if len(s.layers) != 2 {
		t.Errorf("%d ids take %d layers, want 2", 3*firstLayer, len(s.layers))
	}
	for i := range 3*firstLayer - 1 {
		if s.absent(key(i)) {
			t.Fatalf("key %d counts as absent", i)
		}
	}
	for len(s.layers) < maxLayers {
		s.layers = append(s.layers, s.layers[0])
	}
	s.room = 1
	if !s.add(key(-1)) || s.add(key(-2)) {
		t.Error("the last id that has room is not added, or one more is")
	}
	s.complete()
	if s.absent(key(-3)) || s.layers != nil || s.add(key(-4)) {
		t.Error("with too many ids, one counts as absent, or memory is kept")
	}
}

// Reads, commits, a reset and the end of the store do not disturb the collection, nor it them: nothing waits for ever,
// and the race detector finds nothing. Reset and Close end it.
func TestSeenWhileTheStoreIsUsed(t *testing.T) {
	t.Parallel()
	s, err := Open(Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t, s)
	for range collectedAtOnce {
		p.publish()
	}
	p.flush()
	keys := keysOf(p)
	var collecting, reading sync.WaitGroup
	for range 2 {
		collecting.Go(func() { s.collect(newSeen(false)) })
		reading.Go(func() {
			for range 200 {
				if rows, err := s.Get("w", keys[:4]); err != nil || len(rows) != 4 {
					t.Errorf("%d of 4 rows, %v", len(rows), err)
				}
			}
		})
	}
	for range 20 {
		p.publish()
		p.flush()
	}
	reading.Wait()
	first := s.seen
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	if rows, err := s.Get("w", keys); err != nil || len(rows) > 0 {
		t.Errorf("after a reset there are %d rows, %v", len(rows), err)
	}
	second := s.seen
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-second.ended
	collecting.Wait()
}
