package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// heldWell: a held event stays held until something ends that, its reason is what its run and its mutation say, and
// all of them are counted (C5).
func (j *judge) heldWell(b *book, s *projections.State) {
	a := &b.abreast
	for ref, f := range a.held {
		e := s.Event(ref.Topic, ref.MessageID)
		if e == nil || e.Held == nil || e.Held.Reason != f.Reason {
			j.sim.violate("event %s of topic %s in %s is held (%s), and the log has it as %+v (C5)", ref.MessageID, ref.Topic,
				b.name, f.Reason, e)
		} else if !reasonable(s, e) {
			j.sim.violate("event %s of topic %s in %s is %s and held for %s, which is not what it waits for (C5)", ref.MessageID,
				ref.Topic, b.name, e.Status, e.Held.Reason)
		}
	}
	counted := 0
	for _, n := range s.Counts.Held {
		counted += n.Events
	}
	if counted != len(a.held) {
		j.sim.violate("%s counts %d held events, and there are %d (C5)", b.name, counted, len(a.held))
	}
	for ref, run := range a.of {
		if _, held := a.held[ref]; !held && needsHold(s, run) {
			j.sim.violate("event %s of topic %s in %s is not held, and the call of run %s is open or awaits approval (C5)",
				ref.MessageID, ref.Topic, b.name, j.sim.alias(string(run.id)))
		}
	}
}

// needsHold reports whether the run waits for what became of its call, or for an approval.
func needsHold(s *projections.State, run *abreastRun) bool {
	r := s.Run(run.id)
	m := s.Mutation(r.Mutation)
	if r.Mutation == "" || m == nil {
		return false
	}
	return run.ended && m.Status.Unresolved() || run.waiting && m.Status == eventlog.MutationAwaitingApproval &&
		m.ApprovedAt == 0
}

// reasonable reports whether what the event is held for is what its run and its mutation say.
func reasonable(s *projections.State, e *projections.TopicEvent) bool {
	if e.Status == eventlog.EventPending {
		return e.Held.Reason == eventlog.HeldRepair || e.Held.Reason == eventlog.HeldPerson
	}
	run := s.Run(e.ReservedBy)
	if e.Status != eventlog.EventStatusReserved || run == nil {
		return false
	}
	m := s.Mutation(run.Mutation)
	if run.Mutation == "" {
		m = nil
	}
	switch e.Held.Reason {
	case eventlog.HeldApproval:
		return m != nil && m.Status == eventlog.MutationAwaitingApproval && run.EndedAt == 0
	case eventlog.HeldReconcile:
		return m != nil && m.Status.Unresolved() && m.Status != eventlog.MutationIndeterminate
	case eventlog.HeldIndeterminate:
		return m != nil && m.Status == eventlog.MutationIndeterminate
	}
	return run.Owes && run.Phase.PastMutation()
}

// heldOf lists what is held of the workflow, the oldest first.
func heldOf(s *projections.State) (held []*projections.TopicEvent) {
	if len(s.Counts.Held) == 0 {
		return nil
	}
	for _, e := range s.Events() {
		if e.Held != nil {
			held = append(held, e)
		}
	}
	slices.SortFunc(held, func(a, b *projections.TopicEvent) int {
		return cmp.Or(cmp.Compare(a.Created.Seq, b.Created.Seq), cmp.Compare(a.Created.N, b.Created.N))
	})
	return held
}

// named: what the engine waits for names each call that holds an event.
func (j *judge) named(n *node, s *projections.State, todos []decide.Todo) {
	subjects := map[string]bool{}
	for _, todo := range todos {
		switch todo := todo.(type) {
		case decide.Wait:
			subjects[todo.Subject] = true
		case decide.AwaitCall:
			subjects[string(todo.Mutation)] = true
		case decide.ReconcileMutation:
			subjects[string(todo.Mutation)] = true
		}
	}
	for _, e := range heldOf(s) {
		run := s.Run(e.ReservedBy)
		if run == nil || e.Held.Reason == eventlog.HeldRepair || e.Held.Reason == eventlog.HeldPerson {
			continue
		}
		if !subjects[string(run.Mutation)] {
			j.sim.violate("engine %d holds event %s of topic %s in %s for %s and does not say that it waits for mutation %s",
				n.number, e.MessageID, e.Topic, s.Name, e.Held.Reason, j.sim.alias(string(run.Mutation)))
		}
	}
}

