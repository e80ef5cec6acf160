package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// look reads what is new in the log and compares every engine with it.
func (j *judge) look() {
	for p := range j.next {
		for r, err := range j.sim.memory.Read(context.Background(), p, j.next[p]+1) {
			if err != nil {
				j.sim.violate("the log cannot be read: %v", err)
				return
			}
			j.next[p] = r.Position.Seq
			j.record(r)
		}
	}
	j.acknowledged()
	j.arrivals()
	for _, n := range j.sim.nodes {
		j.compare(n)
	}
}

// acknowledged: every push that an engine has acknowledged is in the log.
func (j *judge) acknowledged() {
	j.sim.mu.Lock()
	acked := j.sim.acked
	j.sim.acked = nil
	j.sim.mu.Unlock()
	for _, at := range acked {
		s := j.book(at.workflow).state()
		if s.Event(at.ref.Topic, at.ref.MessageID) == nil {
			j.sim.violate("event %s of topic %s in %s was acknowledged and is not in the log", at.ref.MessageID, at.ref.Topic,
				at.workflow)
		}
	}
}

func (j *judge) record(r eventlog.Record) {
	s, b := j.sim, j.book(r.Workflow)
	j.transitions++
	s.say("    %s r%d %s by %s: %s", r.Workflow, r.Revision, r.Kind, r.Actor.Name, j.describe(r))
	before := b.state()
	after, err := projections.Apply(before, &r)
	if err != nil {
		s.violate("the log of %s does not fold: %v", r.Workflow, err)
		return
	}
	b.past, b.seqs = append(b.past, after), append(b.seqs, r.Position.Seq)
	b.writer = nil
	if n, ok := s.writers.LoadAndDelete(r.ID); ok {
		b.writer = n.(*node)
		b.written[b.writer] = r.Revision
	}
	for _, f := range r.Facts {
		s.did(string(f.FactType()))
		j.fact(b, r, f, before)
		j.leftAlone(b, r, f, before)
		j.spared(b, r, f)
		b.wakes.fact(b, f)
	}
	j.followConsumers(b, r, after)
	if orphans := decide.Orphans(after); len(orphans) > 0 {
		s.violate("%s has reserved events that no run holds: %v", r.Workflow, orphans)
	}
	j.reserved(b, after)
	if active, current := j.active(b, after), after.Current; active > 1 || active == 1 && current == "" {
		s.violate("%s has %d active runs (S1)", r.Workflow, active)
	}
}

func (j *judge) active(b *book, s *projections.State) (n int) {
	for id := range b.phases {
		if run := s.Run(id); !b.ended[id] && run != nil && run.Event == nil && run.Status == eventlog.RunStatusActive {
			n++
		}
	}
	return n
}

// reserved: while it is not known whether a mutation happened, its events stay reserved and its run
// is the one that everything waits for (R16, O7).
func (j *judge) reserved(b *book, s *projections.State) {
	for m, id := range b.open {
		run := s.Run(id)
		if run == nil || id != s.Current && id != s.PendingRetry && !s.Open(id) {
			j.sim.violate("mutation %s of %s is not settled and no run waits for it (R16)", j.sim.alias(string(m)), b.name)
			return
		}
		if id == s.PendingRetry && s.Blocked == nil {
			j.sim.violate("mutation %s of %s is not settled and nothing holds the workflow (F7, O6)", j.sim.alias(string(m)),
				b.name)
		}
		if reserved := s.ReservedBy(run); len(reserved) != len(run.Reserved) {
			j.sim.violate("mutation %s of %s is not settled and only %d of its %d events are reserved (R16)",
				j.sim.alias(string(m)), b.name, len(reserved), len(run.Reserved))
		}
	}
}

