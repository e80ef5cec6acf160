package decide

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// startOwedRun closes every transition: if the state now owes the start of a run, the same
// transition lists it; if nothing is owed any more, it ends the session (S7). This is the one
// place where runs start.
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
	if d.env.Hold != NotHeld {
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
		held := s.Held(first)
		began.Phase = eventlog.PhaseEmitting
		d.emit(began)
		for _, e := range held {
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

// freshRun takes the next of the fresh ids. The first is for the one plain run that a transition may start.
func (d *decision) freshRun() eventlog.RunID {
	id := d.runs[0]
	d.runs = d.runs[1:]
	return id
}

// active returns the run if it is the current one or that of a concurrent consumer, and active.
func (d *decision) active(id eventlog.RunID) (*projections.Run, bool) {
	s := d.state()
	run := s.CurrentRun()
	if s.Open(id) {
		run = s.Run(id)
	}
	if run == nil || run.ID != id || run.Status != eventlog.RunActive {
		return nil, false
	}
	return run, true
}

func (d *decision) consumer(run *projections.Run) eventlog.Consumer {
	script := d.state().Script(run.Version)
	if script == nil {
		return eventlog.Consumer{Name: run.Handler}
	}
	c, _ := script.Definition.Consumer(run.Handler)
	return c
}

func (c FinishPrepare) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok || run.Phase != eventlog.PhasePreparing {
		return ErrStale
	}
	if c.Failure != nil {
		d.fail(run, *c.Failure)
		return nil
	}
	if run.Event != nil {
		return d.preparedOne(run, c)
	}
	consumer := d.consumer(run)
	if d.outdated(run, c.Prepared) {
		d.abort(run, "version %s of the workflow has no longer what this run of %s was preparing for", d.state().Version,
			run.Handler)
		return nil
	}
	for _, ref := range c.Prepared.Reservations {
		bad, err := d.checkChoice(consumer, ref, &c, "reserve")
		if err != nil {
			return err
		}
		if bad != nil {
			d.fail(run, *bad)
			return nil
		}
	}
	for _, x := range c.Prepared.Cancel {
		bad, err := d.checkChoice(consumer, eventlog.EventRef{Topic: x.Topic, MessageID: x.MessageID}, &c, "cancel")
		if err != nil {
			return err
		}
		if bad != nil {
			d.fail(run, *bad)
			return nil
		}
	}
	d.warnings = append(d.warnings, c.Prepared.Warnings...)
	d.lead(&eventlog.RunPrepared{
		Run: run.ID, Result: c.Prepared.Raw, UITitle: c.Prepared.UITitle,
		WakeAt: d.clampWake(c.Prepared.WakeAt), Cancel: c.Prepared.Cancel,
	})
	reserved := map[eventlog.EventRef]bool{}
	for _, ref := range c.Prepared.Reservations {
		if reserved[ref] {
			continue // duplicates are folded (R9)
		}
		reserved[ref] = true
		d.emit(&eventlog.EventReserved{Topic: ref.Topic, MessageID: ref.MessageID, Run: run.ID})
	}
	if len(c.Prepared.Reservations) == 0 {
		// Nothing to mutate for: straight to next (R3).
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
		return d.emitNext(run.ID, consumer, c.Next)
	}
	d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutating})
	switch {
	case d.err != nil:
		return nil
	case !consumer.HasMutate:
		d.passMutation(run.ID)
		return d.emitNext(run.ID, consumer, c.Next)
	case c.Mutate != nil:
		return c.Mutate.decide(d)
	}
	return nil
}

// outdated reports whether a deploy that came while prepare ran has taken the consumer or a chosen
// topic away. It held nothing then, so O9 could not refuse the deploy; what it would reserve now
// no later version could ever finish.
func (d *decision) outdated(run *projections.Run, p Prepared) bool {
	s := d.state()
	if run.Version == s.Version {
		return false
	}
	before, now := d.consumer(run), eventlog.Consumer{}
	now, ok := s.Definition().Consumer(run.Handler)
	return !ok || slices.ContainsFunc(p.Reservations, func(ref eventlog.EventRef) bool {
		return subscribed(before, ref.Topic) && !subscribed(now, ref.Topic)
	})
}

// emitNext goes on with a run in emitting: with next's outcome if the worker has it already, or
// to the commit when there is no next handler to run (R3).
func (d *decision) emitNext(id eventlog.RunID, consumer eventlog.Consumer, next *CommitRun) error {
	switch {
	case d.err != nil:
		return nil
	case next != nil:
		return next.decide(d)
	case !consumer.HasNext:
		return CommitRun{Run: id}.decide(d)
	}
	return nil
}