// freeing is a way out of a hold that an operator has taken.
type freeing struct {
	event eventlog.EventRef
	held  projections.Held
	what  string
}

// free lets an operator end what holds the event, in one of the ways that there are. It reports false when there is
// none, because the engine is finding out.
func (s *sim) free(n *node, w *workflow, state *projections.State, e *projections.TopicEvent) (what string) {
	ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
	m := eventlog.MutationID("")
	if run := state.Run(e.ReservedBy); run != nil {
		m = run.Mutation
	}
	ways := map[eventlog.HeldReason][]string{
		eventlog.HeldApproval:      {"approve", "approve", "approve", "reject", "skip"},
		eventlog.HeldIndeterminate: {"resolve"},
		eventlog.HeldPerson:        {"resume", "resume", "redrive"},
		eventlog.HeldRepair:        {"redeploy", "repair", "redrive"},
	}[e.Held.Reason]
	if len(ways) > 0 && e.Status == eventlog.EventPending {
		ways = append(slices.Clip(ways), "skip", "cancel")
	}
	if len(ways) == 0 {
		return ""
	}
	switch what = pick(s, ways...); what {
	case "approve":
		s.command(n, w, what, decide.Approve{Mutation: m})
	case "reject":
		s.command(n, w, what, decide.Reject{Mutation: m})
	case "resolve":
		resolution := pick(s, decide.DidHappen, decide.Skip)
		if !s.calm {
			resolution = pick(s, decide.DidHappen, decide.DidNotHappen, decide.Skip, decide.TryAgain)
		}
		s.command(n, w, what, decide.Resolve{Mutation: m, Resolution: resolution})
	case "resume":
		s.command(n, w, what, decide.Resume{})
	case "redeploy":
		s.redeploy(n, w, state)
	case "repair":
		s.repair(n, w, state)
	case "redrive":
		s.command(n, w, what, decide.RedriveJob{Topic: ref.Topic, MessageID: ref.MessageID})
	case "skip":
		s.command(n, w, what, decide.SkipEvent{Topic: ref.Topic, MessageID: ref.MessageID, Reason: "not wanted"})
	case "cancel":
		s.command(n, w, what, decide.CancelJob{Topic: ref.Topic, MessageID: ref.MessageID})
	}
	s.did("free: " + what)
	return what
}

// assistHeld lets an operator do something about an event that is held, and reports whether there is one.
func (s *sim) assistHeld(n *node, w *workflow) bool {
	state, ok := n.engine.State(w.name)
	if !ok {
		return false
	}
	for run := range state.OpenRuns() { // whose next has still to run: no other run may have its event before (C1)
		if e := state.Event(run.Event.Topic, run.Event.MessageID); e != nil && e.Status == eventlog.EventStatusSkipped &&
			s.chance(0.5) {
			s.command(n, w, "redrive", decide.RedriveJob{Topic: e.Topic, MessageID: e.MessageID, IncludingUnknown: true})
			return true
		}
	}
	held := heldOf(&state)
	return len(held) > 0 && s.free(n, w, &state, pick(s, held...)) != ""
}

// helpHeld ends, in the calm, one of the holds that are left. Each way out ends the hold that it was taken for. It
// reports false when none is left that a person can end.
func (s *sim) helpHeld(n *node, w *workflow, state *projections.State) bool {
	held := slices.DeleteFunc(heldOf(state), func(e *projections.TopicEvent) bool {
		return e.Held.Reason == eventlog.HeldReconcile
	})
	if last := s.freed[w]; last != nil {
		s.freed[w] = nil
		for _, e := range held {
			if e.Topic == last.event.Topic && e.MessageID == last.event.MessageID && *e.Held == last.held {
				s.violate("event %s of topic %s in %s is held for %s, and %s did not help (C5)", e.MessageID, e.Topic, w.name,
					e.Held.Reason, last.what)
			}
		}
	}
	if len(held) == 0 {
		return false
	}
	e := pick(s, held...)
	if pin, ok := state.Definition().Operation(connectorName, opSend); ok && pin.Reconciles == s.mute.Load() {
		s.redeploy(n, w, state) // what a resume lets go on would fail the same way again
		return true
	}
	if what := s.free(n, w, state, e); what != "" {
		s.freed[w] = &freeing{eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}, *e.Held, what}
	}
	return true
}

