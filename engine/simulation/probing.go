package simulation

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// failedConcurrent checks the failure of a concurrent consumer's run against C7, by the judge's own count of failures
// in a row.
func (j *judge) failedConcurrent(b *book, r eventlog.Record, f *eventlog.RunFailed, run *concurrentRun,
	after *projections.State) {
	a := &b.consumers
	h := a.handler(run.handler)
	if f.Status == eventlog.RunStatusPausedReconcile && r.Cause.Kind != "restart" && len(h.uncertain) < 3 {
		m := after.Run(f.Run).Mutation
		h.uncertain = append(slices.Clip(h.uncertain), m)
	}
	if f.Status == eventlog.RunStatusCrashed || f.Status == eventlog.RunStatusPausedReconcile ||
		b.phases[f.Run].PastMutation() {
		return // nothing of it says anything of the target
	}
	h.asked = max(h.asked, r.At.Add(j.asked(b, f)))
	about := func(why string) {
		j.sim.violate("event %s of topic %s in %s failed as %s and %s (C5, C7)", run.event.MessageID, run.event.Topic, b.name,
			f.Failure.Class, why)
	}
	end, held := fate(r, run.event)
	probes := slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		probe, ok := f.(*eventlog.HandlerProbeScheduled)
		return ok && probe.Handler == run.handler
	})
	own := neverSent(r, f.Run) || ownFault(f.Failure)
	ofTarget := slices.Contains([]eventlog.Class{eventlog.Transient, eventlog.Auth, eventlog.Permission,
		eventlog.Internal}, f.Failure.Class) && !own
	if h.probing != nil && ofTarget {
		if end != "event.released" || held {
			about("its consumer probes: it is " + string(end))
		}
		if !probes && run.began() > h.probing.began {
			about("no further probe is to come")
		}
		return
	}
	trips := false
	var others []eventlog.EventRef
	if first := a.attemptsOf(run.event).failed <= a.deployed; h.probing == nil && first && !own {
		others, trips = h.fails(run, f.Failure.Class, ofTarget)
	}
	switch {
	case trips && !probes:
		about("is the third in a row, and its consumer does not probe")
	case trips && (end != "event.released" || held):
		about("is the third in a row: it is " + string(end))
	case !trips && probes && (!own || h.probing == nil):
		about("is not the third in a row, and its consumer probes")
	case !trips && end == "event.released" && !held && run.version == after.Version:
		about("nothing holds it")
	}
	for _, ref := range others {
		e := after.Event(ref.Topic, ref.MessageID)
		if lastClass(e) != f.Failure.Class {
			continue // it has failed in another way since, and waits for that
		}
		if a.attemptsOf(ref).failed == 0 {
			continue // it was redriven since: it begins anew, and is no part of this row
		}
		a.forgive(ref)
		if e.Status == eventlog.EventStatusPending && (e.Held != nil || e.ScheduledAt != 0 ||
			e.Failures != a.attemptsOf(ref).counted) {
			about("with it event " + string(ref.MessageID) + ", which still waits or counts it")
		}
	}
}

// lastClass is the class of the event's last failure, empty where no attempt has failed.
func lastClass(e *projections.TopicEvent) eventlog.Class {
	for _, a := range slices.Backward(e.Attempts) {
		if a.Failure != nil {
			return a.Failure.Class
		}
	}
	return ""
}

// fails counts the first failure of an event. It reports whether that is the third in a row, and the other two.
func (h *concurrentHandler) fails(run *concurrentRun, class eventlog.Class, ofTarget bool) (others []eventlog.EventRef,
	trips bool) {
	switch {
	case !ofTarget:
		h.streak = nil
		return nil, false
	case h.streak == nil || h.streak.class != class || h.proven > h.streak.began ||
		slices.Contains(h.streak.events, run.event):
		h.streak = &streak{class, nil, run.began()}
	}
	if h.streak.events = append(h.streak.events, run.event); len(h.streak.events) < 3 {
		return nil, false
	}
	others = h.streak.events[:2]
	h.streak = nil
	return others, true
}

// fate is how the record gives the event back, and whether it is held then.
func fate(r eventlog.Record, ref eventlog.EventRef) (end eventlog.FactType, held bool) {
	is := func(topic eventlog.Topic, id eventlog.MessageID) bool {
		return ref == eventlog.EventRef{Topic: topic, MessageID: id}
	}
	for _, f := range r.Facts {
		switch x := f.(type) {
		case *eventlog.EventReleased:
			if is(x.Topic, x.MessageID) && end == "" {
				end = f.FactType()
			}
		case *eventlog.EventRetryScheduled:
			if is(x.Topic, x.MessageID) {
				end = f.FactType()
			}
		case *eventlog.EventDiscarded:
			if is(x.Topic, x.MessageID) {
				end = f.FactType()
			}
		case *eventlog.EventHeld:
			held = held || is(x.Topic, x.MessageID)
		}
	}
	return end, held
}

// ownFault reports whether the failure is of the engine or its machine: of its storage, of a process of its own, or of
// a call that it kept from leaving.
func ownFault(f eventlog.Failure) bool {
	switch f.Code {
	case "storage.slow", "storage.read", "storage.reserve", "worker.lost", "script.cancelled", "call.cancelled",
		"call.deadline", "call.heldBack", "mutation.neverSent":
		return true
	}
	return false
}

