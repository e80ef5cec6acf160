package decide

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// preparedOne is prepare's outcome in a run of one event: it confirms that event, cancels it (J5) or chooses nothing
// (C6); any other id is the author's fault (C1, R9).
func (d *decision) preparedOne(run *projections.Run, c FinishPrepare) error {
	own := *run.Event
	for _, ref := range c.Prepared.Reservations {
		if ref != own {
			d.fail(run, *otherEvent(run, ref, "reserve"))
			return nil
		}
	}
	for _, x := range c.Prepared.Cancel {
		if ref := (eventlog.EventRef{Topic: x.Topic, MessageID: x.MessageID}); ref != own {
			d.fail(run, *otherEvent(run, ref, "cancel"))
			return nil
		}
	}
	d.warnings = append(d.warnings, c.Prepared.Warnings...)
	chosen := len(c.Prepared.Reservations) > 0
	empty := !chosen && len(c.Prepared.Cancel) == 0
	wake := c.Prepared.WakeAt
	if wake != 0 && !empty {
		d.warnings = append(d.warnings,
			"wakeAt was ignored: in a consumer with concurrency it says when an event that was not chosen is looked at again")
		wake = 0
	}
	consumer := d.consumer(run)
	d.lead(&eventlog.RunPrepared{
		Run: run.ID, Result: c.Prepared.Raw, UITitle: c.Prepared.UITitle, WakeAt: d.clampWake(wake),
		Cancel: c.Prepared.Cancel, Empty: empty,
	})
	if !chosen {
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

func otherEvent(run *projections.Run, ref eventlog.EventRef, verb string) *eventlog.Failure {
	return failure(eventlog.Logic, "reservation.other",
		"prepare wants to %s event %q of topic %q, but this run of %s is for event %q of topic %q alone", verb,
		eventlog.ClipName(ref.MessageID), eventlog.ClipName(ref.Topic), run.Handler,
		eventlog.ClipName(run.Event.MessageID), run.Event.Topic)
}

// noState is C4: runs beside each other could only overwrite what the others have saved.
func noState(run *projections.Run) *eventlog.Failure {
	return failure(eventlog.Logic, "concurrency.state",
		"next of %s returns a state, but a consumer with concurrency has none; publish what has to be kept", run.Handler)
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