// helpBeside does what a workflow's concurrent consumers wait for, and reports whether nothing is left to do.
func (s *sim) helpBeside(n *node, w *workflow, state *projections.State) bool {
	if s.helpHeld(n, w, state) {
		return false
	}
	for _, todo := range s.owed(n, state) {
		wait, waits := todo.(decide.Wait)
		c, _ := state.Definition().Consumer(eventlog.Handler(wait.Subject))
		if !waits || wait.Reason.Meaning() == decide.GoesOn || c.Concurrent() { // an event of it was put off (C6)
			s.wait()
			return false
		}
	}
	return true
}

// owed is what the engine owes the workflow by its state.
func (s *sim) owed(n *node, state *projections.State) []decide.Todo {
	return decide.Owed(state, decide.Present{Now: eventlog.At(s.clock.Now()), Engine: *n.name.Load(),
		MaxHeld: s.policies.Held.Max})
}

// row are the first failures of events, one after the other with the same class; probing is a wait for the target
// (C7).
type (
	row struct {
		class  eventlog.Class
		events []eventlog.EventRef
		began  uint64 // at which the run of the first of them began
	}
	probing struct {
		began   uint64
		attempt int
	}
)

// failedAbreast holds the failure of a concurrent consumer's run against C7, by an own account of the rows.
func (j *judge) failedAbreast(b *book, r eventlog.Record, f *eventlog.RunFailed, run *abreastRun,
	after *projections.State) {
	a := &b.abreast
	h := a.handler(run.handler)
	if f.Status == eventlog.RunPausedReconcile && r.Cause.Kind != "restart" && len(h.uncertain) < 3 {
		m := after.Run(f.Run).Mutation
		h.uncertain = append(slices.Clip(h.uncertain), m)
	}
	if f.Status == eventlog.RunStatusCrashed || f.Status == eventlog.RunPausedReconcile ||
		b.phases[f.Run].PastMutation() || f.Failure.Code == "storage.slow" {
		return // nothing of it says anything of the target
	}
	about := func(why string) {
		j.sim.violate("event %s of topic %s in %s failed as %s and %s (C5, C7)", run.event.MessageID, run.event.Topic, b.name,
			f.Failure.Class, why)
	}
	end, held := fate(r, run.event)
	probes := slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		probe, ok := f.(*eventlog.HandlerProbeScheduled)
		return ok && probe.Handler == run.handler
	})
	ofTarget := slices.Contains([]eventlog.Class{eventlog.Transient, eventlog.Auth, eventlog.Permission,
		eventlog.Internal}, f.Failure.Class) && !neverSent(r, f.Run)
	if h.probing != nil && ofTarget {
		if end != "event.released" || held {
			about("its consumer probes: it is " + string(end))
		}
		if !probes && run.start > h.probing.began {
			about("no further probe is to come")
		}
		return
	}
	trips := false
	var others []eventlog.EventRef
	if first := a.attemptsOf(run.event).failed <= a.deployed; h.probing == nil && first && !neverSent(r, f.Run) {
		others, trips = h.fails(run, f.Failure.Class, ofTarget)
	}
	switch {
	case trips && !probes:
		about("is the third in a row, and its consumer does not probe")
	case trips && (end != "event.released" || held):
		about("is the third in a row: it is " + string(end))
	case !trips && probes:
		about("is not the third in a row, and its consumer probes")
	case !trips && end == "event.released" && !held && run.version == after.Version:
		about("nothing holds it")
	}
	for _, ref := range others {
		a.forgive(ref)
		if e := after.Event(ref.Topic, ref.MessageID); e.Status == eventlog.EventPending && (e.Held != nil ||
			e.ScheduledAt != 0 || e.Failures != a.attemptsOf(ref).counted) {
			about("with it event " + string(ref.MessageID) + ", which still waits or counts it")
		}
	}
}