// spared: no job is charged with what was only the engine's fault: a call that was open when its process ended and that
// did not happen (J6), a fault of its storage (F11), a call that never left.
func (j *judge) spared(b *book, r eventlog.Record, f eventlog.Fact) {
	var id eventlog.RunID
	switch f := f.(type) {
	case *eventlog.EventDiscarded:
		id = f.Run
	case *eventlog.EventRetryScheduled:
		if f.Uncounted {
			return
		}
		id = f.Run
	default:
		return
	}
	for _, other := range r.Facts {
		m, ok := other.(*eventlog.MutationFailed)
		crashed := ok && m.Run == id && m.ResolvedBy == eventlog.ResolvedByReconcile && b.cutOff[id]
		unsent := ok && m.Run == id && m.ResolvedBy == eventlog.ResolvedByNeverSent && m.Failure.Class == eventlog.Transient
		ended, ok := other.(*eventlog.RunFailed)
		own := ok && ended.Run == id && ownFault(ended.Failure)
		if crashed || unsent || own {
			j.sim.violate("run %s of %s counts against a job, and only the engine is to blame: %s (J6, F11)",
				j.sim.alias(string(id)), b.name, f.FactType())
		}
	}
}

// neverSent reports whether the record says that the request of the run's call never left.
func neverSent(r eventlog.Record, run eventlog.RunID) bool {
	return slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		m, ok := f.(*eventlog.MutationFailed)
		return ok && m.Run == run && m.ResolvedBy == eventlog.ResolvedByNeverSent
	})
}

// asked is how long the target of a failed run wants to be left alone; zero where it has not said so (F13).
func (j *judge) asked(b *book, f *eventlog.RunFailed) time.Duration {
	if f.Failure.Code != codeBusy {
		return 0
	}
	return min(j.sim.world.requests[b.keys[b.run(f.Run).Mutation]].retryAfter, eventlog.MaxRetryAfter)
}

// probes: the next probe comes within 15 s, or when the target asks for it (F13), and a target that asks counts none.
func (j *judge) probes(b *book, r eventlog.Record, f *eventlog.HandlerProbeScheduled) {
	h := b.consumers.handler(f.Handler)
	var asked time.Duration
	for _, other := range r.Facts {
		if failed, ok := other.(*eventlog.RunFailed); ok {
			asked = max(asked, j.asked(b, failed))
		}
	}
	wait, attempt := max(asked, 15*time.Second), 0
	if h.probing != nil {
		attempt = h.probing.attempt
	} else {
		wait = max(wait, h.asked.Sub(r.At)) // it may have been another one of the row that was told so
	}
	switch {
	case f.At > r.At.Add(wait) || f.At < r.At.Add(asked):
		j.sim.violate("%s of %s is tried again at %s, and its target asks for %s (C7, F13)", f.Handler, b.name, f.At, asked)
	case asked > 0 && h.probing != nil && f.Attempt > attempt:
		j.sim.violate("%s of %s counts a probe whose target asked for time (C7, F13)", f.Handler, b.name)
	}
	if h.probing == nil {
		h.probing = &probing{began: r.Revision}
	}
	h.probing.attempt = f.Attempt
}

// proves: the commit of a run that began after the probing did ends it (C7).
func (j *judge) proves(b *book, r eventlog.Record, run *concurrentRun) {
	h := b.consumers.handler(run.handler)
	h.proven = max(h.proven, run.began())
	ended := slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		end, ok := f.(*eventlog.HandlerProbingEnded)
		return ok && end.Handler == run.handler
	})
	if h.probing != nil && run.began() > h.probing.began && !ended {
		j.sim.violate("run %s of %s in %s has committed, and its consumer still probes (C7)", j.sim.alias(string(run.id)),
			run.handler, b.name)
	}
}

// probesNoMore: only such a commit, a resume or a deploy that makes the consumer plain ends the probing, and then all
// transient back-offs are due (C7).
func (j *judge) probesNoMore(b *book, r eventlog.Record, f *eventlog.HandlerProbingEnded, after *projections.State) {
	a := &b.consumers
	h := a.handler(f.Handler)
	proven := h.probing != nil && slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		consumed, ok := f.(*eventlog.EventConsumed)
		run := (*concurrentRun)(nil)
		if ok {
			run = a.runs[consumed.Run]
		}
		return run != nil && !run.retry && run.began() > h.probing.began
	})
	c, _ := after.Definition().Consumer(f.Handler)
	if !proven && r.Cause.ID != "resume" && (r.Kind != "workflow.deployed" || c.Concurrent()) {
		j.sim.violate("%s of %s probes no more, and nothing has shown that its target works (C7)", f.Handler, b.name)
	}
	h.probing, h.streak = nil, nil
	for ref, hidden := range a.hidden {
		if hidden.transient && c.Subscribes(ref.Topic) {
			delete(a.hidden, ref)
			if e := after.Event(ref.Topic, ref.MessageID); e.BacksOff() {
				j.sim.violate("event %s of topic %s in %s still backs off, and its target works (C7)", ref.MessageID, ref.Topic,
					b.name)
			}
		}
	}
}
