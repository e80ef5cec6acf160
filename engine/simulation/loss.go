package simulation

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// acceptLoss ends every process and lets a person accept that a part of the log is lost: a record somewhere in a
// workflow's past that cannot be read any more, or an end that nothing proves to be whole. What stands after such
// a record counts no more.
func (s *sim) acceptLoss() {
	for _, n := range s.nodes {
		if !n.over() {
			s.kill(n)
		}
	}
	s.pausedUntil = s.bubbleNow() // those that paused are gone
	s.say("every engine dies")
	s.did("loss accepted")
	lost := loss.Loss{
		Actor: byOperator, At: eventlog.At(s.clock.Now()), Cause: eventlog.Cause{Kind: "command", ID: "accept"},
		Detail: "damaged",
		Report: func(calls []loss.GivenUp) error {
			for _, call := range calls {
				s.judge.reported[call.Mutation] = true
			}
			return nil
		},
	}
	w := pick(s, s.workflows...)
	b := s.judge.book(w.name)
	concerned := map[eventlog.WorkflowName]bool{w.name: true}
	switch spoilt := len(b.seqs) - 1 - s.rng.IntN(12); {
	case spoilt < 1 || s.chance(0.3):
		lost.End = true
		s.did("end lost")
		for _, other := range s.workflows {
			concerned[other.name] = true
		}
	default:
		if s.chance(0.5) {
			concerned = s.lose(b, spoilt)
		} else {
			s.spoil(b, spoilt)
		}
		if st := s.heir(); st != nil {
			s.inherited[st] = false
			if s.chance(0.7) {
				lost.Store = st
			}
		}
	}
	if _, err := loss.Record(context.Background(), s.keeper(), lost); err != nil {
		s.violate("the loss cannot be accepted: %v", err)
	}
	s.say("the loss is accepted (end: %v, store: %v)", lost.End, lost.Store != nil)
	for _, w := range s.workflows {
		if book := s.judge.book(w.name); len(book.past) > 0 && (concerned[w.name] || s.goesOn(book)) {
			book.cutBack(s.memory.Asides(s.memory.PartitionOf(book.name)))
			defer s.judge.remembers(book)
		}
	}
	s.judge.look()
	if s.watching { // those that are dead would still write their stores when time passes
		for _, st := range s.stores {
			s.inherited[st] = true
		}
	}
}

// goesOn reports whether the log holds more of the workflow than the judge has read.
func (s *sim) goesOn(b *book) bool {
	for range s.memory.ReadWorkflow(context.Background(), b.name, b.seqs[len(b.seqs)-1]+1) {
		return true
	}
	return false
}

// spoil makes a record of the workflow unreadable, and notes what only that record told.
func (s *sim) spoil(b *book, n int) {
	s.forget(b, n)
	s.memory.Spoil(eventlog.Position{Partition: s.memory.PartitionOf(b.name), Seq: b.seqs[n]})
	s.say("revision %d of %s cannot be read any more", n+1, b.name)
	s.did("record spoilt")
}

// lose takes some messages out of a log stream, from a record of the workflow on, and notes what only they told. It
// returns the workflows that lack any. Of each workflow the first record stays: without one, nothing would know its
// name.
func (s *sim) lose(b *book, n int) map[eventlog.WorkflowName]bool {
	lacking := map[eventlog.WorkflowName]bool{}
	partition, first := s.memory.PartitionOf(b.name), b.seqs[n]
	for seq := first; seq < first+1+uint64(s.rng.IntN(4)); seq++ {
		owner, at := s.judge.owner(partition, seq)
		if at == 0 {
			break // a first record, or one that counts no more
		}
		s.forget(owner, at)
		s.memory.Lose(eventlog.Position{Partition: partition, Seq: seq})
		s.say("revision %d of %s is lost", at+1, owner.name)
		if owner.lost == 0 {
			owner.lost = at
		}
		lacking[owner.name] = true
	}
	s.did("records lost")
	return lacking
}

// owner is the book that has the record of a sequence, and its place there; 0 when none has.
func (j *judge) owner(partition int, seq uint64) (*book, int) {
	for _, w := range j.sim.workflows {
		b := j.book(w.name)
		if n, ok := slices.BinarySearch(b.seqs, seq); ok && j.sim.memory.PartitionOf(w.name) == partition {
			return b, n
		}
	}
	return nil, 0
}

