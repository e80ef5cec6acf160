package projections_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
	"github.com/pawl-run/pawl/projections/store"
)

// dump copies everything the state holds, deep enough that later writes through a shared pointer
// would show.
func dump(t *testing.T, s *projections.State) map[projections.Key]string {
	t.Helper()
	d := map[projections.Key]string{}
	for _, k := range s.Keys() {
		d[k] = fmt.Sprintf("%+v", render(s.Entity(k)))
	}
	return d
}

// resident is a fold as an engine keeps it: only live work in memory, and of pending events a window;
// the rest in a store.
type resident struct {
	t        *testing.T
	store    *store.Store
	state    *projections.State
	window   projections.Window
	paged    int                      // pending events found paged out
	dirty    map[projections.Key]bool // touched since the last commit
	borrowed map[projections.Key]bool // hydrated since the last commit
	asked    int                      // rows that folds asked for
}

func newResident(t *testing.T, window projections.Window) *resident {
	s, err := store.Open(store.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &resident{t: t, store: s, state: new(projections.State), window: window, dirty: map[projections.Key]bool{},
		borrowed: map[projections.Key]bool{}}
}

func (r *resident) apply(rec eventlog.Record) {
	r.t.Helper()
	if rec.Revision <= r.state.Head.Revision {
		return // its rows were ahead of the checkpoint
	}
	next, err := projections.Replay(r.state, &rec, func(keys []projections.Key) ([]any, error) {
		rows, err := r.store.Get(rec.Workflow, keys)
		exists := map[projections.Key]bool{}
		for _, row := range rows {
			k, _ := projections.KeyOf(row)
			r.borrowed[k], exists[k] = true, true
		}
		for _, k := range keys {
			if projections.NewEntity(k.Kind) != nil && !exists[k] && !slices.ContainsFunc(rec.Facts, mayBeOfNoPast) {
				r.t.Errorf("revision %d asks for %c %q, which does not exist: it is new, or not needed", rec.Revision,
					k.Kind, k.ID)
			}
		}
		r.asked += len(exists)
		return rows, err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.state = next
	for _, k := range next.Touched {
		r.dirty[k] = true
	}
	for _, k := range next.Parked {
		r.borrowed[k] = true
	}
}

// mayBeOfNoPast reports whether the fact may be about what the fold does not know.
func mayBeOfNoPast(f eventlog.Fact) bool {
	switch f.(type) {
	case *eventlog.EventGivenUp, *eventlog.MutationGivenUp:
		return true
	}
	return false
}

func (r *resident) commit(rec eventlog.Record) {
	r.t.Helper()
	err := r.store.Commit(store.Batch{
		Partition:  rec.Position.Partition,
		Checkpoint: store.Checkpoint{Seq: rec.Position.Seq, Transition: rec.ID, Hash: rec.Hash, Identity: "test"},
		Changes:    []store.Change{{State: r.state, Touched: slices.Collect(maps.Keys(r.dirty))}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	maps.Copy(r.borrowed, r.dirty)
	r.state = r.state.Evict(slices.Collect(maps.Keys(r.borrowed)))
	clear(r.dirty)
	clear(r.borrowed)
	for _, k := range r.state.Keys() {
		if !r.state.Live(k) {
			r.t.Fatalf("%c %q stays in memory and is not live", k.Kind, k.ID)
		}
	}
}

// page lets go of pending events beyond the window, but for some that are said to have no row yet.
func (r *resident) page(chance *rand.Rand) {
	r.state = r.state.PageOut(r.window, func(k projections.Key) bool { return !r.dirty[k] && chance.IntN(5) > 0 })
}

// pending reads a paged out event by its place; nil when it is not paged out.
func (r *resident) pending(full *projections.State, k projections.Key) any {
	r.t.Helper()
	e := full.Entity(k).(*projections.TopicEvent)
	for q := range r.state.Queue(e.Topic) {
		if q.Created != e.Created || r.state.PendingAt(e.Topic, q.Created) != nil {
			continue
		}
		queue, err := r.store.Queue(full.Name, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		defer func() {
			if err := queue.Close(); err != nil {
				r.t.Error(err)
			}
		}()
		found, err := queue.Event(q.Created)
		if err != nil {
			r.t.Fatal(err)
		}
		r.paged++
		return found
	}
	return nil
}

// same checks that memory and store together hold what the full fold does, and memory all that
// is live, of pending events at least the order.
func (r *resident) same(full *projections.State) {
	r.t.Helper()
	if diff := cmp.Diff(foldtest.Order(full), foldtest.Order(r.state)); diff != "" {
		r.t.Fatalf("revision %d: pending events wait in another order (-full +resident):\n%s", full.Head.Revision, diff)
	}
	if diff := cmp.Diff(foldtest.Lanes(full, moments...), foldtest.Lanes(r.state, moments...)); diff != "" {
		r.t.Fatalf("revision %d: other events may begin, or runs stand elsewhere (-full +resident):\n%s", full.Head.Revision,
			diff)
	}
	for _, k := range full.Keys() {
		got := r.state.Entity(k)
		if got == nil && full.Live(k) && k.Kind == projections.KindEvent {
			got = r.pending(full, k)
		}
		if got == nil {
			if full.Live(k) {
				r.t.Fatalf("revision %d: live %c %q is not in memory", full.Head.Revision, k.Kind, k.ID)
			}
			rows, err := r.store.Get(full.Name, []projections.Key{k})
			if err != nil {
				r.t.Fatal(err)
			}
			if len(rows) != 1 {
				r.t.Fatalf("revision %d: %c %q is neither in memory nor in the store", full.Head.Revision, k.Kind, k.ID)
			}
			got = rows[0]
		}
		want := full.Entity(k)
		if reflect.DeepEqual(want, got) {
			continue // the common case, without the cost of a diff
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			r.t.Fatalf("revision %d: %c %q differs (-full +resident):\n%s", full.Head.Revision, k.Kind, k.ID, diff)
		}
	}
}

// few is how many of the random histories of a test are lived: with -short a quarter, too few to have had everything.
func few(all uint64) uint64 {
	if testing.Short() {
		return all / 4
	}
	return all
}

// moments are some at which the lanes of histories are looked at.
var moments = []eventlog.Instant{eventlog.At(time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)),
	eventlog.At(time.Date(2026, 1, 1, 0, 4, 0, 0, time.UTC)), eventlog.At(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))}

// TestSnapshotAndTailEqualFullFold folds random histories twice: all in memory, and with commits,
// evictions, pending events paged out, and restarts from the store at random moments. Both must agree
// after each transition. Half of the histories have a concurrent consumer.
func TestSnapshotAndTailEqualFullFold(t *testing.T) {
	t.Parallel()
	seen, parked, paged := map[eventlog.FactType]int{}, 0, 0
	windows := []projections.Window{{Events: 1 << 20, Bytes: 1 << 20}, {}, {Events: 2, Bytes: 1 << 20},
		{Events: 1 << 20, Bytes: 100}}
	for seed := range few(32) {
		log := foldtest.NewLog(seed)
		h := foldtest.NewHistory(log, "w")
		if seed/4%2 == 1 { // four windows with each kind
			h = foldtest.NewConcurrentHistory(log, "w")
		}
		r := newResident(t, windows[seed%4])
		chance := rand.New(rand.NewPCG(seed, 1))
		checkpoint := 0 // records covered by it
		for range 120 {
			before := h.State
			rec, err := h.Step()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, f := range rec.Facts {
				seen[f.FactType()]++
			}
			r.apply(rec)
			parked += len(h.State.Parked)
			for _, k := range h.State.Keys() {
				if before.Live(k) != h.State.Live(k) && !slices.Contains(h.State.Touched, k) && !moved(before, h.State, k) {
					t.Fatalf("seed %d: revision %d: %c %q changed its residence and was not touched", seed, rec.Revision, k.Kind, k.ID)
				}
			}
			switch n := chance.IntN(10); {
			case n < 3:
				r.commit(rec)
				checkpoint = len(log.Records)
			case n == 3: // a restart: the tail after the checkpoint is folded again
				state, err := r.store.Load("w")
				if err != nil {
					t.Fatal(err)
				}
				r.state = state
				for _, k := range state.Keys() {
					if !state.Live(k) {
						t.Fatalf("seed %d: %c %q was loaded and is not live", seed, k.Kind, k.ID)
					}
				}
				clear(r.dirty)
				clear(r.borrowed)
				from := checkpoint
				if from > 0 {
					from -= chance.IntN(2) // rows may be ahead of the checkpoint
				}
				for _, rec := range log.Records[from:] {
					r.apply(rec)
				}
			}
			if chance.IntN(3) == 0 {
				r.page(chance)
			}
			r.same(h.State)
		}
		paged += r.paged
	}
	if paged < 1000 {
		t.Errorf("%d times a pending event was found paged out, which says little", paged)
	}
	if parked == 0 {
		t.Error("no history had a pending event that lost its subscriber")
	}
	// The generator must reach every fact that changes more than a flag, or the test says little.
	for _, ft := range eventlog.FactTypes() {
		if testing.Short() {
			break
		}
		if seen[ft] == 0 && ft != "workflow.archived" && ft != "workflow.loss_accepted" && !eventlog.OfInstallation(ft) {
			t.Errorf("no history had a %s", ft)
		}
	}
}

// TestFoldAsksForWhatItMisses lets all that may leave memory leave it after almost every record. The fold of the next
// one has to ask for all that it looks at, and for nothing that its facts make.
func TestFoldAsksForWhatItMisses(t *testing.T) {
	t.Parallel()
	asked := 0
	for seed := range few(24) {
		log := foldtest.NewLog(1000 + seed)
		h := foldtest.NewHistory(log, "w")
		if seed%2 == 1 {
			h = foldtest.NewConcurrentHistory(log, "w")
		}
		r := newResident(t, projections.Window{})
		chance := rand.New(rand.NewPCG(seed, 2))
		for range 150 {
			rec, err := h.Step()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			r.apply(rec)
			if chance.IntN(8) > 0 {
				r.commit(rec)
				r.state = r.state.PageOut(r.window, func(projections.Key) bool { return true })
			}
			r.same(h.State)
		}
		asked += r.asked
	}
	if asked < int(few(1000)) {
		t.Errorf("folds asked for %d rows, which says little", asked)
	}
}

// moved reports whether the key names a pending event whose topic has lost its consumer, and the
// state says so, or has won one.
func moved(before, after *projections.State, k projections.Key) bool {
	if k.Kind != projections.KindEvent {
		return false
	}
	return slices.Contains(after.Parked, k) || before.Version != after.Version && after.Subscribed(k.Event().Topic)
}

// TestOldStatesStay keeps every state of a history and finds each unchanged at the end.
func TestOldStatesStay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		h := foldtest.NewHistory(foldtest.NewLog(seed), "w")
		var states []*projections.State
		var dumps []map[projections.Key]string
		for range 120 {
			if _, err := h.Step(); err != nil {
				t.Fatal(err)
			}
			states = append(states, h.State)
			dumps = append(dumps, dump(t, h.State))
		}
		for i := range states {
			if diff := cmp.Diff(dumps[i], dump(t, states[i])); diff != "" {
				t.Fatalf("seed %d: state after revision %d changed later:\n%s", seed, i+1, diff)
			}
		}
	}
}

// TestStatesAreReadWhileFoldingGoesOn is for the race detector: an old state is read while newer
// ones are made from it.
func TestStatesAreReadWhileFoldingGoesOn(t *testing.T) {
	t.Parallel()
	h := foldtest.NewHistory(foldtest.NewLog(3), "w")
	for range 60 {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
	}
	old := h.State
	want := len(old.Keys())
	read := make(chan int)
	go func() {
		defer close(read)
		for range 50 {
			read <- len(old.Keys())
		}
	}()
	for got := range read {
		if got != want {
			t.Fatalf("an old state holds %d entities, want %d", got, want)
		}
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHydrateNeverGoesBack: what is in memory is never older than what the store gives.
func TestHydrateNeverGoesBack(t *testing.T) {
	t.Parallel()
	h := foldtest.NewHistory(foldtest.NewLog(5), "w")
	var states []*projections.State
	for range 60 {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
		states = append(states, h.State)
	}
	want := dump(t, h.State)
	for _, old := range states {
		var entities []any
		for _, k := range old.Keys() {
			entities = append(entities, old.Entity(k))
		}
		now := h.State.Hydrate(entities...)
		if diff := cmp.Diff(want, dump(t, now)); diff != "" {
			t.Fatalf("rows of revision %d overwrote memory:\n%s", old.Head.Revision, diff)
		}
	}
}

// TestMissesWhatBecomesLive: a retry owed to a run of the past brings back the run, and then its mutation and its
// script.
func TestMissesWhatBecomesLive(t *testing.T) {
	t.Parallel()
	p := deployed(t).published("a").reserving("R", "a").then(&eventlog.MutationStarted{Mutation: "R", Run: "R"}).
		then(&eventlog.MutationApplied{Mutation: "R", Run: "R"}, failed("R")).
		then(&eventlog.WorkflowDeployed{Version: "2.0"})
	full := p.State
	s := full.Evict(full.Keys())
	owed := next(s, &eventlog.RetryOwed{Run: "R"})
	for _, want := range [][]projections.Key{{projections.RunKey("R")},
		{projections.MutationKey("R"), projections.ScriptKey("1.0")}} {
		_, err := projections.Apply(s, owed)
		var missing *projections.Missing
		if !errors.As(err, &missing) || !slices.Equal(missing.Keys, want) {
			t.Fatalf("folded with %v, want it to miss %v", err, want)
		}
		var rows []any
		for _, k := range want {
			rows = append(rows, full.Entity(k))
		}
		s = s.HydrateAll(missing.Keys, rows)
	}
	if _, err := projections.Apply(s, owed); err != nil {
		t.Errorf("with all of it: %v", err)
	}
}

// What has left memory is asked for again, also where it was read before and no record has come since, and where all of
// the past was in memory until then: taken for absent, it would happen twice (R11).
func TestMissesWhatHasLeftMemory(t *testing.T) {
	t.Parallel()
	everything := func(projections.Key) bool { return true }
	event := projections.EventKey("in", "a")
	for name, c := range map[string]struct {
		leave func(s *projections.State) *projections.State
		fact  eventlog.Fact
		want  projections.Key
	}{
		"paged out of a whole state": {func(s *projections.State) *projections.State {
			return s.PageOut(projections.Window{}, everything)
		}, &eventlog.EventTraced{Topic: "in", MessageID: "a"}, event},
		"read and paged out": {func(s *projections.State) *projections.State {
			s = s.PageOut(projections.Window{}, everything).HydrateAll([]projections.Key{event}, []any{s.Entity(event)})
			return s.PageOut(projections.Window{}, everything)
		}, &eventlog.EventTraced{Topic: "in", MessageID: "a"}, event},
		"read and evicted": {func(s *projections.State) *projections.State {
			run := projections.RunKey("R")
			s = s.Evict(s.Keys()).HydrateAll([]projections.Key{run}, []any{s.Entity(run)})
			return s.Evict(s.Keys())
		}, &eventlog.RetryOwed{Run: "R"}, projections.RunKey("R")},
		"found to be absent, then published, and paged out": {func(s *projections.State) *projections.State {
			s = s.Evict(nil).HydrateAll([]projections.Key{projections.EventKey("in", "z")}, nil)
			s, err := projections.Apply(s, next(s, &eventlog.InputRegistered{Input: "in-z"},
				&eventlog.EventPublished{Topic: "in", MessageID: "z", CausedBy: []eventlog.InputID{"in-z"}}))
			if err != nil {
				t.Error(err)
			}
			return s.PageOut(projections.Window{}, everything)
		}, &eventlog.EventTraced{Topic: "in", MessageID: "z"}, projections.EventKey("in", "z")},
		"a queue that was read before an event of it was evicted": {func(s *projections.State) *projections.State {
			return s.Evict(nil).HydrateAll([]projections.Key{projections.PendingKey("late")}, nil).Evict(s.Keys())
		}, &eventlog.WorkflowDeployed{Version: "2.0", Definition: eventlog.Definition{
			Consumers: []eventlog.Consumer{{Name: "c", Subscribe: []eventlog.Topic{"late"}}}}}, projections.PendingKey("late")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := deployed(t).published("b").reserving("R", "b").then(&eventlog.MutationStarted{Mutation: "R", Run: "R"}).
				then(&eventlog.MutationApplied{Mutation: "R", Run: "R"}, failed("R")).published("a")
			s := c.leave(p.State)
			_, err := projections.Apply(s, next(s, c.fact))
			var missing *projections.Missing
			if !errors.As(err, &missing) || !slices.Contains(missing.Keys, c.want) {
				t.Errorf("folded with %v, want it to miss %v", err, c.want)
			}
		})
	}
}

// next is the record that follows the state with these facts.
func next(s *projections.State, facts ...eventlog.Fact) *eventlog.Record {
	return &eventlog.Record{Position: eventlog.Position{Seq: s.Head.Seq + 1}, Transition: eventlog.Transition{
		Workflow: s.Name, Revision: s.Head.Revision + 1, Prev: s.Head.Hash, Facts: facts}}
}
