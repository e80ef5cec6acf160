package simulation

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// compare checks an engine's memory and its workers' waits against the log.
func (j *judge) compare(n *node) {
	s := j.sim
	if n.over() && !n.dead && n.err != nil && !errors.Is(n.err, eventlog.ErrFull) {
		s.violate("engine %d ended with %v", n.number, n.err) // only a full disk is the world's doing
	}
	if !n.ready() {
		return
	}
	j.bounded(n)
	for w, err := range n.engine.Stopped() {
		s.violate("engine %d has stopped workflow %s: %v", n.number, w, err)
	}
	j.dealtWith(n)
	for _, w := range s.workflows {
		state, ok := n.engine.State(w.name)
		if !ok {
			continue
		}
		b := j.book(w.name)
		rev := state.Head.Revision
		if rev == 0 || rev > uint64(len(b.past)) {
			s.violate("engine %d is at revision %d of %s, the log at %d", n.number, rev, w.name, len(b.past))
			continue
		}
		j.agree(n, &state, b, rev)
		j.explained(n, &state, w.name)
	}
}

// dealtWith: an engine has read all that it takes to be dealt with, and its store's checkpoint covers no more.
func (j *judge) dealtWith(n *node) {
	for p := range j.next {
		reached := n.engine.ProcessedSeq(p)
		cp, _, err := n.store.Checkpoint(p)
		if err != nil || cp.Seq > reached {
			j.sim.violate("the checkpoint of engine %d is %d in partition %d, and it has dealt with the log up to %d (%v)",
				n.number, cp.Seq, p, reached, err)
		}
		for _, w := range j.sim.workflows {
			b := j.book(w.name)
			if j.sim.memory.PartitionOf(w.name) != p {
				continue
			}
			state, _ := n.engine.State(w.name)
			if read := state.Head.Revision; read < uint64(len(b.seqs)) && b.seqs[read] <= reached {
				j.sim.violate("engine %d takes the log for dealt with up to %d, and has not read revision %d of %s at %d", n.number,
					reached, read+1, w.name, b.seqs[read])
			}
		}
	}
}

// agree compares what changed since the last look: memory is the fold of the log.
func (j *judge) agree(n *node, have *projections.State, b *book, rev uint64) {
	want := b.past[rev-1]
	keys := map[projections.Key]bool{}
	if n.compared[b.name] == 0 {
		for _, k := range want.Keys() {
			keys[k] = true
		}
	}
	for r := n.compared[b.name]; r < rev; r++ {
		for _, k := range b.past[r].Touched {
			keys[k] = true
		}
	}
	n.compared[b.name] = rev
	for k := range keys {
		j.same(n, have, want, k)
	}
	if got, all := pendingPlaces(have), pendingPlaces(want); !slices.Equal(got, all) {
		j.sim.violate("engine %d knows the pending events of %s as %q, the log as %q", n.number, b.name, got, all)
	}
}

// pendingPlaces lists the places of pending events and what is hidden until when: a state knows them whether the
// events are paged out or not.
func pendingPlaces(s *projections.State) (places []string) {
	for _, c := range s.Definition().Consumers {
		for _, topic := range c.Subscribe {
			for q := range s.Queue(topic) {
				if c.Key == "" {
					q.Key = 0 // it means nothing here
				}
				places = append(places, fmt.Sprint(topic, q))
			}
		}
		if c.Concurrent() {
			places = append(places, fmt.Sprint(offers(s, c)))
		}
	}
	for e := range s.Scheduled(0) {
		if s.Subscribed(e.Topic) {
			places = append(places, fmt.Sprint(e))
		}
	}
	return places
}

