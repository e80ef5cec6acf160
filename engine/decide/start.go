package decide

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Tick starts what is due: a timer fired, or a hold is over.
type Tick struct {
	// Place is that of a BeginEvent: an event that is paged out cannot begin before it was read.
	Place *projections.Candidate
}

// decide of a tick begins what is due, as every decision does. An event that was read for it and is not there would be
// owed for ever: it is a defect of the local store.
func (c Tick) decide(d *decision) error {
	if c.Place == nil || d.pendingAt(*c.Place) != nil || d.err != nil {
		return nil
	}
	for _, consumer := range d.state().Definition().Consumers {
		if next, ok := nextBeginning(d.state(), consumer, d.env.Now, d.env.MaxHeld); ok && next.run == nil &&
			next.event == *c.Place {
			return fmt.Errorf("event %d of transition %d is pending in topic %s, and the local store does not have it",
				c.Place.Created.N, c.Place.Created.Seq, c.Place.Topic)
		}
	}
	return nil
}

// RunNow queues every producer (S5).
type RunNow struct{}

// Queued answers a RunNow: its producers are queued, and at most one of them runs by now.
type Queued struct {
	// Producers are those of the current version, in its order.
	Producers []eventlog.Handler
	// Running is the producer that runs now, empty when none does.
	Running eventlog.Handler
	// First is what the workflow owes or waits for before any other of them runs.
	First Todo
	// State is the workflow as the command has left it: First is explained by it.
	State projections.State
}

func (RunNow) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return refuseArchived(s)
	}
	if len(s.Definition().Producers) == 0 {
		return refuse(Conflict, "producers.none", "workflow %s has no producers: there is nothing to run now", s.Name).
			hint(hint.NoProducers, s.Name)
	}
	if run := s.CurrentRun(); run != nil && run.Status == eventlog.RunStatusActive {
		return refuse(Conflict, "run.active", "run %s of %s is %s; run-now is refused until it is over", run.ID, run.Handler,
			run.Status).
			hint(hint.RunActive, s.Name)
	}
	for _, p := range s.Definition().Producers {
		d.emitNaming(&eventlog.HandlerScheduled{Handler: p.Name, NextRunAt: d.env.Now})
	}
	return nil
}

// queued answers a RunNow once it is decided which run begins with it.
func (d *decision) queued() {
	if d.err != nil {
		return
	}
	s := d.state()
	q := Queued{First: Next(s, d.env.Now, d.env.Engine), State: *s}
	for _, p := range s.Definition().Producers {
		q.Producers = append(q.Producers, p.Name)
	}
	switch first := q.First.(type) {
	case RunProducer:
		q.Running = s.Run(first.Run).Handler
	case StartRun: // it is due, and Env.Standstill keeps it from starting
		q.First = d.env.Standstill.Wait()
	}
	d.queue = &q
}

// startOwedRun closes every transition: if the state now owes the start of a run, the same transition lists it; if
// nothing is owed any more, it ends the session (S7). Runs of plain handlers start here alone, those of concurrent
// consumers in beginRuns.
func (d *decision) startOwedRun() {
	s := d.state()
	if d.err != nil || s.CurrentRun() != nil {
		return // nothing of it concerns concurrent consumers, whose runs belong to no session: see beginRuns
	}
	start, owed := Next(s, d.env.Now, d.env.Engine).(StartRun)
	session := s.OpenSession()
	if !owed {
		if session != nil {
			d.emit(&eventlog.SessionEnded{Session: session.ID, Result: eventlog.SessionCompleted})
		}
		return
	}
	if d.env.Standstill != NoStandstill {
		return // still owed: the session goes on when the hold ends
	}
	producersFirst := false
	if session != nil && session.Runs >= d.env.Policies.Session.MaxRuns {
		d.emit(&eventlog.SessionEnded{Session: session.ID, Result: eventlog.SessionCompleted})
		session, producersFirst = nil, true
	}
	if session == nil {
		d.emit(&eventlog.SessionStarted{Session: d.env.Session, ProducersFirst: producersFirst})
		if start, owed = Next(d.state(), d.env.Now, d.env.Engine).(StartRun); !owed {
			return
		}
	}
	d.start(start)
}

func (d *decision) start(start StartRun) {
	s := d.state()
	began := &eventlog.RunStarted{
		Run: d.freshRun(), Handler: start.Handler, HandlerType: start.Type, Version: s.Version,
		Session: s.Session, RetryOf: start.RetryOf, Engine: d.env.Engine, Phase: eventlog.PhasePreparing,
	}
	if d.kind == "" {
		d.kind = began.FactType()
	}
	switch {
	case start.RetryOf != "":
		// The mutation is behind this chain: only next is left (R15).
		first := s.Run(start.RetryOf)
		reserved := s.ReservedBy(first)
		began.Phase = eventlog.PhaseEmitting
		d.emit(began)
		for _, e := range reserved {
			d.emit(&eventlog.EventTransferred{Topic: e.Topic, MessageID: e.MessageID, Run: began.Run})
		}
		d.emit(&eventlog.RetryCleared{Run: start.RetryOf})
	case start.Type == eventlog.ProducerHandler:
		began.Phase = eventlog.PhasePending
		d.emit(began)
		d.emit(&eventlog.HandlerScheduled{Handler: start.Handler, NextRunAt: d.env.NextDue[start.Handler]})
		d.emit(&eventlog.RunAdvanced{Run: began.Run, Phase: eventlog.PhaseExecuting})
	default:
		// Whatever made it due (wakeAt, a job's retry time), it stays due until a run has
		// looked and committed.
		if s.Handler(start.Handler).DirtyAt == 0 {
			d.emit(&eventlog.HandlerDirtied{Handler: start.Handler})
		}
		d.emit(began)
	}
}

