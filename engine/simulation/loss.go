package simulation

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
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
	loss := engine.Loss{
		Actor: operator, At: eventlog.At(s.clock.Now()), Cause: eventlog.Cause{Kind: "command", ID: "accept"}, Detail: "damaged",
		Report: func(calls []engine.GivenUp) error {
			for _, call := range calls {
				s.judge.reported[call.Mutation] = true
			}
			return nil
		},
	}
	w := pick(s, s.workflows...)
	b := s.judge.book(w.name)
	switch spoilt := len(b.seqs) - 1 - s.rng.IntN(12); {
	case spoilt < 1 || s.chance(0.3):
		loss.End = true
		s.did("end lost")
	default:
		s.spoil(b, spoilt)
		if st := s.heir(); st != nil {
			s.inherited[st] = false
			if s.chance(0.7) {
				loss.Store = st
			}
		}
	}
	if _, err := engine.RecordLoss(context.Background(), s.keeper(), loss); err != nil {
		s.violate("the loss cannot be accepted: %v", err)
	}
	s.say("the loss is accepted (end: %v, store: %v)", loss.End, loss.Store != nil)
	for _, concerned := range s.workflows {
		if len(s.judge.book(concerned.name).past) > 0 && (loss.End || concerned == w) {
			book := s.judge.book(concerned.name)
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

// spoil makes a record of the workflow unreadable, and notes what it alone told.
func (s *sim) spoil(b *book, n int) {
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
			case *eventlog.EventConsumed:
				b.consumptions.spoilt(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
			case *eventlog.EventGivenUp:
				b.consumptions.forgotten(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
			}
		}
		s.memory.Spoil(r.Position)
		break
	}
	s.say("revision %d of %s cannot be read any more", n+1, b.name)
	s.did("record spoilt")
}

// unreadable are the facts whose own record cannot be read any more, by what they are about. An acceptance cannot
// know them, unless a later record or a store tells of them; those that one has learned of, later ones know too.
type unreadable[K comparable] struct{ record, learned map[K]bool }

func newUnreadable[K comparable]() unreadable[K] {
	return unreadable[K]{record: map[K]bool{}, learned: map[K]bool{}}
}

// spoilt notes that the fact's own record cannot be read any more.
func (u unreadable[K]) spoilt(k K) {
	u.record[k] = true
	u.forgotten(k)
}

// forgotten notes that the record by which an acceptance kept the fact cannot be read any more.
func (u unreadable[K]) forgotten(k K) { delete(u.learned, k) }

// unknown reports whether an acceptance need not know the fact; one that does know it is bound to keep it.
func (u unreadable[K]) unknown(k K, known bool) bool {
	if known {
		u.learned[k] = true
	}
	return u.record[k] && !u.learned[k]
}

// keeper is the log that a loss is recorded in. Those that break an engine on purpose may keep no losses.
func (s *sim) keeper() eventlog.LossKeeper {
	if keeper, ok := s.below.(eventlog.LossKeeper); ok {
		return keeper
	}
	return s.memory
}

// cutBack lets the judge's account of the workflow end before what was set aside of it. What happened outside is
// not forgotten: what was consumed stays so.
func (b *book) cutBack(asides []eventlog.Aside) {
	for _, aside := range asides {
		if n, _ := slices.BinarySearch(b.seqs, aside.From); aside.Workflow == b.name && n < len(b.seqs) && b.seqs[n] <= aside.To {
			b.past, b.seqs = b.past[:n], b.seqs[:n]
		}
	}
	clear(b.phases)
	clear(b.ended)
	clear(b.awaiting)
	clear(b.open)
	clear(b.written)
	state := b.state()
	for id, run := range state.Runs() {
		b.phases[id] = run.Phase
		b.ended[id] = run.Status != eventlog.RunActive && run.Status != eventlog.RunPausedApproval
		if run.Status == eventlog.RunPausedApproval {
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
	if state.Blocked == nil || state.CurrentRun() != nil || state.RetryRun() != nil {
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
			j.sim.violate("event %s of topic %s in %s is consumed, and after a loss it is %+v", ref.MessageID, ref.Topic, b.name, e)
		}
	}
	for at, n := range j.sim.world.effects {
		if at.workflow != b.name || n <= j.sim.world.excused[at] {
			continue
		}
		if e := state.Event(at.ref.Topic, at.ref.MessageID); e == nil || e.Status == eventlog.EventPending || e.Status == eventlog.EventStatusReserved {
			j.sim.violate("event %s of topic %s in %s has had its effect, and after a loss it is %+v", at.ref.MessageID, at.ref.Topic, b.name, e)
		}
	}
}
