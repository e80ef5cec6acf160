package simulation

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// offered: what is held is given to no run (C5).
func (j *judge) offered(b *book, ref eventlog.EventRef) {
	if held := b.consumers.held[ref]; held != nil {
		j.sim.violate("event %s of topic %s in %s is held (%s) and goes to a run (C5)", ref.MessageID, ref.Topic, b.name,
			held.Reason)
	}
}

// beganWell checks what the record begins against places, keys, order, times and holds.
func (j *judge) beganWell(b *book, r eventlog.Record, run *concurrentRun, after *projections.State) {
	s, a := j.sim, &b.consumers
	about := func(why string, args ...any) {
		args = append([]any{s.alias(string(run.id)), run.event.MessageID, run.event.Topic, b.name}, args...)
		s.violate("run %s of event %s of topic %s in %s begins "+why, args...)
	}
	c, ok := after.Definition().Consumer(run.handler)
	h := a.handler(run.handler)
	fresh := run.start == r.Revision && !run.retry
	if active := a.active(run.handler); !ok || active > c.Concurrency {
		about("as one of %d at once, and there are %d places (C3)", active, c.Concurrency)
	}
	if h.probing != nil && a.active(run.handler) > 1 {
		about("beside another while its consumer probes (C7)")
	}
	ends := run.start != r.Revision && b.phases[run.id].PastMutation() // only its next is left, and an archive lets it
	if block := after.Blocked; after.Archived && !ends || after.Pause != nil && !after.Archived || block != nil &&
		(block.Reason == eventlog.BlockContradiction || block.Reason == eventlog.BlockLoss) {
		about("while everything is held (C8)")
	}
	if run.start == r.Revision {
		spacing := c.Spacing()
		if last := h.startedAt; last != 0 && r.At >= last && r.At < last.Add(spacing) {
			about("%s after the last, with a rate of one per %s (C12)", r.At.Sub(last), spacing)
		}
		h.startedAt = r.At
	}
	if !fresh {
		return
	}
	if len(h.uncertain) >= 3 {
		about("after %d calls in a row whose outcome is not known (C3)", len(h.uncertain))
	}
	j.keyFree(b, run, c, after, about)
	j.oldestFirst(b, r, run, c, after, about)
}

// keyFree: of a key, the oldest event that is not finished goes first, alone (C2). What began under another version may
// have another key.
func (j *judge) keyFree(b *book, run *concurrentRun, c eventlog.Consumer, after *projections.State,
	about func(string, ...any)) {
	if c.Key == "" {
		return
	}
	own := after.Event(run.event.Topic, run.event.MessageID)
	key := keyOf(c.Key, own.Payload)
	if key != run.key {
		about("with key %s, and that is %s (C2)", run.key, key)
	}
	if key == "" {
		return
	}
	for _, e := range after.Events() {
		if e == own || !c.Subscribes(e.Topic) {
			continue
		}
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		switch e.Status {
		case eventlog.EventStatusPending:
			if e.Created.Before(own.Created) && keyOf(c.Key, e.Payload) == key {
				about("before event %s of topic %s, which is older and has the same key %s (C2)", ref.MessageID, ref.Topic, key)
			}
		case eventlog.EventStatusReserved:
			if other := b.consumers.of[ref]; other != nil && other.version == run.version && other.key == key {
				about("while event %s of topic %s is worked on, which has the same key %s (C2)", ref.MessageID, ref.Topic, key)
			}
		}
	}
}

// keyOf is the canonical JSON of the payload's member, empty for none.
func keyOf(member string, payload json.RawMessage) string {
	var object map[string]int
	if json.Unmarshal(payload, &object) != nil {
		return ""
	}
	n, ok := object[member]
	if !ok {
		return ""
	}
	text, _ := json.Marshal(n)
	return string(text)
}

// oldestFirst: what still waits and may begin is younger, and retries leave half of the places to untried events (C1).
func (j *judge) oldestFirst(b *book, r eventlog.Record, run *concurrentRun, c eventlog.Consumer,
	after *projections.State, about func(string, ...any)) {
	a := &b.consumers
	if a.handler(run.handler).probing != nil {
		return
	}
	own := after.Event(run.event.Topic, run.event.MessageID)
	tried := a.attemptsOf(run.event).failed != 0
	for waits := range after.Offered(c, false, r.At) {
		retries := 0
		for _, other := range a.of {
			if other.handler == run.handler && !other.ended && !other.waiting && !other.retry &&
				a.attemptsOf(other.event).failed != 0 {
				retries++
			}
		}
		switch {
		case slices.ContainsFunc(r.Facts, frees):
		case tried && retries > max(1, c.Concurrency/2):
			about("as one of %d retries of %d places, and untried events wait (C1)", retries, c.Concurrency)
		case !tried && waits.Created.Before(own.Created):
			about("before an older event of topic %s (C1)", waits.Topic)
		}
		break
	}
}

// frees reports whether the fact may have made an event free after others have begun: a retry that commits at once.
func frees(f eventlog.Fact) bool {
	switch f.(type) {
	case *eventlog.RunCommitted, *eventlog.RunReactivated:
		return true
	}
	return false
}

// heldWell: a held event stays held until something ends that, its reason is what its run and its mutation say, and
// all of them are counted (C5).
func (j *judge) heldWell(b *book, s *projections.State) {
	a := &b.consumers
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
func needsHold(s *projections.State, run *concurrentRun) bool {
	r := s.Run(run.id)
	m := s.Mutation(r.Mutation)
	if r.Mutation == "" || m == nil {
		return false
	}
	return run.ended && m.Status.Unresolved() || run.waiting && m.Status == eventlog.MutationStatusAwaitingApproval &&
		m.ApprovedAt == 0
}

// reasonable reports whether what the event is held for is what its run and its mutation say.
func reasonable(s *projections.State, e *projections.TopicEvent) bool {
	if e.Status == eventlog.EventStatusPending {
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
		return m != nil && m.Status == eventlog.MutationStatusAwaitingApproval && run.EndedAt == 0
	case eventlog.HeldReconcile:
		return m != nil && m.Status.Unresolved() && m.Status != eventlog.MutationStatusIndeterminate
	case eventlog.HeldIndeterminate:
		return m != nil && m.Status == eventlog.MutationStatusIndeterminate
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
