package projections

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Draft is a transition in the making: each fact is folded as it is added, so the next decision
// sees the state it leads to.
type Draft struct {
	f       folding
	t       eventlog.Transition
	missing *Missing // nil where the state has all of the past
}

// NewDraft starts a transition on the state, as if it stood at seq. Workflow, At and Actor of
// the transition must be set.
func NewDraft(s *State, t eventlog.Transition, seq uint64) *Draft {
	d := new(Draft)
	d.Begin(s, t, seq)
	return d
}

// Begin starts a transition like NewDraft, in this draft; the zero Draft will do. It reuses the memory of the former
// state, so nothing that State returned before may be used any more.
func (d *Draft) Begin(s *State, t eventlog.Transition, seq uint64) {
	next := d.f.State // a State of its own: where Apply's caller keeps it, it must not keep the transition in memory
	if next == nil {
		next = new(State)
	}
	s.forkInto(next)
	*d = Draft{t: t}
	next.Name = t.Workflow
	if !s.Exists() {
		next.Created = Ordinal{Seq: seq}
	}
	next.Head.Revision = s.Head.Revision + 1
	next.touch(WorkflowKey())
	if s.partial {
		d.missing = new(Missing)
	}
	d.f = folding{State: next, t: &d.t, seq: seq}
}

// Add appends the fact. An error that wraps ErrBroken leaves the draft unusable. After a *Missing, which is the same
// for all facts of the draft, it can only find out what more is missing.
func (d *Draft) Add(fact eventlog.Fact) error {
	d.f.fresh.handler, d.f.fresh.run, d.f.fresh.input = nil, nil, nil // the caller may have read them
	if err := d.fold(len(d.t.Facts), fact); err != nil {
		return err
	}
	d.t.Facts = append(d.t.Facts, fact)
	return nil
}

// fold folds the fact, which is the n-th of the transition.
func (d *Draft) fold(n int, fact eventlog.Fact) error {
	d.f.n = uint32(n)
	d.f.missing = d.missing
	err := d.f.apply(fact)
	d.f.missing = nil
	if missing := d.Missing(); missing != nil {
		return missing
	}
	if err != nil {
		return fmt.Errorf("%w: %s: revision %d: fact %d (%s): %w", ErrBroken, d.t.Workflow, d.f.Head.Revision, d.f.n,
			fact.FactType(), err)
	}
	return nil
}

// Ask returns a *Missing, as Add does, if what the key names is not in memory and it is not known whether it exists.
func (d *Draft) Ask(k Key) error {
	d.f.missing = d.missing
	d.f.ask(k)
	d.f.missing = nil
	return d.Missing()
}

// AskEvent returns the event, and AskInput the input, or nil. Where it is not in memory and it is not known whether it
// exists, Missing names it then, as after an Ask.
func (d *Draft) AskEvent(topic eventlog.Topic, id eventlog.MessageID) *TopicEvent {
	d.f.missing = d.missing
	e := d.f.Event(topic, id)
	d.f.missing = nil
	return e
}

// AskInput is like AskEvent.
func (d *Draft) AskInput(id eventlog.InputID) *Input {
	d.f.missing = d.missing
	in := d.f.Input(id)
	d.f.missing = nil
	return in
}

// Missing returns what Add and the lookups have missed so far as a *Missing, or nil. Once something is missing, what
// else the fold says means nothing: it took for absent what it had not read.
func (d *Draft) Missing() error { return d.missing.err() }

// State is where the facts so far lead. It changes with the next Add, and the next Begin uses its memory.
func (d *Draft) State() *State { return d.f.State }

// Facts returns the facts so far.
func (d *Draft) Facts() []eventlog.Fact { return d.t.Facts }

// Folded is the state to which the facts of a draft have led, kept until the record is in the log. Then Apply gives it
// its place there, and the facts are not folded again.
type Folded struct {
	next *State
	on   eventlog.Head // of the state that the draft began with
	// seq is the place in the log at which the draft was begun. Apply moves next from there.
	seq uint64
	// returned says that Apply has returned next: readers may hold it, so it does not change any more.
	returned bool
	// at, actor and facts are those of the draft. Facts are compared by pointer: a record with others is folded again.
	at    eventlog.Instant
	actor eventlog.Actor
	facts []eventlog.Fact
}

// Take removes the state from the draft and returns it. No Add to the draft may have failed. The draft cannot be used
// again before its next Begin.
func (d *Draft) Take() *Folded {
	f := &Folded{next: d.f.State, on: d.f.Head, seq: d.f.seq, at: d.t.At, actor: d.t.Actor, facts: d.t.Facts}
	f.on.Revision--
	d.f.State = nil
	return f
}

// Apply returns the state that the function Apply returns for s and r, without a second fold. Since the draft began,
// nothing may have been evicted from s. History that was read for the draft is in the result too. False: the record has
// to be folded. It differs from the draft, it does not follow s, it needs history that is not in memory, or the result
// was returned already for another place in the log, and may be in use.
func (f *Folded) Apply(s *State, r *eventlog.Record) (*State, bool) {
	if f == nil || s.Head != f.on || follows(s, r) != nil || f.next.Name != r.Workflow || f.at != r.At ||
		f.actor != r.Actor || !slices.Equal(f.facts, r.Facts) {
		return nil, false
	}
	if f.returned {
		if f.next.Head != r.Head() {
			return nil, false
		}
		return f.next, true
	}
	f.returned = true
	if r.Position.Seq != f.seq {
		f.next.moveMade(f.seq, r.Position.Seq)
	}
	var missing *Missing
	if f.next.partial {
		missing = new(Missing)
	}
	if err := f.next.finish(s, r, missing); err != nil {
		f.next = new(State) // it is half finished: every later Apply must refuse it
		return nil, false
	}
	return f.next, true
}

// moveMade moves everything that the transition has made from one place in the log to another. Nothing older stands at
// the place from, since that is behind the workflow's head. No other State has these entities yet, so they are changed
// in place. A transition that published an event and then deployed a script would need more: the fold keeps the key
// that the event had before the deploy. No decision makes one.
func (s *State) moveMade(from, to uint64) {
	moved := func(at *Ordinal) bool {
		if at.Seq != from {
			return false
		}
		at.Seq = to
		return true
	}
	moved(&s.Created)
	for _, k := range s.Touched {
		if k.Kind == KindWorkflow {
			continue
		}
		switch e := s.Entity(k).(type) {
		case *TopicEvent:
			if e.Created.Seq == from {
				s.moveEvent(k, e, to)
			}
		case *Run:
			if moved(&e.Created) {
				s.follow(e) // open runs are ordered by place
			}
		case *Handler:
			moved(&e.Created)
		case *Mutation:
			moved(&e.Created)
		case *Input:
			moved(&e.Created)
		case *Session:
			moved(&e.Created)
		case *Script:
			moved(&e.Created)
		}
	}
}

// moveEvent takes the event out of the orders that have it by its place, and lets it enter them at the other one.
func (s *State) moveEvent(k Key, e *TopicEvent, to uint64) {
	s.dropEvent(k.ID)
	if _, taken := s.lanes.taken.get(pendingKey(e.Topic, e.Created)); taken {
		s.take(e.Topic, e.Created, 0)
	}
	e.Created.Seq = to
	s.putEvent(k, e)
}
