package simulation

import (
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// followConsumers follows a record of a workflow that has or had a concurrent consumer, and checks it against C1 to
// C12.
func (j *judge) followConsumers(b *book, r eventlog.Record, after *projections.State) {
	if !j.sim.concurrent {
		return
	}
	a := &b.consumers
	a.began = nil
	if r.Cause.ID == "resume" {
		for _, h := range a.handlers {
			h.uncertain, h.streak = nil, nil
		}
	}
	for _, f := range r.Facts {
		j.concurrentFact(b, r, f, after)
	}
	for _, run := range a.began {
		j.beganWell(b, r, run, after)
	}
	j.heldWell(b, after)
}

// concurrentFact takes in one fact.
func (j *judge) concurrentFact(b *book, r eventlog.Record, f eventlog.Fact, after *projections.State) {
	s, a := j.sim, &b.consumers
	switch f := f.(type) {
	case *eventlog.WorkflowDeployed:
		a.deployed = r.Revision
		maps.DeleteFunc(a.hidden, func(_ eventlog.EventRef, hidden hiding) bool { return hidden.deferred })
		for _, h := range a.handlers {
			h.streak = nil
		}
	case *eventlog.RunStarted:
		if f.Event == nil {
			return
		}
		run := &concurrentRun{id: f.Run, handler: f.Handler, event: *f.Event, version: f.Version, key: f.Key,
			start: r.Revision, retry: f.RetryOf != ""}
		if other := a.of[run.event]; other != nil && other.id != f.RetryOf {
			s.violate("run %s begins for event %s of topic %s in %s, and run %s of it is not over (C1)",
				s.alias(string(f.Run)), run.event.MessageID, run.event.Topic, b.name, s.alias(string(other.id)))
		}
		a.runs[f.Run], a.of[run.event] = run, run
		a.began = append(a.began, run)
	case *eventlog.EventReserved:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		if run := a.of[ref]; run != nil && run.id != f.Run {
			s.violate("run %s reserves event %s of topic %s in %s, and run %s of it is not over (C1)", s.alias(string(f.Run)),
				ref.MessageID, ref.Topic, b.name, s.alias(string(run.id)))
		}
		j.offered(b, ref)
		if run := a.of[ref]; run != nil && a.hidden[ref].until > r.At && a.handler(run.handler).probing == nil {
			s.violate("event %s of topic %s in %s goes to a run before its time %s (C5, C6)", ref.MessageID, ref.Topic, b.name,
				a.hidden[ref].until)
		}
		delete(a.hidden, ref)
	case *eventlog.EventTransferred:
		j.offered(b, eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.RunSuspended:
		if run := a.runs[f.Run]; run != nil {
			run.waiting = true
		}
	case *eventlog.RunReactivated:
		if run := a.runs[f.Run]; run != nil {
			run.waiting, run.back = false, r.Revision
			a.began = append(a.began, run)
		}
	case *eventlog.RunCommitted:
		a.end(f.Run)
	case *eventlog.RunFailed:
		if run := a.runs[f.Run]; run != nil {
			run.failed = f.Status != eventlog.RunStatusCrashed
			j.failedConcurrent(b, r, f, run, after)
		}
		a.end(f.Run)
	case *eventlog.RunCrashed:
		a.end(f.Run)
	case *eventlog.RunRetryOwed:
		if run := a.runs[f.Run]; run != nil {
			a.of[run.event] = run
		}
	case *eventlog.RunRetryCleared:
		if run := a.runs[f.Run]; run != nil && a.of[run.event] == run {
			a.end(f.Run)
		}
	case *eventlog.HandlerProbeScheduled:
		j.probes(b, r, f)
	case *eventlog.HandlerProbingEnded:
		j.probesNoMore(b, r, f, after)
	default:
		j.concurrentEvent(b, r, f, after)
	}
}

// concurrentEvent takes in what happens to an event.
func (j *judge) concurrentEvent(b *book, r eventlog.Record, f eventlog.Fact, after *projections.State) {
	a := &b.consumers
	switch f := f.(type) {
	case *eventlog.EventHeld:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.held[ref] = f
		delete(a.hidden, ref)
	case *eventlog.EventFreed:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.endEvent(ref)
	case *eventlog.EventReleased:
		a.givenBack(r, f.Run, eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventDeferred:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		delete(a.held, ref)
		a.hidden[ref] = hiding{until: f.Until, deferred: true}
	case *eventlog.EventRetryScheduled:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.givenBack(r, f.Run, ref)
		class := eventlog.Class("")
		if run := b.run(f.Run); run != nil && run.Failure != nil {
			class = run.Failure.Class
		}
		a.hidden[ref] = hiding{until: f.At, transient: class == eventlog.Transient}
		x := a.attemptsOf(ref)
		if x.last = !f.Uncounted; x.last {
			x.counted++
			j.withinLimit(b, f.Run, ref, x.counted, "scheduled again")
		}
	case *eventlog.EventDiscarded:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		j.withinLimit(b, f.Run, ref, a.attemptsOf(ref).counted, "discarded")
		a.endEvent(ref)
	case *eventlog.EventConsumed:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.endEvent(ref)
		if run := a.runs[f.Run]; run != nil && !run.retry {
			j.proves(b, r, run)
		}
	case *eventlog.EventSkipped:
		a.endEvent(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventGivenUp:
		a.endEvent(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventRedriven:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		if run := a.of[ref]; run != nil {
			j.sim.violate("event %s of topic %s in %s is redriven, and run %s of it is not over (C1)", ref.MessageID, ref.Topic,
				b.name, j.sim.alias(string(run.id)))
		}
		a.endEvent(ref)
		delete(a.attempts, ref)
	default:
		j.doubt(b, f)
	}
}

// doubt follows the calls of concurrent consumers whose outcome is not known, one after the other (C3).
func (j *judge) doubt(b *book, f eventlog.Fact) {
	a := &b.consumers
	known := func(id eventlog.RunID, m eventlog.MutationID) {
		run := a.runs[id]
		if run == nil {
			return
		}
		if h := a.handler(run.handler); len(h.uncertain) < 3 || slices.Contains(h.uncertain, m) {
			h.uncertain = nil
		}
	}
	switch f := f.(type) {
	case *eventlog.MutationApplied:
		known(f.Run, f.Mutation)
	case *eventlog.MutationSkipped:
		if f.ResolvedBy == eventlog.ResolvedByUserSkip { // a rejected one never left
			known(f.Run, f.Mutation)
		}
	case *eventlog.MutationFailed:
		switch f.ResolvedBy {
		case eventlog.ResolvedByNeverSent, eventlog.ResolvedByUserReject, eventlog.ResolvedByUserSkip:
		default:
			known(f.Run, f.Mutation)
		}
	}
}

// withinLimit: an event is discarded with the failure after its limit of counted ones, and never before (J2).
func (j *judge) withinLimit(b *book, run eventlog.RunID, ref eventlog.EventRef, counted int, what string) {
	x := b.consumers.runs[run]
	if x == nil {
		return
	}
	state := b.state()
	c, _ := state.Script(x.version).Definition.Consumer(x.handler)
	limit := 1 << 30
	if c.MaxAttempts != nil {
		limit = *c.MaxAttempts
	}
	if what == "discarded" && counted < limit || what != "discarded" && c.MaxAttempts != nil && counted > limit {
		j.sim.violate("event %s of topic %s in %s is %s with %d failures that count of %v (J2, C7)", ref.MessageID, ref.Topic,
			b.name, what, counted, limit)
	}
}