// forget notes what is told only by a record that will be gone.
func (s *sim) forget(b *book, n int) {
	for r, err := range s.memory.ReadWorkflow(context.Background(), b.name, b.seqs[n]) {
		if err != nil {
			s.violate("the log cannot be read: %v", err)
		}
		for _, f := range r.Facts {
			switch f := f.(type) {
			case *eventlog.MutationStarted:
				b.calls.spoilt(f.Mutation)
			case *eventlog.MutationGivenUp:
				b.calls.forgotten(f.Mutation)
			case *eventlog.EventPublished:
				ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
				b.publications.spoilt(ref)
				b.asks[ref] = true
			case *eventlog.EventConsumed:
				b.consumptions.spoilt(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
			case *eventlog.EventGivenUp:
				ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
				b.publications.forgotten(ref)
				b.consumptions.forgotten(ref)
				b.asks[ref] = true
			}
		}
		return
	}
}

// keeper is the log that a loss is recorded in. A log that breaks an engine on purpose may keep none.
func (s *sim) keeper() eventlog.LossKeeper {
	if keeper, ok := s.below.(eventlog.LossKeeper); ok {
		return keeper
	}
	return s.memory
}

// cutBack lets the judge's book of the workflow end before what was set aside of it or is lost. What happened outside
// is not forgotten: what was consumed stays so.
func (b *book) cutBack(asides []eventlog.Aside) {
	for _, aside := range asides {
		if n, _ := slices.BinarySearch(b.seqs, aside.From); aside.Workflow == b.name && n < len(b.seqs) &&
			b.seqs[n] <= aside.To {
			b.past, b.seqs = b.past[:n], b.seqs[:n]
		}
	}
	if b.lost > 0 {
		n := min(b.lost, len(b.past))
		b.past, b.seqs, b.lost = b.past[:n], b.seqs[:n], 0
	}
	b.consumers = consumerBookOf(b.state())
	clear(b.phases)
	clear(b.ended)
	clear(b.awaiting)
	clear(b.open)
	clear(b.written)
	state := b.state()
	for id, run := range state.Runs() {
		b.phases[id] = run.Phase
		b.ended[id] = run.Status != eventlog.RunStatusActive && run.Status != eventlog.RunStatusPausedApproval
		if run.Status == eventlog.RunStatusPausedApproval {
			b.awaiting[id] = true
		}
	}
	for id, m := range state.Mutations() {
		if m.Status.Unresolved() {
			b.open[id] = m.Run
		}
	}
}

// remembers: after an accepted loss the ledger still knows every request that has left, nothing goes on by itself,
// what was consumed is known as that, and an event that has had its effect waits no more.
func (j *judge) remembers(b *book) {
	state := b.state()
	if open := slices.Collect(state.OpenRuns()); state.Blocked == nil || state.CurrentRun() != nil ||
		state.RetryRun() != nil || len(open) > 0 {
		j.sim.violate("%s goes on after a loss without a person's word", b.name)
	}
	for _, r := range j.sim.world.order {
		if r.call.Workflow != b.name || r.sent == 0 {
			continue
		}
		id := eventlog.MutationID(r.call.Run)
		m := state.Mutation(id)
		if known := m != nil && m.Status.Final(); !b.calls.unknown(id, known) && !known {
			j.sim.violate("mutation %s has left, and after a loss the ledger has it as %+v", j.sim.alias(r.key), m)
		}
	}
	for ref := range b.consumed {
		e := state.Event(ref.Topic, ref.MessageID)
		known := e != nil && e.Status == eventlog.EventStatusConsumed
		if !b.consumptions.unknown(ref, known) && !known && !b.again[ref] {
			j.sim.violate("event %s of topic %s in %s is consumed, and after a loss it is %+v", ref.MessageID, ref.Topic, b.name,
				e)
		}
	}
	for _, r := range j.sim.world.order {
		if r.call.Workflow != b.name || r.effects == 0 || r.excused || b.calls.unknown(eventlog.MutationID(r.call.Run),
			false) {
			continue
		}
		for _, ref := range r.Refs {
			known := state.Event(ref.Topic, ref.MessageID) != nil
			if unknown := b.publications.unknown(ref, known); !b.twins[ref] && (known || !unknown) {
				j.done(state, ref) // of one that nothing tells of any more, a person is asked before its next effect
			}
		}
	}
}

// publishedAgain: if all that told of an event is lost, an event that a later push publishes with its id is a new one.
func (b *book) publishedAgain(ref eventlog.EventRef, accepting bool) {
	if !b.publications.unknown(ref, false) {
		return
	}
	if !accepting {
		b.twins[ref] = true
	}
	if b.consumptions.unknown(ref, false) {
		delete(b.consumed, ref)
	}
}

// allowedAgain: the first event may have had its effect. The call for its twin may have one more if a person has
// approved the call, or has set the grants since that loss, after which every call asks.
func (j *judge) allowedAgain(b *book, f *eventlog.MutationStarted) {
	decision := b.state().Mutation(f.Mutation).Decision
	approved := decision != nil && decision.What == projections.DecidedApproved
	for _, ref := range b.run(f.Run).Reserved {
		if b.twins[ref] && (approved || !b.asks[ref]) {
			delete(b.twins, ref)
			if j.sim.world.mayHaveHappened(b.name, ref) {
				j.sim.world.excuse(b.name, ref)
			}
		}
	}
}

// done: an event that has had its effect waits no more, and a redrive that does not say that it may repeat that is
// refused (O11).
func (j *judge) done(state *projections.State, ref eventlog.EventRef) {
	e := state.Event(ref.Topic, ref.MessageID)
	if e == nil || e.Status == eventlog.EventStatusPending || e.Status == eventlog.EventStatusReserved {
		j.sim.violate("event %s of topic %s in %s has had its effect, and after a loss it is %+v", ref.MessageID, ref.Topic,
			state.Name, e)
		return
	}
	env := decide.Env{Now: eventlog.At(j.sim.clock.Now()), Policies: schedule.Default(),
		Standstill: decide.EngineStandstill, Actor: byOperator}
	redrive := decide.RedriveJob{Topic: ref.Topic, MessageID: ref.MessageID}
	if _, err := decide.Decide(state, state.Name, env, redrive); err == nil {
		j.sim.violate("event %s of topic %s in %s has had its effect, and after a loss a plain redrive repeats it (O11): %+v",
			ref.MessageID, ref.Topic, state.Name, e)
	}
}