// fails counts the first failure of an event. It reports whether that is the third in a row, and the other two.
func (h *abreastHandler) fails(run *abreastRun, class eventlog.Class, ofTarget bool) (others []eventlog.EventRef,
	trips bool) {
	switch {
	case !ofTarget:
		h.row = nil
		return nil, false
	case h.row == nil || h.row.class != class || h.proven > h.row.began || slices.Contains(h.row.events, run.event):
		h.row = &row{class, nil, run.start}
	}
	if h.row.events = append(h.row.events, run.event); len(h.row.events) < 3 {
		return nil, false
	}
	others = h.row.events[:2]
	h.row = nil
	return others, true
}

// forgive takes back what the first failure of the event has counted, while it waits (C7).
func (a *abreast) forgive(ref eventlog.EventRef) {
	x := a.attemptsOf(ref)
	if _, hidden := a.hidden[ref]; hidden && x.last {
		x.counted, x.last = x.counted-1, false
	}
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

// neverSent reports whether the record says that the request of the run's call never left.
func neverSent(r eventlog.Record, run eventlog.RunID) bool {
	return slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		m, ok := f.(*eventlog.MutationFailed)
		return ok && m.Run == run && m.ResolvedBy == eventlog.ResolvedByNeverSent
	})
}

// probes: the next probe comes within 15 s, or when the target asks for it (F13), and a target that asks counts none.
func (j *judge) probes(b *book, r eventlog.Record, f *eventlog.HandlerProbeScheduled) {
	h := b.abreast.handler(f.Handler)
	var asked time.Duration
	for _, other := range r.Facts {
		if failed, ok := other.(*eventlog.RunFailed); ok && failed.Failure.Code == codeBusy {
			run := b.run(failed.Run)
			asked = min(j.sim.world.requests[b.keys[run.Mutation]].retryAfter, eventlog.MaxRetryAfter)
		}
	}
	wait, attempt := max(asked, 15*time.Second), 0
	if h.probing != nil {
		attempt = h.probing.attempt
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

// proves: the commit of a run that began after the trip ends the probing (C7).
func (j *judge) proves(b *book, r eventlog.Record, run *abreastRun) {
	h := b.abreast.handler(run.handler)
	h.proven = max(h.proven, run.start)
	ended := slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		end, ok := f.(*eventlog.HandlerProbingEnded)
		return ok && end.Handler == run.handler
	})
	if h.probing != nil && run.start > h.probing.began && !ended {
		j.sim.violate("run %s of %s in %s has committed, and its consumer still probes (C7)", j.sim.alias(string(run.id)),
			run.handler, b.name)
	}
}

// probesNoMore: only such a commit or a resume ends the probing, and then all transient back-offs are due (C7).
func (j *judge) probesNoMore(b *book, r eventlog.Record, f *eventlog.HandlerProbingEnded, after *projections.State) {
	a := &b.abreast
	h := a.handler(f.Handler)
	proven := h.probing != nil && slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		consumed, ok := f.(*eventlog.EventConsumed)
		run := (*abreastRun)(nil)
		if ok {
			run = a.runs[consumed.Run]
		}
		return run != nil && !run.retry && run.start > h.probing.began
	})
	if !proven && r.Cause.ID != "resume" {
		j.sim.violate("%s of %s probes no more, and nothing has shown that its target works (C7)", f.Handler, b.name)
	}
	h.probing, h.row = nil, nil
	c, _ := after.Definition().Consumer(f.Handler)
	for ref, hidden := range a.hidden {
		if hidden.transient && slices.Contains(c.Subscribe, ref.Topic) {
			delete(a.hidden, ref)
			if e := after.Event(ref.Topic, ref.MessageID); e.BacksOff() {
				j.sim.violate("event %s of topic %s in %s still backs off, and its target works (C7)", ref.MessageID, ref.Topic,
					b.name)
			}
		}
	}
}