// fact checks one fact by the judge's own books.
func (j *judge) fact(b *book, r eventlog.Record, f eventlog.Fact, before *projections.State) {
	s, accepting := j.sim, r.Kind == decide.KindGivenUp || r.Kind == "workflow.loss_accepted"
	switch f := f.(type) {
	case *eventlog.RunStarted:
		if _, known := b.phases[f.Run]; known {
			s.violate("run %s starts twice", s.alias(string(f.Run)))
		}
		b.phases[f.Run] = f.Phase
	case *eventlog.RunAdvanced:
		j.advance(b, f.Run, f.Phase)
		if b.ended[f.Run] && f.Phase != eventlog.PhaseMutated {
			s.violate("run %s has ended and reaches %s (R15)", s.alias(string(f.Run)), f.Phase)
		}
	case *eventlog.RunPrepared:
		j.advance(b, f.Run, eventlog.PhasePrepared)
		j.prepared(f)
	case *eventlog.RunCommitted:
		j.advance(b, f.Run, eventlog.PhaseCommitted)
		j.end(b, f.Run)
		if run := b.run(f.Run); run.Status != eventlog.RunStatusCommitted || run.Phase != eventlog.PhaseCommitted {
			s.violate("run %s is committed with status %s and phase %s (R2)", s.alias(string(f.Run)), run.Status, run.Phase)
		}
	case *eventlog.RunFailed:
		j.end(b, f.Run)
		j.failedIn(b, f)
		b.cutOff[f.Run] = f.Status == eventlog.RunStatusPausedReconcile && r.Cause.Kind == "restart"
	case *eventlog.RunCrashed:
		j.end(b, f.Run)
		for _, other := range r.Facts {
			if t := other.FactType(); t == "event.discarded" || t == "event.retry_scheduled" {
				s.violate("the crash of run %s counts against a job: %s (J6)", s.alias(string(f.Run)), t)
			}
		}
	case *eventlog.RunSuspended:
		b.awaiting[f.Run] = true
	case *eventlog.RunReactivated:
		if b.ended[f.Run] || !b.awaiting[f.Run] {
			s.violate("run %s is active again and did not await an approval (R15)", s.alias(string(f.Run)))
		}
		delete(b.awaiting, f.Run)
	case *eventlog.EventPublished:
		b.publishedAgain(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}, accepting)
	case *eventlog.WorkflowDeployed:
		if !accepting && !f.Repair && !maps.Equal(f.Grants, before.Grants) {
			clear(b.asks)
		}
	case *eventlog.WorkflowGranted:
		if !accepting {
			clear(b.asks)
		}
	case *eventlog.EventConsumed:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		if b.consumed[ref] && !b.again[ref] {
			s.violate("event %s of topic %s in %s is consumed twice", f.MessageID, f.Topic, b.name)
		}
		b.consumed[ref] = true
		delete(b.again, ref)
	case *eventlog.EventGivenUp:
		if ref := (eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}); f.Status == eventlog.EventStatusConsumed &&
			!b.consumed[ref] {
			s.violate("event %s of topic %s in %s is given up as consumed and never was", f.MessageID, f.Topic, b.name)
		}
	case *eventlog.EventRedriven:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		if b.consumed[ref] && !b.again[ref] {
			// A person may redrive it where the log cannot tell any more that it was consumed, and says so (O11).
			if e := before.Event(f.Topic, f.MessageID); !accepting && (!b.consumptions.record[ref] || e == nil || !e.Unknown) {
				s.violate("event %s of topic %s is consumed and redriven (J3)", f.MessageID, f.Topic)
			}
			b.again[ref] = true
		}
		// An acceptance asks for nothing again, nor does a skip of a discarded event (O7), and of an event that was held
		// nothing had happened (J3).
		gaveUp := slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
			skipped, ok := f.(*eventlog.EventSkipped)
			return ok && ref == eventlog.EventRef{Topic: skipped.Topic, MessageID: skipped.MessageID}
		})
		if e := before.Event(f.Topic, f.MessageID); !accepting && !gaveUp && e.Held == nil {
			s.world.excuse(b.name, ref)
		}
	case *eventlog.WorkflowPaused, *eventlog.WorkflowResumed:
		if r.Actor.Kind != "user" {
			s.violate("%s changed a person's pause (F7)", r.Actor.Name)
		}
	default:
		j.mutation(b, r, f)
	}
}