// beginRuns lists in this transition what concurrent consumers begin with it: all that has a place (C3).
func (d *decision) beginRuns() {
	if d.env.Standstill != NoStandstill {
		return
	}
	for _, c := range d.state().Definition().Consumers {
		for c.Concurrent() && d.err == nil && d.begin(c) {
		}
	}
}

// begin lets the consumer's next run start or go on. It reports false where there is none, no id is left, or its event
// has to be read first.
func (d *decision) begin(c eventlog.Consumer) bool {
	s := d.state()
	next, ok := nextBeginning(s, c, d.env.Now, d.env.MaxHeld)
	switch {
	case !ok:
		return false
	case next.run != nil && !next.run.Owes:
		return d.giveBackPlace(next.run)
	}
	if len(d.runs) == 0 {
		return false
	}
	var e *projections.TopicEvent
	if next.run == nil {
		if e = d.pendingAt(next.event); e == nil {
			d.askAhead(c)
			return false
		}
	}
	id := d.freshRun()
	if next.run != nil {
		d.retryOne(c, next.run, id)
	} else {
		d.startOne(c, e, id)
	}
	return true
}

// pendingAt is the pending event at the place, which may have to be read first.
func (d *decision) pendingAt(at projections.Candidate) *projections.TopicEvent {
	e := d.state().PendingAt(at.Topic, at.Created)
	if e == nil {
		d.ask(projections.PlaceKey(at.Topic, at.Created))
	}
	return e
}

// askAhead asks for the events that may begin next, as many as there are ids for runs: they are read together.
func (d *decision) askAhead(c eventlog.Consumer) {
	n := 0
	for at := range d.state().Offered(c, false, d.env.Now) {
		if n == len(d.runs) {
			return
		}
		d.pendingAt(at)
		n++
	}
}

// startOne begins a run for the event, which it reserves (C1).
func (d *decision) startOne(c eventlog.Consumer, e *projections.TopicEvent, id eventlog.RunID) {
	d.emitNamingIfFirst(&eventlog.RunStarted{
		Run: id, Handler: c.Name, HandlerType: eventlog.ConsumerHandler, Version: d.state().Version, Engine: d.env.Engine,
		Phase: eventlog.PhasePreparing, Event: &eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID},
		Key: projections.EventKeyAt(c.Key, e.Payload),
	})
	d.emit(&eventlog.EventReserved{Topic: e.Topic, MessageID: e.MessageID, Run: id})
}

// retryOne begins the retry of next that an ended run owes (R15).
func (d *decision) retryOne(c eventlog.Consumer, owing *projections.Run, id eventlog.RunID) {
	s := d.state()
	began := &eventlog.RunStarted{
		Run: id, Handler: c.Name, HandlerType: eventlog.ConsumerHandler, Version: s.Version, Engine: d.env.Engine,
		Phase: eventlog.PhaseEmitting, RetryOf: owing.ID, Event: owing.Event, Key: owing.Key,
	}
	reserved := s.ReservedBy(owing)
	if d.consumer(owing).Key != c.Key { // a deploy has named another path since (C9)
		began.Key = ""
		for _, e := range reserved {
			began.Key = projections.EventKeyAt(c.Key, e.Payload)
		}
	}
	d.emitNamingIfFirst(began)
	for _, e := range reserved {
		d.emit(&eventlog.EventTransferred{Topic: e.Topic, MessageID: e.MessageID, Run: id})
	}
	d.emit(&eventlog.RunRetryCleared{Run: owing.ID})
	if !c.HasNext && d.err == nil {
		d.commitHere(id)
	}
}

// maxReturning bounds a transition with calls of approved runs that come back, in bytes: it holds each call once more,
// beside what else it records, such as what a run publishes. A call that finds no room starts with a later transition.
// The call that begins a transition always has room: it was recorded before, so it fits.
const maxReturning = 2 << 20

// recorded is how many bytes the transition takes so far, more than maxReturning where it is far too large.
func (d *decision) recorded() int {
	stored, err := eventlog.Encode(eventlog.Transition{Workflow: d.state().Name, Facts: d.draft.Facts()})
	if err != nil {
		return maxReturning + 1
	}
	return len(stored)
}

// giveBackPlace lets a run go on that has waited for a person and then for a place: with its call if that was
// approved, with next if it was rejected (C3). It reports false where the call has to wait for another transition.
func (d *decision) giveBackPlace(run *projections.Run) bool {
	m := d.state().Mutation(run.Mutation)
	approved := m != nil && m.Status == eventlog.MutationStatusAwaitingApproval
	if approved {
		begins := len(d.draft.Facts()) == 0
		if d.returning == 0 {
			d.returning = d.recorded()
		}
		if !begins && d.returning+len(m.Call.Params) > maxReturning {
			return false
		}
		d.returning += len(m.Call.Params)
	}
	d.emitNamingIfFirst(&eventlog.RunReactivated{Run: run.ID, Engine: d.env.Engine})
	if approved {
		kind := d.kind
		d.startMutation(run, m.ID, m.Call)
		d.kind = kind
		return true
	}
	d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	if d.err == nil && !d.consumer(run).HasNext {
		d.commitHere(run.ID)
	}
	return true
}

// commitHere commits a run that has no next, in the transition of something else.
func (d *decision) commitHere(id eventlog.RunID) {
	kind := d.kind
	if err := (CommitRun{Run: id}).decide(d); err != nil && d.err == nil {
		d.err = err
	}
	d.kind = kind
}
