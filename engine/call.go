package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// send is the one place a mutation leaves from. It is called under the recording lock, right
// after the transition that started the mutation became durable: what is not durable is not
// sent, and neither is what someone else has written after (overtaken). The call belongs to the
// process; its settlement is recorded whatever happens to the run, the lease or the worker
// meanwhile.
func (w *worker) send(m *projections.Mutation, overtaken bool) {
	pinned, isPinned := w.pinned(m)
	if !w.engine.calls.begin() {
		w.log.Warn("a mutation was not sent: the engine has ended; its connector will be asked about it", "mutation", m.ID)
		return
	}
	go func() {
		settlement := w.exchange(m, pinned, isPinned, overtaken)
		w.engine.outcomes.begin()
		w.engine.calls.done()
		defer w.engine.outcomes.done()
		w.settle(settlement)
	}()
}

// exchange makes the call, unless the right to it has passed, and asks at once where its outcome is not known.
func (w *worker) exchange(m *projections.Mutation, pinned eventlog.Operation, isPinned, overtaken bool) decide.SettleMutation {
	settlement := decide.SettleMutation{Mutation: m.ID}
	call := w.call(m)
	var refused atomic.Bool
	call.Gate = func() *eventlog.Failure {
		failure := w.mayLeave(m)
		refused.Store(failure != nil)
		return failure
	}
	never := w.neverSent(m, overtaken)
	if never == nil && isPinned {
		// It may have become another tool while the call waited for its approval.
		never = w.engine.changed(pinned)
	}
	if never != nil {
		settlement.By = eventlog.ResolvedByNeverSent
		settlement.Outcome = decide.Settlement{Status: decide.Failed, Failure: never}
	} else {
		ctx, cancel := context.WithTimeout(w.engine.life, callTimeout(m))
		w.sightings.begins(m.ID, w.engine.moment(), w.state())
		outcome := w.engine.cfg.Connectors.Perform(ctx, call)
		cancel()
		if !outcome.Open {
			w.sightings.ends(m.ID, w.engine.moment(), outcome)
		}
		settlement.Outcome = settle(outcome)
		if refused.Load() && settlement.Outcome.Status == decide.Failed {
			settlement.By = eventlog.ResolvedByNeverSent
		}
	}
	if settlement.Outcome.Status == decide.Uncertain && m.Call.Reconciles {
		// Once inline, by the caller itself (F5). A "failed" that does not count yet leaves what the
		// call itself came to as it is.
		asked := w.ask(w.engine.life, m)
		if asked.Outcome.Status == decide.Applied || asked.Outcome.Status == decide.Failed && !asked.UnderWay {
			asked.CallFailure = settlement.Outcome.Failure
			settlement = asked
		}
	}
	return settlement
}

// pinned is the operation as the version of the mutation's run was deployed with it.
func (w *worker) pinned(m *projections.Mutation) (op eventlog.Operation, ok bool) {
	s := w.state()
	if run := s.Run(m.Run); run != nil {
		if script := s.Script(run.Version); script != nil {
			return script.Definition.Operation(m.Call.Connector, m.Call.Operation)
		}
	}
	return op, false
}

// neverSent says why the right to send has passed; nil while it has not.
func (w *worker) neverSent(m *projections.Mutation, overtaken bool) *eventlog.Failure {
	if overtaken {
		return unsent(m, "someone else had written to the workflow before its start was known to be durable")
	}
	return w.mayLeave(m)
}

// mayLeave is the last look before a request's first byte (F6): to connect may have taken its time, and
// what was read of the log meanwhile counts.
func (w *worker) mayLeave(m *projections.Mutation) *eventlog.Failure {
	s := w.state()
	now, run := s.Mutation(m.ID), s.CurrentRun()
	switch {
	case w.behind.Load():
		return unsent(m, "the workflow is not caught up with the log")
	case now == nil || now.Status != eventlog.MutationInFlight || now.Engine != w.engine.name:
		return unsent(m, "it is not in flight any more: another engine has taken the workflow over")
	case run == nil || run.ID != m.Run || run.Status != eventlog.RunActive || run.Engine != w.engine.name:
		return unsent(m, "its run is not active any more")
	case !w.engine.cfg.Clock.Now().Before(m.Deadline.Time()):
		return unsent(m, "its deadline had passed")
	}
	return nil
}

func unsent(m *projections.Mutation, why string) *eventlog.Failure {
	return &eventlog.Failure{
		Class: eventlog.Transient, Code: "mutation.neverSent",
		Message: fmt.Sprintf("%s.%s was not sent: %s", m.Call.Connector, m.Call.Operation, why),
	}
}