// same compares one entity. Of a pending event that is paged out the engine has the place only.
func (j *judge) same(n *node, have, want *projections.State, k projections.Key) {
	got, w := have.Entity(k), want.Entity(k)
	event, ok := w.(*projections.TopicEvent)
	paged := ok && event.Status == eventlog.EventStatusPending
	switch {
	case got == nil && want.Live(k) && !paged:
		j.sim.violate("engine %d does not have %c %q of %s in memory, which is not finished", n.number, k.Kind, k.ID,
			want.Name)
	case got == nil:
	case !reflect.DeepEqual(got, w):
		j.sim.violate("engine %d has %c %q of %s as\n%+v\nthe log says\n%+v", n.number, k.Kind, k.ID, want.Name, got, w)
	}
}

// explained: a worker that does nothing owes nothing, and says what it waits for.
func (j *judge) explained(n *node, state *projections.State, w eventlog.WorkflowName) {
	s := j.sim
	if !s.working(n, w) || n.stepped || n.cutOff() {
		return // another engine works; timers do not follow a clock that is set
	}
	if n.stopping || n.name.Load() == nil || s.gate.has(n, w, opAppend, opAck, opScript, opReconcile, opTurn) ||
		s.bubbleNow().Before(s.pausedUntil) {
		return
	}
	if n.failing && len(s.gate.waiting(func(other *node) bool { return other == n })) > 0 {
		return // it is ending because its disk is full, and something that waits at the gate keeps it from that
	}
	if own := j.book(w).written[n]; own > state.Head.Revision {
		s.violate("engine %d is at revision %d of %s and does nothing, and has written up to %d itself", n.number,
			state.Head.Revision, w, own)
		return
	}
	why, ok := n.engine.Why(w)
	if !ok || why == nil {
		s.violate("engine %d does nothing about %s and cannot say why; owed is %T", n.number, w,
			decide.Next(state, eventlog.At(s.clock.Now()), *n.name.Load()))
		return
	}
	if s.concurrent {
		todos := s.owed(n, state)
		// An engine that has stood still for longer than its lease lasts tries once more before it knows. It may also
		// wait for a call.
		lapsed := s.sharing != nil && slices.ContainsFunc(n.engine.Waits(w), func(wait decide.Wait) bool {
			return wait.Reason == decide.ReasonStorage
		})
		if owed := s.owes(n, w, todos); owed != nil && !lapsed {
			s.violate("engine %d waits (%s) in %s and owes %T %+v", n.number, why.Reason, w, owed, owed)
		}
		j.named(n, state, todos)
		if wait, ok := decide.Next(state, eventlog.At(s.clock.Now()), *n.name.Load()).(decide.Wait); ok {
			j.awake(n, state, wait.Reason)
		}
		return
	}
	switch owed := decide.Next(state, eventlog.At(s.clock.Now()), *n.name.Load()).(type) {
	case decide.Wait:
		j.awake(n, state, why.Reason)
		if why.Reason != owed.Reason && why.Reason != decide.ReasonStorage {
			s.violate("engine %d says that %s waits for %s; by its state it is %s", n.number, w, why.Reason, owed.Reason)
		}
	case decide.AwaitCall:
		if why.Reason != decide.ReasonCall {
			s.violate("engine %d says that %s waits for %s; by its state its call is open", n.number, w, why.Reason)
		}
		r := s.world.requests[decide.IdempotencyKey(w, owed.Mutation)]
		if silent := r != nil && s.bubbleNow().Before(r.silentUntil); !silent && !s.gate.has(n, w, opPerform) {
			s.violate("engine %d waits for a call of %s that is not being made", n.number, w)
		}
	default:
		if why.Reason != decide.ReasonStorage {
			s.violate("engine %d waits (%s) in %s and owes %T", n.number, why.Reason, w, owed)
		}
	}
}

// offers lists what may begin of the workflow's concurrent consumers, in its order.
func offers(s *projections.State, c eventlog.Consumer) (all []projections.Candidate) {
	const forever = eventlog.Instant(1<<63 - 1)
	for _, tried := range []bool{false, true} {
		all = slices.AppendSeq(all, s.Offered(c, tried, forever))
		all = append(all, projections.Candidate{})
	}
	return all
}

