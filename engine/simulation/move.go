package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// move makes one move.
func (s *sim) move() {
	if s.clock.to(s.clock.Now().Add(time.Duration(s.rng.IntN(900)) * time.Microsecond)) {
		s.cfg.AwaitBlocked() // or what has woken up would race with the move
	}
	p := s.profile
	switch {
	case s.sharing != nil && s.chance(p.disturb):
		s.disturb()
	case s.sharing != nil && s.chance(p.idle):
		s.idleFor()
	case s.sharing != nil && s.chance(p.stand) && s.standStill():
	case s.chance(p.loss):
		s.acceptLoss()
	case s.noEngine():
		s.restart()
	case s.successor: // after what was released has come to rest, or it would race with the start
		s.successor = false
		s.second()
	case s.chance(p.operator):
		s.operate()
	case s.chance(p.busyCrash) && s.crashBusy():
	case s.chance(p.crash):
		s.crash()
	case s.chance(p.freeze):
		s.freeze()
	case s.chance(p.second):
		s.second()
	case s.chance(p.stop):
		s.stopOne()
	case s.chance(p.full) || s.full && s.chance(0.2):
		s.full = !s.full
		s.say("disk full: %v", s.full)
		s.did("full")
	case s.chance(p.tool):
		s.tool()
	case s.chance(p.tight) || s.tight.Load() && s.chance(0.2):
		s.tight.Store(!s.tight.Load())
		s.roomyAt = s.bubbleNow().Add(spaceNoticed)
		s.say("too little space: %v", s.tight.Load())
		s.did("tight")
	case s.chance(0.05):
		s.flush()
	case s.chance(0.1):
		s.lately()
	case s.chance(p.hangUp):
		s.giveUp()
	case s.concurrent && s.chance(p.outage), s.down != "" && s.chance(0.05):
		s.outage()
	default:
		s.goOn()
	}
}

// spaceNoticed is how long engines may take to notice that there is space again: they look every second.
const spaceNoticed = 2 * time.Second

// goOn releases a parked operation, or lets time pass when there is none.
func (s *sim) goOn() {
	ops := slices.DeleteFunc(s.gate.waiting((*node).running), s.stalls)
	switch {
	case len(ops) == 0 && s.chance(0.4):
		s.operate()
		return
	case len(ops) == 0, s.chance(0.03):
		s.wait()
		return
	}
	if s.slowLog && s.chance(0.8) { // what else comes gathers behind it
		if others := slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return o.kind == opAppend }); len(others) > 0 {
			ops = others
		}
	}
	s.release(ops[s.rng.IntN(len(ops))])
}

// stall holds up a log that insists for a number of moves: others may go on behind what it has written.
func (s *sim) stall(o *op) {
	if s.chance(0.5) {
		s.stalled[o.entry.ID] = s.report.Moves + 3 + s.rng.IntN(30)
		s.successor = s.profile.second > 0 && s.chance(0.5)
	}
}

// stalls reports whether the operation is that of a log that is held up.
func (s *sim) stalls(o *op) bool {
	if (o.kind == opAppend || o.kind == opAck) && o.node.cutOff() {
		return true
	}
	return o.kind == opAppend && s.report.Moves < s.stalled[o.entry.ID]
}

// wait lets time pass: until an open call has ended, or up to what some worker waits for.
func (s *sim) wait() {
	if s.bubbleNow().Before(s.pausedUntil) {
		s.pass(s.pausedUntil.Sub(s.bubbleNow()) + 10*time.Millisecond)
		return
	}
	for _, r := range s.world.order {
		if !r.silentUntil.IsZero() && s.bubbleNow().Before(r.silentUntil) {
			s.say("time passes until a call has ended")
			s.pass(s.timeout + 100*time.Millisecond)
			return
		}
	}
	now := s.clock.Now()
	next := s.clock.next((*node).running)
	if next.IsZero() || !s.calm && s.chance(0.1) {
		next = now.Add(time.Duration(s.rng.IntN(120)) * time.Second)
	}
	s.say("time passes: %v", next.Sub(now))
	s.pass(next.Sub(now))
}

