package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// performAnswer lets the request leave and draws what comes of it. The receiver keeps what the
// design asks of a connector: it refuses what comes after the deadline and what it has already
// called failed.
func (s *sim) performAnswer(o *op) (performAnswer, string) {
	if o.call.Resend {
		return s.resendAnswer(o)
	}
	if failure := s.keptBack(o); failure != nil {
		return performAnswer{outcome: connector.FailedWith(failure)}, "kept from leaving: " + failure.Message
	}
	r := s.send(o)
	started := s.judge.started[r.key]
	deadline := s.judge.deadlines[r.key].Time()
	late := !s.bubbleNow().Before(o.call.Deadline) || started != nil && !s.clock.Now().Before(deadline)
	failed := func(class eventlog.Class, code string) performAnswer {
		r.refused = true
		return performAnswer{outcome: connector.FailedWith(&eventlog.Failure{Class: class, Code: code,
			Message: "the world says no"})}
	}
	switch {
	case late:
		return failed(eventlog.Transient, "world.late"), "refused after its deadline"
	case r.refused:
		s.violate("mutation %s left before its deadline and had been reconciled as failed", s.alias(r.key))
		return failed(eventlog.Transient, "world.refused"), "refused"
	case s.calm:
	case s.down != "":
		return failed(s.down, "world.down"), "the target is down: " + string(s.down)
	case s.chance(s.profile.definite):
		answer := failed(s.class(), "world.no")
		f := answer.outcome.Failure
		if f.Class == eventlog.Transient && s.chance(s.profile.busy) {
			s.did("retry after")
			f.Code, f.RetryAfter = codeBusy, time.Duration(1+s.rng.IntN(4000))*time.Second
			r.retryAfter = f.RetryAfter
		}
		return answer, fmt.Sprintf("definitely failed: %s, not before %s", f.Class, f.RetryAfter)
	case s.chance(s.profile.silent):
		effect := s.chance(0.4)
		if effect {
			s.apply(r)
		}
		r.silentUntil = s.bubbleNow().Add(s.timeout)
		r.until = deadline.Add(s.quiet)
		if s.chance(s.profile.lingers) {
			r.until = deadline.Add(s.unseen)
			r.exchange = newExchange()
		}
		return performAnswer{silent: true, exchange: r.exchange},
			fmt.Sprintf("no reply, effect %v, open after its deadline %v", effect, r.exchange != nil)
	case s.chance(s.profile.uncertain):
		effect := s.chance(0.5)
		if effect {
			s.apply(r)
		}
		r.until = s.clock.Now().Add(s.quiet)
		return performAnswer{outcome: connector.UncertainWith(&eventlog.Failure{Class: eventlog.Transient,
			Code: "world.broken", Message: "the line broke"})}, fmt.Sprintf("uncertain, effect %v", effect)
	}
	s.apply(r)
	return performAnswer{outcome: connector.Outcome{Status: connector.Applied, Result: r.result()}}, "applied"
}

// resendAnswer is the answer of a receiver that knows a call by its key: it carries the call out once at most, and says
// that it never will only if that is true.
func (s *sim) resendAnswer(o *op) (performAnswer, string) {
	r := s.send(o)
	deadline := s.judge.deadlines[r.key].Time()
	s.did("resend")
	r.toldLate, r.silentUntil = false, time.Time{}
	carryOut := func(chance float64) bool {
		if r.open() && s.chance(chance) {
			s.apply(r)
		}
		return r.effects > 0
	}
	uncertain := func(answered bool) performAnswer {
		out := connector.UncertainWith(transientFailure("world.broken", "the line broke"))
		out.Answered = answered
		return performAnswer{outcome: out}
	}
	switch {
	case !s.bubbleNow().Before(o.call.Deadline), !s.clock.Now().Before(deadline):
		return uncertain(true), "refused after its deadline"
	case s.calm:
	case s.down != "", s.chance(s.profile.definite):
		return uncertain(true), "an answer to this request alone"
	case s.chance(s.profile.silent):
		effect := carryOut(0.4)
		r.silentUntil = s.bubbleNow().Add(s.timeout)
		r.until = deadline.Add(s.quiet)
		exchange := (*exchange)(nil)
		if (r.exchange == nil || r.exchange.noted) && s.chance(s.profile.lingers) {
			r.until = deadline.Add(s.unseen)
			exchange = newExchange()
			r.exchange = exchange
		}
		return performAnswer{silent: true, exchange: exchange},
			fmt.Sprintf("sent again, no reply, effect %v, open after its deadline %v", effect, exchange != nil)
	case s.chance(s.profile.uncertain):
		effect := carryOut(0.5)
		r.until = s.clock.Now().Add(s.quiet)
		return uncertain(false), fmt.Sprintf("sent again, uncertain, effect %v", effect)
	case r.open() && s.chance(0.2):
		r.refused = true
	}
	if !carryOut(1) {
		return performAnswer{outcome: connector.FailedWith(&eventlog.Failure{Class: s.class(), Code: connector.CodeNotApplied,
			Message: "it never happened"})}, "sent again: it never happened"
	}
	return performAnswer{outcome: connector.Outcome{Status: connector.Applied, Result: r.result()}}, "sent again: applied"
}

