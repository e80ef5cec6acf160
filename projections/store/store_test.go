package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// grow makes a workflow of n random transitions.
func grow(t testing.TB, log *foldtest.Log, name eventlog.WorkflowName, n int) *foldtest.History {
	t.Helper()
	h := foldtest.NewHistory(log, name)
	for range n {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// whole is the batch that brings an empty store to the workflow's state.
func whole(h *foldtest.History) Batch {
	head := h.State.Head
	return Batch{
		Checkpoint: Checkpoint{Seq: head.Seq, Transition: "T1", Hash: head.Hash, Identity: "log-1"},
		Changes:    []Change{{State: h.State, Touched: h.State.Keys()}},
	}
}

func commit(t testing.TB, s *Store, b Batch) {
	t.Helper()
	if err := s.Commit(b); err != nil {
		t.Fatal(err)
	}
}

func TestCommitAndReadBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h := grow(t, foldtest.NewLog(1), "orders", 80)
	b := whole(h)
	b.Partition = 3
	commit(t, s, b)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
	if err := s.Commit(b); !errors.Is(err, ErrClosed) {
		t.Fatalf("commit after close: %v, want ErrClosed", err)
	}

	s = open(t, Config{Dir: dir})
	if w := s.Warnings(); len(w) > 0 {
		t.Fatalf("unexpected warnings %q", w)
	}
	got, found, err := s.Checkpoint(3)
	if err != nil || !found || got != b.Checkpoint {
		t.Fatalf("checkpoint %+v %v %v, want %+v", got, found, err, b.Checkpoint)
	}
	if _, found, err := s.Checkpoint(0); err != nil || found {
		t.Fatalf("partition 0 has a checkpoint (%v, %v)", found, err)
	}
	names, err := s.Workflows(3)
	if err != nil || !slices.Equal(names, []eventlog.WorkflowName{"orders"}) {
		t.Fatalf("workflows of partition 3: %v, %v", names, err)
	}
	if names, err := s.Workflows(0); err != nil || len(names) > 0 {
		t.Fatalf("workflows of partition 0: %v, %v", names, err)
	}
	state, err := s.Load("orders")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range h.State.Keys() {
		e, ok := h.State.Entity(k).(*projections.TopicEvent)
		paged := ok && e.Status == eventlog.EventStatusPending
		if inMemory := state.Entity(k) != nil; inMemory != (h.State.Live(k) && !paged) {
			t.Errorf("%c %q: in memory %v, live %v", k.Kind, k.ID, inMemory, h.State.Live(k))
		}
	}
	if got, want := foldtest.Order(state), foldtest.Order(h.State); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("pending events were loaded in the order %q, want %q", got, want)
	}
	if state.Head != h.State.Head {
		t.Errorf("loaded head %+v, want %+v", state.Head, h.State.Head)
	}
	if unknown, err := s.Load("order"); err != nil || unknown.Exists() {
		t.Errorf("a name that is a prefix of another loads %+v, %v", unknown.Workflow, err)
	}
}

func TestGetLeavesAbsentOut(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	h := grow(t, foldtest.NewLog(2), "w", 80)
	commit(t, s, whole(h))
	keys := h.State.Keys()
	asked := []projections.Key{projections.EventKey("in", "never"), projections.RunKey("R")}
	for _, k := range keys {
		asked = append(asked, k, projections.Key{Kind: k.Kind, ID: k.ID + "x"})
	}
	rows, err := s.Get("w", asked)
	if err != nil {
		t.Fatal(err)
	}
	// The workflow itself has no name in its key, so both of its questions are answered.
	if want := len(keys) + 1; len(rows) != want {
		t.Errorf("got %d entities, want %d", len(rows), want)
	}
	rows, err = s.Get("v", keys)
	if err != nil || len(rows) > 0 {
		t.Errorf("another workflow has %d rows, %v", len(rows), err)
	}
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	log := foldtest.NewLog(4)
	h := grow(t, log, "w", 30)
	old := whole(h)
	for range 10 {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, s, whole(h))
	missing := whole(h)
	missing.Checkpoint.Seq++
	missing.Changes[0].Touched = []projections.Key{projections.RunKey("gone")}
	for name, b := range map[string]Batch{
		"an older state":                         old,
		"a state of nothing":                     {Changes: []Change{{State: new(projections.State)}}},
		"a touched entity that is not in memory": missing,
	} {
		err := s.Commit(b)
		if err == nil {
			t.Errorf("%s was committed", name)
		}
		if errors.Is(err, ErrDamaged) {
			t.Errorf("%s is the caller's fault, not damage: %v", name, err)
		}
	}
	if err := s.Commit(missing); err == nil || !strings.Contains(err.Error(), `run "gone"`) ||
		!strings.Contains(err.Error(), "workflow w") {
		t.Errorf("error names neither entity nor workflow: %v", err)
	}
	got, _, err := s.Checkpoint(0)
	if err != nil || got.Seq != h.State.Head.Seq {
		t.Errorf("a refused batch moved the checkpoint to %d (%v)", got.Seq, err)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{InMemory: true}, {Dir: filepath.Join(t.TempDir(), "s")}} {
		s := open(t, cfg)
		h := grow(t, foldtest.NewLog(5), "w", 30)
		commit(t, s, whole(h))
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.Checkpoint(0); err != nil || found {
			t.Errorf("checkpoint survived: %v, %v", found, err)
		}
		if state, err := s.Load("w"); err != nil || state.Exists() {
			t.Errorf("workflow survived: %v", err)
		}
		commit(t, s, whole(h)) // as new, with all its index entries
		if state, err := s.Load("w"); err != nil || state.Head != h.State.Head {
			t.Errorf("after a reset: head %+v, %v", state.Head, err)
		}
	}
}

func TestOpenOfALockedStoreMovesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, Config{Dir: dir})
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v, want ErrLocked", err)
	}
	if _, err := os.Stat(dir + asideExt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store in use was moved: %v", err)
	}
	commit(t, s, whole(grow(t, foldtest.NewLog(8), "w", 5)))
}

func TestOpenRefusesAnUnclearConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{}, {Dir: "x", InMemory: true}} {
		if _, err := Open(cfg); err == nil {
			t.Errorf("%+v was opened", cfg)
		}
	}
}

// TestLoadReadsLiveRowsOnly: three pending events behind ten thousand consumed ones cost three
// keys, and none of their rows.
func TestLoadReadsLiveRowsOnly(t *testing.T) {
	t.Parallel()
	read := func(consumed int) int64 {
		s := open(t, Config{InMemory: true})
		p := newPipeline(t, s)
		for range 3 {
			p.publish()
		}
		for range consumed / 100 {
			var refs []eventlog.EventRef
			for range 100 {
				refs = append(refs, p.publish())
			}
			p.flush() // all of them live
			p.consume(refs)
			p.flush()
		}
		before := s.keysRead.Load()
		state, err := s.Load("w")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for q := range state.Queue("in") {
			if e := state.PendingAt("in", q.Created); e != nil {
				t.Errorf("event %s was loaded with its payload", e.MessageID)
			}
			n++
		}
		if n != 3 {
			t.Fatalf("%d events are pending, want 3", n)
		}
		return s.keysRead.Load() - before
	}
	few, many := read(100), read(10_000)
	t.Logf("keys read by Load: %d after 100 consumed events, %d after 10,000", few, many)
	if few != many || many > 40 {
		t.Errorf("Load reads %d keys after 100 events and %d after 10,000; want the same, at most 40", few, many)
	}
}

func TestListAcrossPartitionsGoesByTimeAndMissesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	var histories []*foldtest.History
	for p := range 3 {
		log := foldtest.NewLog(uint64(20 + p))
		log.Partition = p
		for i := range 2 {
			h := foldtest.NewHistory(log, eventlog.WorkflowName(fmt.Sprintf("w%d%d", p, i)))
			for range 40 {
				if _, err := h.Step(); err != nil {
					t.Fatal(err)
				}
			}
			b := whole(h)
			b.Partition = p
			commit(t, s, b)
			histories = append(histories, h)
		}
	}
	want := 0
	for _, h := range histories {
		for range h.State.Events() {
			want++
		}
	}
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	list := func(desc bool) (names []string) {
		at := Position{}
		for { // pages of 7
			n := 0
			for item, err := range snap.List(Range{Kind: projections.KindEvent, Desc: desc}, at) {
				if err != nil {
					t.Fatal(err)
				}
				e := item.Entity.(*projections.TopicEvent)
				names = append(names, fmt.Sprintf("%s %s %s", e.CreatedAt, item.Workflow, e.MessageID))
				if n++; n == 7 {
					break
				}
			}
			if n < 7 {
				return names
			}
		}
	}
	asc, desc := list(false), list(true)
	if len(asc) != want {
		t.Fatalf("listed %d events, want %d", len(asc), want)
	}
	slices.Reverse(desc)
	if !slices.Equal(asc, desc) {
		t.Error("the list backwards is not the list forwards reversed")
	}
}
