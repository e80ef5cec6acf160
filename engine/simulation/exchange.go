package simulation

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// listening reports whether a process still listens to the request's exchange.
func (r *request) listening() bool {
	return r.exchange != nil && r.exchange.joined && !r.exchange.noted
}

// leftOpen reports whether the request's exchange was open at its deadline, and has not ended or only with its process.
func (r *request) leftOpen() bool {
	return r.exchange != nil && r.exchange.opened.Load() && r.exchange.over.Load() == nil
}

// exchanges lets connectors listen on to what was open at its deadline, the oldest giving way (Listeners), and takes
// in what has ended. It reports whether something has changed.
func (s *sim) exchanges() (changed bool) {
	for _, r := range s.world.order {
		x := r.exchange
		switch {
		case x == nil || x.noted:
		case r.node.dead || r.node.over():
			x.noted = true // how long the receiver goes on was settled before
			close(x.cut)
			s.did("open exchange cut")
		case x.over.Load() != nil:
			x.noted = true
			r.until = earlier(r.until, x.over.Load().Add(s.quiet))
			s.did("open exchange ended")
		case x.opened.Load() && !x.joined:
			x.joined, changed = true, true
			s.say("engine %d listens on to %s", r.node.number, s.alias(r.key))
			s.did("open exchange")
			s.listen(r)
		}
	}
	return changed
}

// listen starts what listens on to the request's exchange.
func (s *sim) listen(r *request) {
	x, n := r.exchange, r.node
	givenUp, leave := n.listeners.Join()
	listened, stop := nodeClock{s.clock, n}.At(s.clock.Now().Add(connector.DefaultListen))
	s.asking.Add(1)
	go func() {
		defer s.asking.Done()
		defer leave()
		defer stop()
		out := connector.UncertainWith(transientFailure("world.silent", "no reply"))
		select {
		case out = <-x.end:
		case <-givenUp:
		case <-listened:
		case <-x.cut:
			return
		case <-s.gate.over:
			return
		}
		now := s.clock.Now()
		x.over.Store(&now)
		n.late(r.call, out)
	}()
}

// endExchange ends an exchange that is listened to: with what has become of the request, or without an answer.
func (s *sim) endExchange(r *request) {
	out, how := connector.UncertainWith(transientFailure("world.broken", "the line broke")), "the line breaks"
	if !r.open() {
		switch answered := s.chance(0.8); {
		case answered && r.effects > 0:
			out, how = connector.Outcome{Status: connector.Applied, Result: r.result()}, "applied"
		case answered:
			failure := transientFailure(lateNo(r), "no, after all")
			failure.Class = s.class()
			out, how = connector.FailedWith(failure), "failed"
		default:
			out.Answered, how = true, "an answer that says nothing"
		}
	}
	r.toldLate = true
	s.say("%s answers after its deadline: %s", s.alias(r.key), how)
	s.did("late reply")
	r.exchange.end <- out
}

// lateNo is the code of a late no. To a call that was sent again, a no counts only if it says that it is one for good.
func lateNo(r *request) string {
	if r.call.Resend {
		return connector.CodeNotApplied
	}
	return "world.lateNo"
}

// stillOpen notes that the log says that a call was open after its deadline. Its receiver may then take as long as
// engines wait for such a call, even if the call's process dies now.
func (s *sim) stillOpen(r *request, deadline eventlog.Instant) {
	if r != nil && r.listening() && r.busy(s.clock.Now()) {
		r.until = deadline.Time().Add(s.lasting())
		s.did("on record as open")
	}
}

// bounded: no process listens on to more calls at once than it may.
func (j *judge) bounded(n *node) {
	open := 0
	for _, r := range j.sim.world.order {
		if r.node == n && r.listening() {
			open++
		}
	}
	if open > j.sim.maxOpen {
		j.sim.violate("engine %d has %d exchanges open at once, and may have %d", n.number, open, j.sim.maxOpen)
	}
}

func transientFailure(code, message string) *eventlog.Failure {
	return &eventlog.Failure{Class: eventlog.Transient, Code: code, Message: message}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// send takes a released request: it leaves now.
func (s *sim) send(o *op) *request {
	r := s.world.request(o.call)
	r.call, r.node = o.call, o.node
	if err := json.Unmarshal(o.call.Params, &r.prepared); err != nil {
		s.violate("mutation %s was sent with parameters that no script gave: %s", r.key, o.call.Params)
	}
	r.sent++
	s.judge.sent(r)
	return r
}

// apply has the effect.
func (s *sim) apply(r *request) {
	r.effects++
	if r.effects > 1 || r.refused {
		s.violate("mutation %s took effect %d times (refused: %v)", s.alias(r.key), r.effects, r.refused)
	}
	s.judge.applied(r)
	for _, ref := range r.Refs {
		at := place{r.call.Workflow, ref}
		s.world.effects[at]++
		if n, most := s.world.effects[at], 1+s.world.excused[at]; n > most {
			s.violate("event %s of topic %s in %s saw %d effects; people allowed %d", ref.MessageID, ref.Topic, r.call.Workflow,
				n, most)
		}
	}
}

func (s *sim) class() eventlog.Class {
	return pick(s, eventlog.Transient, eventlog.Transient, eventlog.Logic, eventlog.Permission, eventlog.Auth,
		eventlog.Precondition, eventlog.Internal)
}

// lately lets an accepted request take effect or fail for good, or a silent call answer after
// its time.
func (s *sim) lately() {
	var some []*request
	for _, r := range s.world.order {
		slow := r.busy(s.clock.Now()) && s.chance(s.profile.dawdles)
		if r.open() && !slow || r.answerable(s.bubbleNow()) || r.listening() && r.node.ready() && s.chance(0.3) {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		return
	}
	r := pick(s, some...)
	if r.listening() && r.node.ready() && !r.toldLate && (!r.open() || s.chance(0.3)) {
		s.endExchange(r)
		return
	}
	if r.open() {
		// The receiver is still busy with what it has taken.
		if s.clock.Now().Before(r.until) && s.chance(0.5) {
			s.apply(r)
		} else {
			r.refused = true
		}
		s.say("%s is decided late: %d effects", s.alias(r.key), r.effects)
		s.did("late effect")
		return
	}
	r.toldLate = true
	if !r.node.ready() || r.node.late == nil {
		return
	}
	outcome := connector.FailedWith(&eventlog.Failure{Class: s.class(), Code: lateNo(r), Message: "no, after all"})
	if r.effects > 0 {
		outcome = connector.Outcome{Status: connector.Applied, Result: r.result()}
	}
	s.say("%s answers late: %d effects", s.alias(r.key), r.effects)
	s.did("late reply")
	s.asking.Add(1)
	go func() {
		defer s.asking.Done()
		r.node.late(r.call, outcome)
	}()
}

// answerable reports whether the call's own reply may still come: it was silent and has ended.
func (r *request) answerable(now time.Time) bool {
	return r.exchange == nil && !r.silentUntil.IsZero() && now.After(r.silentUntil) && !r.toldLate && !r.open()
}