// reconcileAnswer is honest: applied only if it was, failed only once it can never be any more. A careless receiver is
// not: it says failed of a request that it is still busy with.
func (s *sim) reconcileAnswer(o *op) (connector.Reconciliation, string) {
	r := s.world.request(o.call)
	started := s.judge.started[r.key]
	switch {
	case started == nil:
		s.violate("a mutation is reconciled that never started")
	case r.node != o.node && s.clock.Now().Before(s.judge.deadlines[r.key].Time()):
		s.violate("mutation %s is reconciled by another process before its deadline", s.alias(r.key))
	}
	if !s.calm && s.chance(s.profile.honestRetry) {
		return connector.RetryWith(nil), "not known yet"
	}
	if r.effects > 0 {
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: r.result()}, "it was applied"
	}
	if r.busy(s.clock.Now()) && s.chance(s.profile.careless) {
		s.did("careless no")
		return connector.Reconciliation{Verdict: connector.VerdictFailed}, "no trace of it, although it is being done"
	}
	r.refused = true
	answer := connector.Reconciliation{Verdict: connector.VerdictFailed}
	if s.chance(0.3) {
		answer.Failure = &eventlog.Failure{Class: s.class(), Code: "world.never", Message: "it never happened"}
	}
	return answer, "it never happened"
}

// scriptAnswer draws what an invocation comes to.
func (s *sim) scriptAnswer(o *op) (scriptAnswer, string) {
	p, err := parse(o.script.Source)
	if err != nil {
		s.violate("a script runs that was never deployed: %v", err)
	}
	var given prepared
	if o.script.Phase == sandbox.Mutate || o.script.Phase == sandbox.Next {
		given = s.given(o)
	}
	if !p.has(o.script.Handler) {
		return scriptAnswer{fault: &sandbox.Error{Fault: sandbox.FaultScript, Code: "handler.unknown",
			Message: "there is no such handler"}}, "is not there"
	}
	answer := scriptAnswer{read: (o.script.Phase == sandbox.Producer || o.script.Phase == sandbox.Prepare) &&
		s.chance(0.2)}
	switch {
	case p.Broken && o.script.Phase == sandbox.Prepare:
		answer.fault = &sandbox.Error{Fault: sandbox.FaultScript, Code: "script.threw", Message: "it is broken", Line: 1}
	case !s.calm && s.chance(s.profile.scriptFails):
		if answer.read && s.chance(0.5) {
			answer.failing = s.class()
			return answer, "its read fails: " + string(answer.failing)
		}
		fault := pick(s, sandbox.FaultScript, sandbox.FaultTransient, sandbox.FaultInternal)
		answer.fault = &sandbox.Error{Fault: fault, Code: string(o.script.Phase) + "." + string(fault), Message: "it fails"}
	}
	if answer.fault != nil {
		return answer, "fails: " + string(answer.fault.Fault)
	}
	switch o.script.Phase {
	case sandbox.Prepare:
		if p.concurrency(o.script.Handler) != nil {
			return s.prepareOne(answer, o)
		}
		return s.prepare(answer, o)
	case sandbox.Mutate:
		return s.mutate(answer, given)
	default:
		return s.publish(answer, o.script.Phase, given.Concurrent)
	}
}

// given reads what a mutate or next was given and checks it against the chain's past.
func (s *sim) given(o *op) prepared {
	var in preparedResult
	if err := json.Unmarshal(o.script.Prepared, &in); err != nil {
		s.violate("%s of %s was given no prepare result: %s", o.script.Phase, o.workflow, o.script.Prepared)
	}
	switch o.script.Phase {
	case sandbox.Mutate:
		s.judge.mutates(o, in)
	case sandbox.Next:
		var result struct{ Status string }
		if err := json.Unmarshal(o.script.MutationResult, &result); err != nil {
			s.violate("next of %s was given no mutation result: %s", o.workflow, o.script.MutationResult)
		}
		s.judge.nextGiven(in.Data.Tag, string(o.script.MutationResult), result.Status)
	}
	return in.Data
}