func (j *judge) advance(b *book, run eventlog.RunID, to eventlog.Phase) {
	if from := b.phases[run]; !to.After(from) {
		j.sim.violate("run %s goes from %s to %s (R1)", j.sim.alias(string(run)), from, to)
	}
	b.phases[run] = to
}

func (j *judge) end(b *book, run eventlog.RunID) {
	if b.ended[run] {
		j.sim.violate("run %s ends twice (R15)", j.sim.alias(string(run)))
	}
	b.ended[run] = true
	delete(b.awaiting, run)
}

// describe renders a record's facts without ids that the seed does not fix.
func (j *judge) describe(r eventlog.Record) string {
	var words []string
	for _, f := range r.Facts {
		word := string(f.FactType())
		switch f := f.(type) {
		case *eventlog.RunStarted:
			word += fmt.Sprintf("(%s %s", j.sim.alias(string(f.Run)), f.Handler)
			if f.RetryOf != "" {
				word += " retry of " + j.sim.alias(string(f.RetryOf))
			}
			if f.Event != nil {
				word += fmt.Sprintf(" for %s/%s", f.Event.Topic, f.Event.MessageID)
			}
			word += ")"
		case *eventlog.RunAdvanced:
			word += "(" + string(f.Phase) + ")"
		case *eventlog.RunFailed:
			word += fmt.Sprintf("(%s %s)", f.Status, f.Failure.Code)
		case *eventlog.EventPublished:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.EventReserved:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.EventReleased:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.EventConsumed:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.EventSkipped:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.EventGivenUp:
			word += fmt.Sprintf("(%s/%s %s)", f.Topic, f.MessageID, f.Status)
		case *eventlog.EventHeld:
			word += fmt.Sprintf("(%s/%s %s)", f.Topic, f.MessageID, f.Reason)
		case *eventlog.EventFreed:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.EventDeferred:
			word += fmt.Sprintf("(%s/%s %s)", f.Topic, f.MessageID, f.Until)
		case *eventlog.EventRetryScheduled:
			word += fmt.Sprintf("(%s/%s %s)", f.Topic, f.MessageID, f.At)
		case *eventlog.EventRedriven:
			word += fmt.Sprintf("(%s/%s)", f.Topic, f.MessageID)
		case *eventlog.HandlerProbeScheduled:
			word += fmt.Sprintf("(%s %d %s)", f.Handler, f.Attempt, f.At)
		case *eventlog.RunRetryOwed:
			word += fmt.Sprintf("(%s %s)", j.sim.alias(string(f.Run)), f.At)
		case *eventlog.MutationGivenUp:
			word += fmt.Sprintf("(%s, was %s)", j.sim.alias(string(f.Mutation)), f.Status)
		case *eventlog.MutationStarted:
			word += fmt.Sprintf("(%s %s)", j.sim.alias(f.Key), f.Call.Operation)
		case *eventlog.MutationResent:
			word += fmt.Sprintf("(attempt %d until %s)", f.Attempt, f.Deadline)
		case *eventlog.MutationFailed:
			word += fmt.Sprintf("(%s %s)", f.Failure.Code, f.ResolvedBy)
		case *eventlog.WorkflowBlocked:
			word += "(" + string(f.Reason) + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// look waits for quiescence and checks everything.
func (s *sim) look() error {
	s.cfg.AwaitBlocked()
	s.breathe()
	for s.exchanges() {
		s.cfg.AwaitBlocked() // one that gives way is told of
	}
	s.judge.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == "" {
		return nil
	}
	return &Violation{Seed: s.cfg.Seed, Focus: s.cfg.Focus, Message: s.bad, Trace: s.trace}
}