// checkChoice is R9 for one chosen event. It returns the author's fault, or ErrPrepareAgain when
// the event was there to choose and is gone by now.
func (d *decision) checkChoice(c eventlog.Consumer, ref eventlog.EventRef, did *FinishPrepare,
	verb string) (*eventlog.Failure, error) {
	if !subscribed(c, ref.Topic) {
		return failure(eventlog.Logic, "reservation.topic",
			"prepare wants to %s events of topic %q, but %s does not subscribe to it", verb, ref.Topic, c.Name), nil
	}
	e := d.event(ref.Topic, ref.MessageID)
	if e != nil && e.Visible(d.env.Now) {
		return nil, nil
	}
	if e == nil {
		return failure(eventlog.Logic, "reservation.unknown",
			"prepare wants to %s event %q of topic %q, which does not exist; use the messageId of an event that peek returned",
			verb, ref.MessageID, ref.Topic), nil
	}
	// Its place tells: in what was seen the event itself may be paged out.
	if was, queued := did.Seen.Queued(ref.Topic, e.Created); queued && was.Visible(d.env.Now) ||
		slices.Contains(did.SeenPending, ref) {
		return nil, ErrPrepareAgain
	}
	if e.Status == eventlog.EventPending {
		return failure(eventlog.Logic, "reservation.notPending",
			"prepare wants to %s event %q of topic %q, which waits for its retry until %s; "+
				"only pending events that peek returns can be chosen", verb, ref.MessageID, ref.Topic, e.ScheduledAt), nil
	}
	return failure(eventlog.Logic, "reservation.notPending",
		"prepare wants to %s event %q of topic %q, which is %s; only pending events that peek returns can be chosen", verb,
		ref.MessageID, ref.Topic, e.Status), nil
}

// clampWake is S4.
func (d *decision) clampWake(at eventlog.Instant) eventlog.Instant {
	if at == 0 {
		return 0
	}
	return min(max(at, d.env.Now.Add(d.env.Policies.Wake.Min)), d.env.Now.Add(d.env.Policies.Wake.Max))
}

// passMutation moves a run past a mutation that was not made (R4, R5).
func (d *decision) passMutation(id eventlog.RunID) {
	d.emit(&eventlog.RunAdvanced{Run: id, Phase: eventlog.PhaseMutated})
	d.emit(&eventlog.RunAdvanced{Run: id, Phase: eventlog.PhaseEmitting})
}

// decide of CommitRun makes everything that the run buffered visible at once (R10).
func (c CommitRun) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok || run.Phase != eventlog.PhaseEmitting && run.Phase != eventlog.PhaseExecuting {
		return ErrStale
	}
	if c.Failure != nil {
		d.fail(run, *c.Failure)
		return nil
	}
	if run.Event != nil && c.State != nil {
		d.fail(run, *noState(run))
		return nil
	}
	if bad := d.checkPublishes(run, c); bad != nil {
		d.fail(run, *bad)
		return nil
	}
	d.publishAll(run, c)
	taken := 0
	if run.Type == eventlog.ConsumerHandler {
		taken = d.finishEvents(run)
	}
	switch {
	case run.Event != nil:
		d.finishedOne(run)
	case run.Type == eventlog.ConsumerHandler:
		d.settleHandler(run, taken)
	}
	if c.State != nil {
		d.emit(&eventlog.HandlerStateSaved{Handler: run.Handler, State: c.State})
	}
	d.kind = "run.committed"
	d.emit(&eventlog.RunCommitted{Run: run.ID})
	s := d.state()
	if s.RepairFailures > 0 && repaired(s, run.Handler) {
		d.emit(&eventlog.RepairCounted{})
	}
	if run.Event == nil {
		d.recovered(run, taken)
	}
	return nil
}

// repaired reports whether the handler's success ends the failures in a row (F9): it is the one
// that failed, or that one is gone. Every repair makes all handlers run, so the success of another
// one would reset the budget each time and repairs would never end.
func repaired(s *projections.State, handler eventlog.Handler) bool {
	failed := s.RepairHandler
	_, producer := s.Definition().Producer(failed)
	_, consumer := s.Definition().Consumer(failed)
	return handler == failed || !producer && !consumer
}

// finishEvents consumes what the run holds, and skips what prepare cancelled (J5) or a person
// asked to skip meanwhile (O7). It returns how many events the run took out of its topics.
func (d *decision) finishEvents(run *projections.Run) (taken int) {
	taken = len(run.Reserved)
	cancelled := make(map[eventlog.EventRef]string, len(run.Cancel))
	for _, x := range slices.Backward(run.Cancel) { // of two the first counts
		cancelled[eventlog.EventRef{Topic: x.Topic, MessageID: x.MessageID}] = x.Reason
	}
	for _, e := range d.state().Held(run) {
		reason, cancel := cancelled[eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}]
		if cancel || e.SkipRequested {
			d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Reason: reason})
		} else if run.Empty {
			d.putOff(run, e)
		} else {
			d.emit(&eventlog.EventConsumed{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		}
	}
	for _, x := range run.Cancel {
		if e := d.event(x.Topic, x.MessageID); e != nil && e.Status == eventlog.EventPending {
			d.emit(&eventlog.EventSkipped{Topic: x.Topic, MessageID: x.MessageID, Run: run.ID, Reason: x.Reason})
			taken++
		}
	}
	return taken
}

// settleHandler is S3 and S4 at a consumer's commit: replace wakeAt; after an empty run, what its
// peek could have seen is looked at; after one that took events, look again. A retry run (R15) has
// not peeked at all: it clears nothing, or what came since its chain began would wait forever.
func (d *decision) settleHandler(run *projections.Run, taken int) {
	h := d.state().Handler(run.Handler)
	if h == nil || d.err != nil {
		return
	}
	if h.WakeAt != run.WakeAt {
		d.emit(&eventlog.HandlerWakeRequested{Handler: h.Name, WakeAt: run.WakeAt})
	}
	switch {
	case taken > 0 && h.DirtyAt == 0:
		d.emit(&eventlog.HandlerDirtied{Handler: h.Name})
	case taken == 0 && run.RetryOf == "" && h.DirtyAt > 0 && h.DirtyAt <= run.StartRevision:
		d.emit(&eventlog.HandlerCleaned{Handler: h.Name})
	}
}