func (s *sim) prepare(answer scriptAnswer, o *op) (scriptAnswer, string) {
	call := o.script
	s.tags++
	s.judge.book(o.workflow).wakes.peeked[s.tags] = o.seen
	out := preparedResult{Reservations: []choice{}, Data: prepared{Tag: s.tags}}
	empty := !s.calm && s.chance(0.1)
	topics := make([]string, 0, len(call.Pending))
	for topic := range call.Pending {
		topics = append(topics, topic)
	}
	slices.Sort(topics)
	for _, topic := range topics {
		reserve, cancel := choice{Topic: topic, IDs: []string{}}, choice{Topic: topic, Reason: "not wanted"}
		for _, e := range call.Pending[topic] {
			switch {
			case s.calm || s.chance(0.6) && !empty:
				reserve.IDs = append(reserve.IDs, e.MessageID)
				out.Data.Refs = append(out.Data.Refs, eventlog.EventRef{Topic: eventlog.Topic(topic),
					MessageID: eventlog.MessageID(e.MessageID)})
			case s.chance(0.1):
				cancel.IDs = append(cancel.IDs, e.MessageID)
			}
		}
		if len(reserve.IDs) > 0 && s.chance(0.1) {
			reserve.IDs = append(reserve.IDs, reserve.IDs[0])
		}
		if !s.calm && s.chance(0.02) {
			reserve.IDs = append(reserve.IDs, pick(s, "nobody", fmt.Sprintf("e%d", 1+s.rng.IntN(s.ids+1))))
		}
		out.Reservations = append(out.Reservations, reserve)
		if len(cancel.IDs) > 0 {
			out.Cancel = append(out.Cancel, cancel)
		}
	}
	if !s.calm && s.chance(0.1) {
		out.WakeAt = s.wakeAt(o)
	}
	return s.returned(answer, o, out, fmt.Sprintf("reserves %d events", len(out.Data.Refs)))
}

func (s *sim) wakeAt(o *op) string {
	return o.script.Now.Add(time.Duration(s.rng.IntN(100)) * time.Minute).Format(time.RFC3339)
}

func (s *sim) mutate(answer scriptAnswer, given prepared) (scriptAnswer, string) {
	if !s.calm && s.profile.scriptFails > 0 {
		switch x := s.ofChain(given.Tag, 2); {
		case x < 0.02:
			answer.fault = &sandbox.Error{Fault: sandbox.FaultTransient, Code: "mutate.lost", Message: "its worker is gone"}
			return answer, "loses its worker"
		case x < 0.04:
			answer.fault = &sandbox.Error{Fault: sandbox.FaultScript, Code: "mutate.died", Message: "it ends its worker"}
			return answer, "ends its worker"
		case x < 0.06: // its call is known all the same (F14)
			answer.fault = &sandbox.Error{Fault: sandbox.FaultScript, Code: "mutate.result", Message: "it calls with too much"}
			answer.result.Call = &sandbox.MutationCall{Connector: connectorName, Operation: opSend, Oversize: 2 << 20}
			return answer, "calls with too much"
		}
	}
	if s.chance(0.15) {
		return answer, "makes no call"
	}
	params, _ := json.Marshal(given)
	operation := pick(s, opSend, opSend, opFire)
	if operation == opSend && !s.calm && s.chance(0.05) {
		params = json.RawMessage(`{"unfit":true}`)
	}
	answer.result.Call = &sandbox.MutationCall{Connector: connectorName, Operation: operation, Params: params}
	return answer, fmt.Sprintf("chain %d calls %s", given.Tag, operation)
}

func (s *sim) publish(answer scriptAnswer, phase sandbox.Phase, concurrent bool) (scriptAnswer, string) {
	state := 0.3
	if concurrent { // it has none, and one fails the run (C4)
		state = 0.03
	}
	if s.chance(state) && !(concurrent && s.calm) {
		answer.result.Value = json.RawMessage(fmt.Sprintf(`{"n":%d}`, s.rng.IntN(3)))
	}
	if s.calm {
		return answer, "publishes nothing"
	}
	if phase == sandbox.Producer && s.chance(0.3) {
		in := sandbox.Input{Source: "mail", Type: "letter", ExtID: fmt.Sprintf("l%d", s.rng.IntN(5)), Title: "A letter"}
		in.ID = string(eventlog.NewInputID(in.Source, in.Type, in.ExtID))
		answer.result.Inputs = append(answer.result.Inputs, in)
	}
	for range s.rng.IntN(3) {
		p := sandbox.Publish{Topics: []string{string(s.topic())}, MessageID: string(s.messageID()), Title: "From a script",
			Payload: s.payload()}
		if s.chance(0.1) {
			p.Topics = append(p.Topics, string(topicFree))
		}
		if len(answer.result.Inputs) > 0 && s.chance(0.5) {
			p.InputID = answer.result.Inputs[0].ID
		}
		answer.result.Publishes = append(answer.result.Publishes, p)
	}
	return answer, fmt.Sprintf("publishes %d events", len(answer.result.Publishes))
}

func (s *sim) topic() eventlog.Topic { return pick(s, topicA, topicA, topicB, topicFree) }

// messageID is a new one, or one used before.
func (s *sim) messageID() eventlog.MessageID {
	if s.ids > 0 && s.chance(0.2) {
		return eventlog.MessageID(fmt.Sprintf("e%d", 1+s.rng.IntN(s.ids)))
	}
	s.ids++
	return eventlog.MessageID(fmt.Sprintf("e%d", s.ids))
}