// late notes the end of a call that was still open after its deadline, and records its outcome (F12).
func (e *Engine) late(call connector.Call, outcome connector.Outcome) {
	w, ok := e.worker(call.Workflow)
	if !ok {
		return
	}
	w.sightings.ends(eventlog.MutationID(call.Run), e.moment(), outcome)
	if outcome.Status == connector.Uncertain || e.closed.Load() || !e.outcomes.begin() {
		return
	}
	defer e.outcomes.done()
	w.settle(decide.SettleMutation{Mutation: eventlog.MutationID(call.Run), Outcome: settle(outcome), By: eventlog.ResolvedByLateReply})
}

// settle records a settlement for as long as the process lives.
func (w *worker) settle(settlement decide.SettleMutation) {
	cause := eventlog.Cause{Kind: "call", ID: string(settlement.Mutation)}
	trying := retry{pauses: resending}
	for {
		err := w.report(w.engine.life, settlement, cause)
		switch {
		case err == nil:
			w.nudge()
			return
		case takesNothing(err):
			w.tellUnrecorded(settlement, err)
			w.engine.fail(err)
			return
		case errors.Is(err, errStopped), errors.Is(err, errDefect), errors.Is(err, projections.ErrBroken), w.engine.life.Err() != nil:
			w.tellUnrecorded(settlement, err)
			return
		}
		pause, tell := trying.failed(err)
		if tell {
			w.log.Warn("the outcome of a mutation is not recorded yet; trying again", "mutation", settlement.Mutation, "error", err, "in", pause)
		}
		wait(w.engine.life, pause)
	}
}

// reconcile asks what became of an uncertain mutation; where its connector cannot be asked, it
// says whether the call is over, so that a person may decide.
func (w *worker) reconcile(ctx context.Context, m *projections.Mutation) decide.Command {
	if !w.asks(m) {
		return w.unasked(m)
	}
	return w.ask(ctx, m)
}

// asks reports whether the mutation's connector is asked what became of it.
func (w *worker) asks(m *projections.Mutation) bool {
	return m.Call.Reconciles && w.engine.cfg.Policies.Reconcile.Attempts > 0
}

// unasked is a reconcile's report before the connector was asked: whether the call is over. That has to
// be looked at first, since the connector's answer may take its time.
func (w *worker) unasked(m *projections.Mutation) decide.SettleMutation {
	s := decide.SettleMutation{Mutation: m.ID, By: eventlog.ResolvedByReconcile}
	if left := w.underWay(m); left > 0 {
		s.UnderWay = true
		if left != openEnd {
			s.OverAt = w.now().Add(left + time.Millisecond) // rounded up
		}
	}
	return s
}

func (w *worker) ask(ctx context.Context, m *projections.Mutation) decide.SettleMutation {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(m))
	defer cancel()
	s := w.unasked(m)
	answer := w.engine.cfg.Connectors.Reconcile(ctx, w.call(m))
	switch answer.Verdict {
	case connector.VerdictApplied:
		s.Outcome = decide.Settlement{Status: decide.Applied, Result: answer.Result}
	case connector.VerdictFailed:
		s.Outcome = decide.Settlement{Status: decide.Failed, Failure: answer.Failure}
		if answer.Failure == nil {
			s.Outcome.Failure = &eventlog.Failure{
				Class: eventlog.Transient, Code: "mutation.notApplied",
				Message: fmt.Sprintf("%s says that %s did not take effect", m.Call.Connector, m.Call.Operation),
			}
		}
	default:
		s.Outcome = decide.Settlement{Status: decide.Uncertain, Failure: answer.Failure}
	}
	return s
}

func settle(o connector.Outcome) decide.Settlement {
	switch o.Status {
	case connector.Applied:
		return decide.Settlement{Status: decide.Applied, Result: o.Result}
	case connector.Failed:
		f := o.Failure
		if f == nil {
			f = &eventlog.Failure{Class: eventlog.Internal, Code: "mutation.failed", Message: "the connector says that the call was not applied, and not why"}
		}
		return decide.Settlement{Status: decide.Failed, Failure: f}
	default:
		return decide.Settlement{Status: decide.Uncertain, Failure: o.Failure}
	}
}

// call is the mutation as its connector gets it. Times on the wire are the machine's: a clock set
// by hand moves what the log says, not what others see.
func (w *worker) call(m *projections.Mutation) connector.Call {
	ahead := time.Since(w.engine.cfg.Clock.Now())
	return connector.Call{
		Workflow: w.name, Run: m.Run, Connector: m.Call.Connector, Operation: m.Call.Operation, Params: m.Call.Params,
		Key: m.Key, StartedAt: m.StartedAt.Time().Add(ahead), Deadline: m.Deadline.Time().Add(ahead),
	}
}

func callTimeout(m *projections.Mutation) time.Duration {
	if m.Call.TimeoutMS <= 0 {
		return connector.DefaultTimeout
	}
	return time.Duration(m.Call.TimeoutMS) * time.Millisecond
}

// oversized stands in for an answer that does not fit into the log: the settlement is never lost
// for its size.
func oversized(bytes int) []byte {
	return fmt.Appendf(nil, `{"truncated":true,"bytes":%d}`, bytes)
}