// release lets one parked operation go on.
func (s *sim) release(o *op) {
	how := ""
	var answer any
	switch o.kind {
	case opAppend:
		s.judge.resent(o.entry)
		todo := appendAnswer{}
		if !s.calm {
			todo = s.appendAnswer()
		}
		answer = todo
		switch {
		case todo.die:
			how = "the process dies"
			s.did("died in append")
			s.kill(o.node)
		case todo.fault == memlog.LostAck, todo.fault == memlog.Refuse:
			how = map[memlog.Fault]string{memlog.LostAck: "acknowledgement lost", memlog.Refuse: "request lost"}[todo.fault]
			s.did(how)
			if todo.insist {
				how += ", the log insists"
				s.did("the log insists")
				s.stall(o)
			} else {
				s.pause(o)
			}
		case todo.fault == memlog.Full:
			how = "disk full"
		case todo.slow:
			how = "written, not acknowledged yet"
		}
		if todo.fault == memlog.Full {
			o.node.failing = true
			s.pause(o)
		}
		how = string(o.entry.Kind) + " " + how
	case opAck:
		answer, how = struct{}{}, "acknowledged"
	case opPerform:
		done, what := s.performAnswer(o)
		answer, how = done, s.alias(o.call.Key)+" "+what
	case opReconcile:
		done, what := s.reconcileAnswer(o)
		answer, how = done, s.alias(o.call.Key)+" "+what
	case opTurn:
		answer, how = struct{}{}, "is next"
	case opScript:
		done, what := s.scriptAnswer(o)
		answer, how = done, string(o.script.Phase)+" of "+o.script.Handler+" "+what
		if o.follows {
			s.did("mutate with its prepare")
			if done.fault != nil {
				s.did("mutate with its prepare fails")
			}
		}
	}
	s.say("engine %d %s %s: %s", o.node.number, o.workflow, o.kind, how)
	s.gate.release(o, answer)
}

// pause notes that the engine waits before it appends the entry again, longer each time.
func (s *sim) pause(o *op) {
	s.resent[o.entry.ID]++
	pause := min(50*time.Millisecond<<min(s.resent[o.entry.ID]-1, 5), time.Second)
	if until := s.bubbleNow().Add(pause); until.After(s.pausedUntil) {
		s.pausedUntil = until
	}
}

func (s *sim) flush() {
	for _, n := range s.live() {
		if n.ready() && s.chance(0.6) {
			if err := n.engine.Flush(context.Background()); err != nil {
				s.violate("engine %d cannot write its store: %v", n.number, err)
			}
			s.did("flush")
		}
	}
}

// operate lets an operator do something to some workflow.
func (s *sim) operate() {
	var nodes []*node
	for _, n := range s.live() {
		if n.ready() && !n.stopping {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return
	}
	n, w := pick(s, nodes...), pick(s, s.workflows...)
	state := s.judge.book(w.name).state()
	if s.sharing != nil && s.chance(0.2) {
		s.readAfter(n, w)
		return
	}
	if s.concurrent && s.chance(0.3) && s.assistHeld(n, w) || s.chance(0.4) && s.assist(n, w) {
		return
	}
	if s.chance(s.profile.resubscribe) {
		s.resubscribe(n, w)
		return
	}
	switch x := s.rng.IntN(40); {
	case x < 14:
		s.push(n, w)
	case x < 17:
		s.deploy(n, w)
	case x == 17:
		s.command(n, w, "pause", decide.Pause{})
	case x < 21:
		s.command(n, w, "resume", decide.Resume{})
	case x == 21:
		s.command(n, w, "run-now", decide.RunNow{})
	case x < 25:
		s.command(n, w, "resolve",
			decide.Resolve{Mutation: s.mutation(state), Resolution: pick(s, decide.DidHappen, decide.DidNotHappen, decide.Skip,
				decide.TryAgain)})
	case x < 28:
		s.command(n, w, "approve", decide.Approve{Mutation: s.mutation(state)})
	case x == 28:
		s.command(n, w, "reject", decide.Reject{Mutation: s.mutation(state), Comment: "not this one"})
	case x < 35:
		s.change(n, w)
	case x == 35:
		grant := pick(s, eventlog.GrantAllow, eventlog.GrantAsk, eventlog.GrantDeny)
		switch s.rng.IntN(3) {
		case 0:
			s.command(n, w, "grants", decide.ChangeGrants{Changes: map[string]*eventlog.Grant{"world.send": &grant}})
		case 1:
			s.command(n, w, "grants", decide.ChangeGrants{Changes: map[string]*eventlog.Grant{"world.send": nil}})
		default:
			s.command(n, w, "grants", decide.SetGrants{Grants: map[string]eventlog.Grant{"*": grant}})
		}
	case x < 38:
		s.repair(n, w, state)
	case x == 38:
		s.command(n, w, "repair-refused", decide.RepairRefused{Reason: "not good enough"})
	case s.chance(0.15):
		s.command(n, w, "archive", decide.Archive{})
	}
}
