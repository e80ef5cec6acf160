package decide_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// fataler is what a test, a benchmark and a property have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// bench holds one workflow as an engine does: live work in memory, everything else in a store.
// After each transition all that is finished is evicted, so that a decision has to ask for all of the history
// that it looks at.
type bench struct {
	t        fataler
	state    *projections.State
	store    map[projections.Key]any
	now      eventlog.Instant
	engine   string
	policies schedule.Policies
	jitter   float64
	maxHeld  int
	hold     decide.Standstill
	unseen   time.Duration
	open     bool
	asking   *decide.Asking // nil: as when the call was made
	actor    string
	runs     int
	sessions int
	seq      uint64
	last     decide.Decision
	decided  bool               // set by do
	seen     *projections.State // what the last peek saw
	phases   map[eventlog.RunID]eventlog.Phase
	ended    map[eventlog.RunID]bool
	started  map[eventlog.MutationID]bool
	cutAt    *cut
	lost     []eventlog.Record // since the cut
	remains  *decide.Remains
	reported []string // the calls that the last acceptance lists
}

// workflow is the name of the one workflow under test.
const workflow eventlog.WorkflowName = "w"

var epoch = eventlog.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

func newBench(t fataler) *bench {
	return &bench{
		t: t, state: new(projections.State), seen: new(projections.State), store: map[projections.Key]any{}, now: epoch,
		engine: "E1", policies: schedule.Default(), jitter: 0.5,
		maxHeld: 1000,
		actor:   "alice",
		phases:  map[eventlog.RunID]eventlog.Phase{}, ended: map[eventlog.RunID]bool{},
		started: map[eventlog.MutationID]bool{},
	}
}

func (b *bench) next() decide.Todo { return decide.Next(b.state, b.now, b.engine) }

// do decides, folds, stores and evicts. It returns what Decide refused with.
func (b *bench) do(cmd decide.Command) error {
	b.t.Helper()
	b.decided = true
	env := decide.Env{
		Now: b.now, Engine: b.engine, Jitter: b.jitter, Policies: b.policies, MaxHeld: b.maxHeld, Standstill: b.hold,
		Unseen: b.unseen, MayTakeEffect: b.open, Asking: b.askingOf(cmd),
		Run: eventlog.RunID(fmt.Sprintf("R%d", b.runs+1)), Session: eventlog.SessionID(fmt.Sprintf("S%d", b.sessions+1)),
		Actor: eventlog.Actor{Kind: "user", Name: b.actor}, NextDue: map[eventlog.Handler]eventlog.Instant{},
	}
	for n := range 8 {
		env.Runs = append(env.Runs, eventlog.RunID(fmt.Sprintf("R%d", b.runs+n+2)))
	}
	for _, h := range []eventlog.Handler{"p", "q"} {
		env.NextDue[h] = b.now.Add(5 * time.Minute)
	}
	env.NextDue["k"] = b.now.Add(7 * time.Hour)
	s, d, err := b.decide(b.state, env, cmd)
	b.sameOnWhole(d, err, env, cmd)
	var refusal *decide.Refusal
	if err != nil && !errors.As(err, &refusal) && !errors.Is(err, decide.ErrStale) &&
		!errors.Is(err, decide.ErrPrepareAgain) {
		b.t.Fatalf("defect: %v", err)
	}
	b.last = d
	if err != nil || d.Empty() {
		return err
	}
	if d.Kind == "" {
		b.t.Fatalf("%T gives a transition without a kind", cmd)
	}
	b.append(s, d.Transition(workflow, env), d.Folded)
	return nil
}

// askingOf is how the outcome of the call that a Resolve names can be found out now.
func (b *bench) askingOf(cmd decide.Command) decide.Asking {
	if b.asking != nil {
		return *b.asking
	}
	c, _ := cmd.(decide.Resolve)
	m := b.state.Mutation(c.Mutation)
	if m == nil {
		return decide.Asking{}
	}
	return decide.Asking{Present: true, Reconciles: m.Call.Reconciles,
		Resends: time.Duration(m.Call.ResendMS) * time.Millisecond}
}

// decide decides with the history that the decision misses, and returns the state that has it.
func (b *bench) decide(s *projections.State, env decide.Env, cmd decide.Command) (*projections.State, decide.Decision,
	error) {
	b.t.Helper()
	asked := map[projections.Key]bool{}
	for {
		d, err := decide.Decide(s, workflow, env, cmd)
		var missing *projections.Missing
		if !errors.As(err, &missing) {
			return s, d, err
		}
		for _, k := range missing.Keys {
			if asked[k] {
				b.t.Fatalf("%T asks for %c %q twice", cmd, k.Kind, k.ID)
			}
			asked[k] = true
		}
		s = s.HydrateAll(missing.Keys, b.rows(missing.Keys))
	}
}

