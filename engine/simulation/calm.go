package simulation

import (
	"reflect"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// calmMoves is within how many moves everything comes to rest once nothing goes wrong any more.
const calmMoves = 2000

// settleDown ends all faults and processes, starts one engine, lets operators help, and holds
// that everything comes to rest.
func (s *sim) settleDown() error {
	if err := s.look(); err != nil {
		return err
	}
	s.calm, s.full = true, false
	s.away.Store(false)
	if s.tight.Swap(false) {
		s.roomyAt = s.bubbleNow().Add(spaceNoticed)
	}
	s.down = ""
	n, err := s.survivor()
	if err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	if err := s.catchUp(n); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	for _, w := range s.workflows {
		s.command(n, w, "grants", decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}})
	}
	helped := map[*workflow]uint64{}
	for moves := range calmMoves {
		if err := s.look(); err != nil {
			return err
		}
		if n.over() {
			s.violate("the engine ended by itself: %v", n.err)
			continue
		}
		if moves < 40 && s.chance(0.1) {
			s.push(n, pick(s, s.workflows...))
			continue
		}
		if ops := s.gate.waiting((*node).running); len(ops) > 0 {
			s.release(ops[s.rng.IntN(len(ops))])
			continue
		}
		resting := true
		for _, w := range s.workflows {
			if resting = s.help(n, w, helped); !resting {
				break
			}
		}
		if !resting {
			continue
		}
		return s.finish(n)
	}
	for _, w := range s.workflows {
		why, _ := n.engine.Why(w.name)
		s.violate("%s does not come to rest: it waits for %+v", w.name, why)
	}
	return s.look()
}

// survivor ends all processes but one that has to find out by itself what the others have written, or all
// for a new one.
func (s *sim) survivor() (*node, error) {
	var last *node
	if s.watching && s.chance(0.9) {
		for _, n := range s.live() {
			if n.ready() && !n.stopping && !n.failing && !slices.Contains(s.known(n), nil) {
				last = n
			}
		}
	}
	for _, n := range s.nodes {
		if n != last {
			s.kill(n)
		}
	}
	if last != nil {
		s.say("calm: engine %d is left", last.number)
		s.did("left alone")
		s.survived = true
		return last, nil
	}
	st := s.heir()
	if s.chance(0.5) {
		st = nil
	}
	n, err := s.start(st)
	if err == nil {
		s.say("calm: engine %d alone (store of another: %v)", n.number, st != nil)
	}
	return n, err
}

// known is, for each partition that holds anything, a workflow that the engine knows and that is not archived, if
// there is one to its end; nil where there is none.
func (s *sim) known(n *node) []*workflow {
	var known []*workflow
	for p, last := range s.judge.next {
		if last == 0 {
			continue
		}
		known = append(known, nil)
		for _, w := range s.workflows {
			has, ok := n.engine.State(w.name)
			state, at := s.judge.book(w.name).state(), &known[len(known)-1]
			if !ok || state.Archived || s.memory.PartitionOf(w.name) != p {
				continue
			}
			if *at == nil || has.Head.Revision == state.Head.Revision {
				*at = w
			}
		}
	}
	return known
}

// catchUp holds that an engine that is left alone gets to know all that the log holds, and answers every
// caller that asked before. It is told nothing but that something of its own stands at the end.
func (s *sim) catchUp(n *node) error {
	for _, w := range s.known(n) {
		if w == nil {
			continue // it has begun with the whole log
		}
		s.command(n, w, "grants",
			decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow, "world.fire": eventlog.GrantAllow}})
	}
	for range calmMoves {
		if err := s.look(); err != nil {
			return err
		}
		if n.over() || s.reachedAll(n) && n.asks.Load() == 0 && !s.bubbleNow().Before(s.pausedUntil) {
			return nil
		}
		if ops := s.gate.waiting((*node).running); len(ops) > 0 {
			s.release(ops[s.rng.IntN(len(ops))])
		} else {
			s.pass(time.Second)
		}
	}
	s.violate("engine %d does not get to the end of the log", n.number)
	return s.look()
}

