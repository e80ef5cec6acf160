package decide

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// FinishPrepare reports on prepare and on what followed it in the same step without touching
// the outside: mutate, when it made or named no read, and next, when there is nothing to mutate.
type FinishPrepare struct {
	Run      eventlog.RunID
	Prepared Prepared
	Failure  *eventlog.Failure
	// Seen is the state that prepare peeked at, nil for none, and SeenPending what getByIds has shown it as pending
	// besides (R9).
	Seen        *projections.State
	SeenPending []eventlog.EventRef
	Mutate      *FinishMutate
	Next        *CommitRun
}

// decide of FinishPrepare reserves what prepare chose (R9) and goes on to mutate, or to next where nothing is reserved
// (R3).
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
	chosen, bad, err := d.checkChoices(consumer, &c)
	switch {
	case err != nil:
		return err
	case bad != nil:
		d.fail(run, *bad)
		return nil
	}
	d.warnings = append(d.warnings, c.Prepared.Warnings...)
	d.emitNaming(&eventlog.RunPrepared{
		Run: run.ID, Result: c.Prepared.Raw, UITitle: c.Prepared.UITitle,
		WakeAt: d.clampWake(c.Prepared.WakeAt), Cancel: c.Prepared.Cancel,
	})
	for _, ref := range chosen {
		d.emit(&eventlog.EventReserved{Topic: ref.Topic, MessageID: ref.MessageID, Run: run.ID})
	}
	return d.goOn(run, consumer, c)
}

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
	d.emitNaming(&eventlog.RunPrepared{
		Run: run.ID, Result: c.Prepared.Raw, UITitle: c.Prepared.UITitle, WakeAt: d.clampWake(wake),
		Cancel: c.Prepared.Cancel, Empty: empty,
	})
	return d.goOn(run, consumer, c)
}

// goOn leads a run on after its prepare: to mutate, if prepare has chosen something, else straight to next (R3).
func (d *decision) goOn(run *projections.Run, consumer eventlog.Consumer, c FinishPrepare) error {
	if len(c.Prepared.Reservations) == 0 {
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

// outdated reports whether a deploy that came while prepare ran has taken the consumer or a chosen topic away. The run
// held nothing then, so O9 could not refuse the deploy. No later version could finish an event that this run reserved
// now.
func (d *decision) outdated(run *projections.Run, p Prepared) bool {
	s := d.state()
	if run.Version == s.Version {
		return false
	}
	before := d.consumer(run)
	now, ok := s.Definition().Consumer(run.Handler)
	return !ok || slices.ContainsFunc(p.Reservations, func(ref eventlog.EventRef) bool {
		return before.Subscribes(ref.Topic) && !now.Subscribes(ref.Topic)
	})
}

// checkChoices is R9 for all that prepare chose. It returns the events to reserve, each once, or what checkChoice says
// of the first that cannot be chosen.
func (d *decision) checkChoices(c eventlog.Consumer, did *FinishPrepare) (reserve []eventlog.EventRef,
	bad *eventlog.Failure, err error) {
	for _, ref := range did.Prepared.Reservations {
		d.event(ref.Topic, ref.MessageID) // those that are not in memory are read together
	}
	seen := make(map[eventlog.EventRef]bool, len(did.Prepared.Reservations))
	for _, ref := range did.Prepared.Reservations {
		if bad, err = d.checkChoice(c, ref, did, "reserve"); bad != nil || err != nil {
			return nil, bad, err
		}
		if !seen[ref] {
			seen[ref] = true
			reserve = append(reserve, ref)
		}
	}
	if n := len(reserve); c.DeadLetter != "" && n > maxDeadEvents {
		return nil, failure(eventlog.Logic, "limit.result", "prepare reserves %d events; a consumer with deadLetter may "+
			"reserve %d in one run: choose fewer at a time, the rest is for the next run", n, maxDeadEvents), nil
	}
	for _, x := range did.Prepared.Cancel {
		ref := eventlog.EventRef{Topic: x.Topic, MessageID: x.MessageID}
		if bad, err = d.checkChoice(c, ref, did, "cancel"); bad != nil || err != nil {
			return nil, bad, err
		}
	}
	return reserve, nil, nil
}

// saw reports whether prepare was shown the event as pending. It looks for the event's place in the queue, because the
// event itself may be paged out in the state that prepare peeked at.
func (c *FinishPrepare) saw(ref eventlog.EventRef, at projections.Ordinal, now eventlog.Instant) bool {
	if c.Seen != nil {
		if was, queued := c.Seen.Queued(ref.Topic, at); queued && was.Visible(now) {
			return true
		}
	}
	return slices.Contains(c.SeenPending, ref)
}

// checkChoice is R9 for one chosen event. It returns the author's fault, or ErrPrepareAgain when
// the event was there to choose and is gone by now.
func (d *decision) checkChoice(c eventlog.Consumer, ref eventlog.EventRef, did *FinishPrepare,
	verb string) (*eventlog.Failure, error) {
	if !c.Subscribes(ref.Topic) {
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
	if did.saw(ref, e.Created, d.env.Now) {
		return nil, ErrPrepareAgain
	}
	if e.Status == eventlog.EventStatusPending {
		return failure(eventlog.Logic, "reservation.notPending",
			"prepare wants to %s event %q of topic %q, which waits for its retry until %s; "+
				"only pending events that peek returns can be chosen", verb, ref.MessageID, ref.Topic, e.ScheduledAt), nil
	}
	return failure(eventlog.Logic, "reservation.notPending",
		"prepare wants to %s event %q of topic %q, which is %s; only pending events that peek returns can be chosen", verb,
		ref.MessageID, ref.Topic, e.Status), nil
}

// clampWake moves a wanted wake-up time into [now + wake.min, now + wake.max]; 0 is none (S4).
func (d *decision) clampWake(at eventlog.Instant) eventlog.Instant {
	if at == 0 {
		return 0
	}
	return min(max(at, d.env.Now.Add(d.env.Policies.Wake.Min)), d.env.Now.Add(d.env.Policies.Wake.Max))
}