// owes is the first of the todos that is no wait and that the engine neither does nor may leave for now.
func (s *sim) owes(n *node, w eventlog.WorkflowName, todos []decide.Todo) decide.Todo {
	for _, todo := range todos {
		switch todo := todo.(type) {
		case decide.Wait:
		case decide.AwaitCall:
			key := decide.IdempotencyKey(w, todo.Mutation)
			r := s.world.requests[key]
			if silent := r != nil && s.bubbleNow().Before(r.silentUntil); !silent && !s.gate.performs(n, key) {
				return todo
			}
		case decide.ReconcileMutation:
			state := s.judge.book(w).state()
			again := state.Mutation(todo.Mutation).Call.Resends()
			if !again || !s.tight.Load() && !s.bubbleNow().Before(s.roomyAt) {
				return todo
			}
		case decide.BeginEvent, decide.StartRun:
			if !s.tight.Load() && !s.bubbleNow().Before(s.roomyAt) {
				return todo
			}
		default:
			return todo
		}
	}
	return nil
}

// nothingLeft: at rest no run is open, nothing is held, and no visible event waits.
func (s *sim) nothingLeft(w *workflow) {
	state := s.judge.book(w.name).state()
	if !state.Exists() || state.Archived {
		return
	}
	if state.Current != "" || state.PendingRetry != "" || state.Blocked != nil || state.Maintenance != nil ||
		state.Session != "" {
		s.violate("%s rests and is not done: %+v", w.name, state.Workflow)
	}
	now := eventlog.At(s.clock.Now())
	for run := range state.OpenRuns() {
		s.violate("%s rests and run %s is not over", w.name, s.alias(string(run.ID)))
	}
	for _, e := range state.Events() {
		c, subscribed := state.Definition().Subscriber(e.Topic)
		if c.Concurrent() && (e.Status == eventlog.EventStatusPending || e.Held != nil) {
			s.violate("%s rests while event %s of topic %s is %s", w.name, e.MessageID, e.Topic, e.Status)
		}
		ref, wakes := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}, s.judge.book(w.name).wakes
		if s.survived && e.Status == eventlog.EventStatusPending && wakes.left[ref] == wakes.became[ref] {
			continue // a run has looked at it and left it; only a new engine looks again (S3, S6)
		}
		if e.Status == eventlog.EventStatusReserved || subscribed && e.Visible(now) {
			s.violate("%s rests while event %s of topic %s is %s", w.name, e.MessageID, e.Topic, e.Status)
		}
	}
}

// stored: what the stopped engine left in its store is the fold of the whole log.
func (s *sim) stored(n *node, w *workflow) {
	b := s.judge.book(w.name)
	if len(b.past) == 0 {
		return
	}
	state := b.state()
	for _, k := range state.Keys() {
		rows, err := n.store.Get(w.name, []projections.Key{k})
		if err != nil || len(rows) != 1 {
			s.violate("the store has %d rows for %c %q of %s (%v)", len(rows), k.Kind, k.ID, w.name, err)
			return
		}
		if want := state.Entity(k); !reflect.DeepEqual(rows[0], want) {
			s.violate("the store has %c %q of %s as\n%+v\nthe log says\n%+v", k.Kind, k.ID, w.name, rows[0], want)
			return
		}
	}
}

// awake: at rest, every visible event of a subscribed topic was seen by a run that left it.
func (j *judge) awake(n *node, s *projections.State, why decide.Reason) {
	if why.Meaning() != decide.Rests {
		return
	}
	b := j.book(s.Name)
	if s.Head.Revision != uint64(len(b.past)) {
		return // it does not know the present
	}
	now := eventlog.At(j.sim.clock.Now())
	full := b.state() // the engine itself may have paged some out
	for _, e := range full.Events() {
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		if c, ok := s.Definition().Subscriber(e.Topic); ok && !c.Concurrent() && e.Visible(now) &&
			b.wakes.left[ref] != b.wakes.became[ref] {
			j.sim.violate("engine %d rests (%s) while event %s of topic %s in %s is pending and no run has looked at it (S3)",
				n.number, why, e.MessageID, e.Topic, s.Name)
		}
	}
}