// reachedAll reports whether the engine has dealt with all that the log holds.
func (s *sim) reachedAll(n *node) bool {
	for p, last := range s.judge.next {
		if n.engine.ProcessedSeq(p) != last {
			return false
		}
	}
	return true
}

// help does what a workflow waits for, and reports whether nothing is left to do.
func (s *sim) help(n *node, w *workflow, helped map[*workflow]uint64) bool {
	state, ok := n.engine.State(w.name)
	if !ok {
		return true // its deploy never made it into the log
	}
	wait, _ := n.engine.Why(w.name)
	if wait == nil {
		s.violate("%s does nothing and cannot say why", w.name)
		return false
	}
	do := func(what string, cmd decide.Command) {
		if helped[w] == state.Head.Revision {
			s.violate("%s waits for %s, and %s did not help", w.name, wait.Reason, what)
		}
		helped[w] = state.Head.Revision
		s.command(n, w, what, cmd)
	}
	if s.concurrent {
		plain, waits := decide.Next(&state, eventlog.At(s.clock.Now()), *n.name.Load()).(decide.Wait)
		if !waits {
			s.wait()
			return false
		}
		if wait = &plain; wait.Reason.Meaning() == decide.Rests {
			return s.helpBeside(n, w, &state)
		}
	}
	switch wait.Reason {
	case decide.ReasonUserPause:
		do("resume", decide.Resume{})
	case decide.ReasonBlocked:
		switch pin, _ := state.Definition().Operation(connectorName, opSend); {
		case state.Blocked != nil && state.Blocked.Reason == eventlog.BlockLogic, pin.Reconciles == s.mute.Load():
			s.redeploy(n, w, &state) // a resume alone would fail the same way again
		default:
			do("resume", decide.Resume{})
		}
	case decide.ReasonApproval:
		if state.Pause != nil {
			do("resume", decide.Resume{})
		} else {
			do("approve", decide.Approve{Mutation: eventlog.MutationID(wait.Subject)})
		}
	case decide.ReasonIndeterminate:
		m := eventlog.MutationID(wait.Subject)
		if !s.denied[m] && s.chance(0.3) {
			s.denied[m] = true // once: it is refused while the call can take effect (O1), and nothing else is
			s.command(n, w, "resolve", decide.Resolve{Mutation: m, Resolution: decide.DidNotHappen})
			return false
		}
		do("resolve", decide.Resolve{Mutation: m, Resolution: pick(s, decide.DidHappen, decide.Skip)})
	case decide.ReasonMaintenance:
		s.redeploy(n, w, &state)
	case decide.ReasonIdle, decide.ReasonArchived:
		return true
	case decide.ReasonScheduled, decide.ReasonWake:
		for e := range state.Scheduled(eventlog.At(s.clock.Now())) {
			if _, ok := state.Definition().Subscriber(e.Topic); ok {
				s.wait()
				return false
			}
		}
		return true
	default:
		s.wait()
	}
	return false
}

// finish holds that nothing is left, stops the engine, and compares its store with the fold.
func (s *sim) finish(n *node) error {
	for _, w := range s.workflows {
		s.nothingLeft(w)
	}
	if !s.reachedAll(n) {
		s.violate("engine %d rests and has not dealt with all that the log holds", n.number)
	}
	n.stopping = true
	n.stop()
	for !n.over() {
		s.cfg.AwaitBlocked()
		ops := s.gate.waiting((*node).running)
		if len(ops) == 0 {
			break
		}
		s.release(ops[0])
	}
	<-n.ended
	if n.err != nil {
		s.violate("the engine ended with %v", n.err)
	}
	for _, w := range s.workflows {
		s.stored(n, w)
	}
	return s.look()
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
		if c.Concurrent() && (e.Status == eventlog.EventPending || e.Held != nil) {
			s.violate("%s rests while event %s of topic %s is %s", w.name, e.MessageID, e.Topic, e.Status)
		}
		ref, wakes := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}, s.judge.book(w.name).wakes
		if s.survived && e.Status == eventlog.EventPending && wakes.left[ref] == wakes.became[ref] {
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
