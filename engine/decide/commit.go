package decide

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// passMutation moves a run past a mutation that was not made (R4, R5).
func (d *decision) passMutation(id eventlog.RunID) {
	d.emit(&eventlog.RunAdvanced{Run: id, Phase: eventlog.PhaseMutated})
	d.emit(&eventlog.RunAdvanced{Run: id, Phase: eventlog.PhaseEmitting})
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

// noState is C4: runs beside each other could only overwrite what the others have saved.
func noState(run *projections.Run) *eventlog.Failure {
	return failure(eventlog.Logic, "concurrency.state",
		"next of %s returns a state, but a consumer with concurrency has none; publish what has to be kept", run.Handler)
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

// putOff gives back an event that prepare has not chosen: it is invisible until the run's wakeAt, or as long as a
// wakeAt may lie ahead, and a deploy ends that (C6).
func (d *decision) putOff(run *projections.Run, e *projections.TopicEvent) {
	until := run.WakeAt
	if until == 0 {
		until = d.env.Now.Add(d.env.Policies.Wake.Max)
	}
	d.emit(&eventlog.EventDeferred{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Until: until})
}

// finishedOne notes at the commit of a run of one event that a repair has helped: the event had failed by the script
// (F9).
func (d *decision) finishedOne(run *projections.Run) {
	h := d.state().Handler(run.Handler)
	e := d.event(run.Event.Topic, run.Event.MessageID)
	if d.err != nil || h == nil || e == nil {
		return
	}
	d.proven(run, e)
	if h.RepairFailures > 0 && e.Status == eventlog.EventStatusConsumed && failedBefore(e, eventlog.Logic) {
		d.emit(&eventlog.HandlerRepairCounted{Handler: run.Handler})
	}
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

// repaired reports whether the handler's success ends the failures in a row (F9): it is the one
// that failed, or that one is gone. Every repair makes all handlers run, so the success of another
// one would reset the budget each time and repairs would never end.
func repaired(s *projections.State, handler eventlog.Handler) bool {
	failed := s.RepairHandler
	_, producer := s.Definition().Producer(failed)
	_, consumer := s.Definition().Consumer(failed)
	return handler == failed || !producer && !consumer
}