// sameOnWhole decides on a state that has all of the history: a decision that takes what it has not read for absent
// comes to something else there.
func (b *bench) sameOnWhole(d decide.Decision, err error, env decide.Env, cmd decide.Command) {
	b.t.Helper()
	if _, needsAll := cmd.(decide.AcceptLoss); needsAll {
		return // it goes through what is in memory, which has to be all: it asks for nothing
	}
	_, whole, wholeErr := b.decide(b.state.HydrateAll(nil, slices.Collect(maps.Values(b.store))), env, cmd)
	if fmt.Sprint(err) != fmt.Sprint(wholeErr) || !reflect.DeepEqual(d.Facts, whole.Facts) {
		b.t.Fatalf("%T gives, with all of the history in memory, %v %v, and else %v %v", cmd, kinds(whole), wholeErr,
			kinds(d), err)
	}
}

func kinds(d decide.Decision) (kinds []eventlog.FactType) {
	for _, f := range d.Facts {
		kinds = append(kinds, f.FactType())
	}
	return kinds
}

// rows reads those of the rows that exist.
func (b *bench) rows(keys []projections.Key) (rows []any) {
	for _, k := range keys {
		if row, ok := b.read(k); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// append folds the transition twice: on the state it was decided on, and as a replay does, on what
// was in memory plus what the fold asks for. What the decision has folded agrees with that, at another place as well.
func (b *bench) append(s *projections.State, t eventlog.Transition, folded *projections.Folded) {
	b.t.Helper()
	b.seq += 1 + s.Head.Revision%2
	t.Revision, t.Prev = s.Head.Revision+1, s.Head.Hash
	r := eventlog.Record{Position: eventlog.Position{Seq: b.seq}, Transition: t}
	binary.BigEndian.PutUint64(r.Hash[:], b.seq)
	b.lost = append(b.lost, r)
	next, err := projections.Apply(s, &r)
	if err != nil {
		b.t.Fatalf("fold: %v", err)
	}
	replay, err := projections.Replay(b.state, &r, func(keys []projections.Key) ([]any, error) {
		return b.rows(keys), nil
	})
	if err != nil {
		b.t.Fatalf("replay: %v", err)
	}
	if folded != nil {
		b.sameFolded(next, folded, &r)
	}
	for _, k := range next.Touched {
		if !reflect.DeepEqual(next.Entity(k), replay.Entity(k)) {
			b.t.Fatalf("replay gives another %c %q:\n%+v\n%+v", k.Kind, k.ID, replay.Entity(k), next.Entity(k))
		}
		b.store[k] = next.Entity(k)
	}
	for _, f := range t.Facts {
		switch f := f.(type) {
		case *eventlog.RunStarted:
			b.runs++
		case *eventlog.SessionStarted:
			b.sessions++
		case *eventlog.MutationStarted:
			if b.started[f.Mutation] {
				b.t.Fatalf("mutation %s is started twice", f.Mutation)
			}
			b.started[f.Mutation] = true
		}
	}
	b.state = next.Evict(next.Keys())
	b.check()
}

// sameFolded: the state that the decision has folded is the one after the record.
func (b *bench) sameFolded(next *projections.State, folded *projections.Folded, r *eventlog.Record) {
	b.t.Helper()
	got, ok := folded.Apply(b.state, r)
	if !ok {
		b.t.Fatalf("revision %d is to be folded once more", r.Revision)
	}
	whole := func(s *projections.State) (all []any) {
		for _, k := range s.Keys() {
			all = append(all, k, s.Entity(k))
		}
		return append(all, s.Touched, s.Parked, foldtest.Order(s), foldtest.Lanes(s, b.now, b.now.Add(time.Hour)))
	}
	if want, got := whole(next), whole(got); !reflect.DeepEqual(want, got) {
		b.t.Fatalf("a decision has folded another state:\n%s", cmp.Diff(want, got))
	}
}

var reasons = []decide.Reason{
	decide.ReasonIdle, decide.ReasonScheduled, decide.ReasonWake, decide.ReasonBackoff, decide.ReasonUserPause,
	decide.ReasonRestored,
	decide.ReasonApproval,
	decide.ReasonReconcile, decide.ReasonIndeterminate, decide.ReasonMaintenance, decide.ReasonBlocked,
	decide.ReasonStorage, decide.ReasonArchived,
}

// check asserts what holds in every state.
func (b *bench) check() {
	b.t.Helper()
	s := b.state
	if orphans := decide.Orphans(s); len(orphans) > 0 {
		b.t.Fatalf("orphaned reservations (Startup): %v", orphans)
	}
	for k, row := range b.store {
		if run, ok := row.(*projections.Run); ok && k.Kind == projections.KindRun {
			b.checkRun(run)
		}
	}
	b.checkConcurrent()
	todo := b.next()
	switch todo := todo.(type) {
	case decide.StartRun:
		if b.hold == decide.NoStandstill {
			b.t.Fatalf("the transition owes the start of %+v and does not list it", todo)
		}
	case decide.Wait:
		if !slices.Contains(reasons, todo.Reason) {
			b.t.Fatalf("wait for %q, which is not in the closed list", todo.Reason)
		}
		if todo.Until != 0 && todo.Until <= b.now {
			b.t.Fatalf("wait until %s, which is past", todo.Until)
		}
	case nil:
		b.t.Fatalf("Next has no answer")
	}
	current := s.CurrentRun()
	if b.hold == decide.NoStandstill && (s.Session != "") != (current != nil) {
		b.t.Fatalf("session %q is open while the current run is %q (S7)", s.Session, s.Current)
	}
	if current != nil && s.PendingRetry != "" {
		b.t.Fatalf("run %s is current while run %s owes a retry", s.Current, s.PendingRetry)
	}
	if retry := s.RetryRun(); retry != nil && retry.Mutation != "" {
		m := s.Mutation(retry.Mutation)
		if m == nil || m.Status.Unresolved() && s.Blocked == nil {
			b.t.Fatalf("mutation %s of pending retry %s is %+v and the workflow is not blocked (F7)", retry.Mutation, retry.ID,
				m)
		}
	}
	if current != nil && current.Status == eventlog.RunStatusPausedApproval && s.Blocked == nil {
		b.t.Fatalf("run %s awaits approval and the workflow is not blocked (O5)", current.ID)
	}
}

// checkRun is R1, R2 and R15 over time.
func (b *bench) checkRun(run *projections.Run) {
	b.t.Helper()
	if was, ok := b.phases[run.ID]; ok && was.After(run.Phase) {
		b.t.Fatalf("run %s goes back from %s to %s (R1)", run.ID, was, run.Phase)
	}
	b.phases[run.ID] = run.Phase
	if (run.Phase == eventlog.PhaseCommitted) != (run.Status == eventlog.RunStatusCommitted) {
		b.t.Fatalf("run %s is %s in %s (R2)", run.ID, run.Status, run.Phase)
	}
	over := run.ID != b.state.Current && !(b.state.Open(run.ID) && !run.Owes)
	if over != (run.EndedAt != 0) {
		b.t.Fatalf("run %s: over is %v, endedAt %s (R15)", run.ID, over, run.EndedAt)
	}
	if b.ended[run.ID] && !over {
		b.t.Fatalf("run %s had ended and is current again (R15)", run.ID)
	}
	b.ended[run.ID] = over
}

// read gives a row of the store, a pending event also by its place, and the queue of a topic.
func (b *bench) read(k projections.Key) (any, bool) {
	switch k.Kind {
	case projections.KindPlace:
		topic, at := k.Place()
		for _, e := range b.waiting(topic) {
			if e.Created == at {
				return e, true
			}
		}
		return nil, false
	case projections.KindPending, projections.KindKeyed:
		backlog := &projections.Backlog{Topic: eventlog.Topic(k.ID)}
		if k.Kind == projections.KindKeyed {
			backlog.Topic, backlog.Consumer, backlog.Path = k.Keyed()
		}
		for _, e := range b.waiting(backlog.Topic) {
			backlog.Queued = append(backlog.Queued, e.QueuedWith(backlog.Consumer, backlog.Path))
			if e.ScheduledAt != 0 {
				backlog.Scheduled = append(backlog.Scheduled, projections.ScheduledEvent{Topic: e.Topic,
					MessageID: e.MessageID, ScheduledAt: e.ScheduledAt})
			}
		}
		return backlog, true
	}
	row, ok := b.store[k]
	return row, ok
}

// waiting lists the topic's pending events in the store, the oldest first.
func (b *bench) waiting(topic eventlog.Topic) (waiting []*projections.TopicEvent) {
	for _, row := range b.store {
		if e, ok := row.(*projections.TopicEvent); ok && e.Topic == topic && e.Status == eventlog.EventStatusPending {
			waiting = append(waiting, e)
		}
	}
	slices.SortFunc(waiting, func(a, b *projections.TopicEvent) int {
		if a.Created.Before(b.Created) {
			return -1
		}
		return 1
	})
	return waiting
}

// row returns an entity from memory or from the store.
func (b *bench) row(k projections.Key) any {
	if e := b.state.Entity(k); e != nil {
		return e
	}
	return b.store[k]
}

func (b *bench) run(id eventlog.RunID) *projections.Run {
	r, _ := b.row(projections.RunKey(id)).(*projections.Run)
	return r
}

func (b *bench) event(topic eventlog.Topic, id eventlog.MessageID) *projections.TopicEvent {
	e, _ := b.row(projections.EventKey(topic, id)).(*projections.TopicEvent)
	return e
}

func (b *bench) mutation(id eventlog.MutationID) *projections.Mutation {
	m, _ := b.row(projections.MutationKey(id)).(*projections.Mutation)
	return m
}
