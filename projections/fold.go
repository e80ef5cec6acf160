package projections

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// folding is one transition being applied.
type folding struct {
	*State
	t   *eventlog.Transition
	seq uint64
	n   uint32
	// fresh are the last entities that were made or copied since the state was last read: they are changed in place.
	fresh struct {
		handler *Handler
		run     *Run
		input   *Input
	}
}

// changeable returns the entity to change in place: old itself if it is fresh, or else a copy of it, which is fresh
// then.
func changeable[E any](old *E, fresh **E) *E {
	if *fresh != old {
		e := *old
		*fresh = &e
	}
	return *fresh
}

func (f *folding) at() eventlog.Instant { return f.t.At }

func (f *folding) ordinal() Ordinal { return Ordinal{Seq: f.seq, N: f.n} }

func (f *folding) changeHandler(name eventlog.Handler, change func(*Handler)) error {
	old := f.Handler(name)
	if old == nil {
		return fmt.Errorf("handler %s is not known", name)
	}
	h := changeable(old, &f.fresh.handler)
	change(h)
	if h != old {
		f.putHandler(h)
	}
	return nil
}

func (f *folding) changeRun(id eventlog.RunID, change func(*Run)) error {
	old := f.Run(id)
	if old == nil {
		return fmt.Errorf("run %s is not known", id)
	}
	before := old.attends()
	r := changeable(old, &f.fresh.run)
	change(r)
	if r != old {
		f.putRun(r)
	} else {
		f.follow(r)
	}
	f.countOwing(before, r.attends())
	return nil
}

func (f *folding) changeEvent(topic eventlog.Topic, id eventlog.MessageID, change func(*TopicEvent)) error {
	key := EventKey(topic, id)
	old := f.eventAt(key)
	if old == nil {
		return fmt.Errorf("event %s in %s is not known", id, topic)
	}
	e := *old
	change(&e)
	f.putEvent(key, &e)
	f.wait(topic, pendingCount(&e)-pendingCount(old))
	f.count(old.Job(), -1)
	f.count(e.Job(), 1)
	f.countHeld(old, &e)
	return f.recount(old, &e)
}

// countOwing keeps the number of the runs at which a person should look.
func (f *folding) countOwing(before, after eventlog.Instant) {
	switch c := &f.Counts; {
	case (before == 0) == (after == 0):
	case before == 0:
		if c.Owing++; c.Owing == 1 {
			c.OwingSince = after
		}
	default:
		if c.Owing--; c.Owing == 0 {
			c.OwingSince = 0
		}
	}
}

func (f *folding) changeInput(old *Input, change func(*Input)) {
	in := changeable(old, &f.fresh.input)
	change(in)
	if in != old {
		f.putInput(in)
	}
}

func (f *folding) changeMutation(id eventlog.MutationID, change func(*Mutation)) error {
	old := f.Mutation(id)
	if old == nil {
		return fmt.Errorf("mutation %s is not known", id)
	}
	m := *old
	change(&m)
	f.putMutation(&m)
	return nil
}

func (s *State) putHandler(h *Handler) { s.touch(HandlerKey(h.Name)); s.handlers.put(h.Name, h) }

func (s *State) putRun(r *Run) {
	s.touch(RunKey(r.ID))
	s.runs.put(r.ID, r)
	s.follow(r)
}

func (s *State) putMutation(m *Mutation) {
	s.touch(MutationKey(m.ID))
	s.mutations.put(m.ID, m)
	s.followMutation(m.ID)
}

func (s *State) putInput(i *Input) { s.touch(InputKey(i.ID)); s.inputs.put(i.ID, i) }

func (s *State) putSession(x *Session) { s.touch(SessionKey(x.ID)); s.sessions.put(x.ID, x) }

func (s *State) putScript(v *Script) { s.touch(ScriptKey(v.Version)); s.scripts.put(v.Version, v) }

// putEvent keeps queue and schedule in step with the event, which has the key.
func (s *State) putEvent(key Key, e *TopicEvent) {
	s.touch(key)
	old, known := s.events.get(key.ID)
	if known && old.ScheduledAt != 0 {
		s.scheduled.drop(scheduledKey(old.scheduled()))
	}
	s.events.put(key.ID, e)
	switch {
	case e.Status == eventlog.EventStatusPending:
		s.pending.put(pendingKey(e.Topic, e.Created), e)
		s.followReservation(e, old)
		q := s.queued(e, old)
		if was, queued := s.queues.get(e.Topic, e.Created); !queued || was != q {
			s.enqueue(e.Topic, q)
		}
		if e.ScheduledAt != 0 {
			s.scheduled.put(scheduledKey(e.scheduled()), struct{}{})
		}
	case known && old.Status == eventlog.EventStatusPending:
		s.pending.drop(pendingKey(e.Topic, e.Created))
		s.dequeue(e.Topic, e.Created)
		s.followReservation(e, old)
	default:
		s.followReservation(e, old)
	}
	s.followEvent(e)
}

// decided notes what the transition decides. What Pawl does by itself is no decision.
func (f *folding) decided(on **Decision, what DecisionKind) {
	if f.t.Actor.Kind != eventlog.System.Kind {
		*on = &Decision{what, f.t.Actor, f.at()}
	}
}
