package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/engine/underway"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// calls are the mutation calls of one workflow: they leave, end, are asked about and are settled.
//
// Locking: none but the sightings' own. Each call runs in a goroutine of its own, which looks at the workflow's
// state without a lock, and its settlement is recorded like any other decision.
type calls struct {
	workflow  *aggregate
	sightings underway.Sightings
	turns     turns
}

// send is called from one place, acknowledged, and the request itself leaves from one, exchange. It is called under
// the recording lock, right after the transition that started the mutation became durable: what is not durable is not
// sent, nor is a mutation after which another process has written to the workflow (overtaken). The
// call belongs to the process; its settlement is recorded whatever happens to the run, the lease or
// the runner meanwhile.
func (c *calls) send(m *projections.Mutation, decided *process.Tenure, overtaken bool) {
	pinned, isPinned := c.pinned(m)
	if !c.workflow.engine.Calls.Begin() {
		c.workflow.log.Warn("a mutation was not sent: the engine has ended; its connector will be asked about it", "mutation",
			m.ID)
		return
	}
	turn := c.turns.take(m.ID)
	go func() {
		settlement := c.exchange(started{m, decided, overtaken}, pinned, isPinned, turn)
		c.workflow.engine.Outcomes.Begin()
		c.workflow.engine.Calls.Done()
		defer c.workflow.engine.Outcomes.Done()
		c.settle(settlement)
	}()
}

// started is a mutation whose start is durable.
type started struct {
	*projections.Mutation
	decided   *process.Tenure // in which its start was decided
	overtaken bool            // others have written to the workflow since
}

// exchange makes the call, unless the right to it has passed, and asks at once where its outcome is not known. A call
// that has no turn yet waits for it here: an approved one.
func (c *calls) exchange(s started, pinned eventlog.Operation, isPinned bool,
	turn connector.Turn) decide.SettleMutation {
	m := s.Mutation
	settlement := decide.SettleMutation{Mutation: m.ID}
	call := c.call(m)
	call.Turn, call.Resend = turn, m.Resending
	var refused atomic.Bool
	call.Gate = func() *eventlog.Failure {
		failure := c.mayLeave(s)
		refused.Store(failure != nil)
		return failure
	}
	never := c.neverSent(s)
	if never == nil && m.Resending {
		never = c.forgotten(m, call)
	}
	if never == nil && isPinned {
		// It may have become another tool while the call waited for its approval.
		never = deploy.Changed(c.workflow.engine.Config.Connectors, pinned)
	}
	if never == nil {
		// A secret may have been refused to the workflow meanwhile, or its connector may have been away before.
		never = c.denied(call)
	}
	if never == nil && turn == nil {
		call.Turn, never = c.turnAfterStart(s, call)
	}
	open := false // still, after its deadline
	if never != nil {
		if call.Turn != nil {
			call.Turn.End()
		}
		settlement.By = eventlog.ResolvedByNeverSent
		settlement.Outcome = decide.Settlement{Status: decide.Failed, Failure: never}
	} else {
		ctx, cancel := context.WithTimeout(c.workflow.engine.Life, callTimeout(m))
		c.sightings.Begin(m, c.workflow.engine.Moment(), c.workflow.state())
		outcome := c.workflow.engine.Config.Connectors.Perform(ctx, call)
		cancel()
		if open = outcome.Open; !open {
			c.sightings.End(m.ID, c.workflow.engine.Moment(), outcome)
		}
		settlement.Outcome = settlementOf(outcome)
		heldBack := outcome.Failure != nil && outcome.Failure.Code == eventlog.CodeHeldBack // sql's and files' own bounds
		if (refused.Load() || heldBack) && settlement.Outcome.Status == decide.Failed {
			settlement.By = eventlog.ResolvedByNeverSent
		}
	}
	if m.Resending {
		return resent(settlement, open)
	}
	if settlement.Outcome.Status == decide.Uncertain && m.Call.Reconciles && !m.Call.Resends() {
		// Once inline, by the caller itself (F5). A "failed" that does not count yet leaves what the
		// call itself came to as it is.
		ctx, cancel := c.workflow.engine.Life, context.CancelFunc(func() {})
		if open {
			// The answer "failed" does not count yet, and the log does not say before this answer that the outside is
			// slow. So the question is short: if this process died while it waits, the next one would believe a "failed"
			// too early.
			ctx, cancel = context.WithTimeout(ctx, firstQuestionTimeout)
		}
		asked := c.ask(ctx, m)
		cancel()
		if asked.Outcome.Status == decide.Applied || asked.Outcome.Status == decide.Failed && !asked.UnderWay {
			asked.CallFailure = settlement.Outcome.Failure
			settlement = asked
		}
	}
	return settlement
}

// resent is what is known of a call after it was sent again. It has failed only where its target says so: that it was
// not sent, or was refused, says nothing of the time before.
func resent(s decide.SettleMutation, open bool) decide.SettleMutation {
	if s.Outcome.Status == decide.Failed && s.Outcome.Failure.Code != connector.CodeNotApplied {
		s.Outcome.Status = decide.Uncertain
	}
	s.By, s.Resent, s.UnderWay = eventlog.ResolvedByReconcile, true, open
	return s
}

// firstQuestionTimeout bounds the first question about a call that is still open.
const firstQuestionTimeout = 2 * time.Second

// pinned is the operation as the version of the mutation's run was deployed with it.
func (c *calls) pinned(m *projections.Mutation) (op eventlog.Operation, ok bool) {
	s := c.workflow.state()
	if run := s.Run(m.Run); run != nil {
		if script := s.Script(run.Version); script != nil {
			return script.Definition.Operation(m.Call.Connector, m.Call.Operation)
		}
	}
	return op, false
}

// neverSent says why the right to send has passed; nil while it has not.
func (c *calls) neverSent(s started) *eventlog.Failure {
	if s.overtaken {
		return unsent(s.Mutation, "another engine had written to the workflow before its start was known to be durable")
	}
	return c.mayLeave(s)
}

// forgotten says that the other side may not know the key of a call any more that is to be sent again, nil while it
// does: by what the configuration promises now, and by whichever clock says first that the time of the promise is over.
// The record was decided by one that may have been set back.
func (c *calls) forgotten(m *projections.Mutation, call connector.Call) *eventlog.Failure {
	promised := c.workflow.engine.Config.Connectors.Resends(call)
	if promised == 0 {
		return unsent(m, "the configuration of its host does not say any more that it may be sent again")
	}
	now := c.workflow.engine.Moment()
	end := c.sightings.See(m, now).Age(m.StartedAt.Time(), now) + max(m.Deadline.Time().Sub(now.Clock), 0)
	if end > promised-decide.ResendMargin+decide.ReconcileMargin { // both clocks are not read at once
		return unsent(m, "reconcile.within of its host has passed")
	}
	return nil
}

// mayLeave is the last check before a request's first byte (F6): connecting may have taken long, the log may have been
// read further meanwhile, and the lease in which the call was decided may be over.
func (c *calls) mayLeave(call started) *eventlog.Failure {
	s, m := c.workflow.state(), call.Mutation
	now, run := s.Mutation(m.ID), s.Run(m.Run)
	switch {
	case !call.decided.Holds():
		return unsent(m, "this engine does not own the workflow's partition any more")
	case c.workflow.behind.Load():
		return unsent(m, "the workflow is not caught up with the log")
	case now == nil || now.Engine != c.workflow.engine.Name || now.Deadline != m.Deadline:
		return unsent(m, "it is not in flight any more: another engine has taken the workflow over")
	case m.Resending && !now.Resending:
		return unsent(m, "it was settled meanwhile")
	case m.Resending && (s.Pause != nil || s.Archived):
		return unsent(m, "the workflow was paused or archived meanwhile")
	case m.Resending: // its run has ended with it
	case now.Status != eventlog.MutationInFlight:
		return unsent(m, "it is not in flight any more: another engine has taken the workflow over")
	case run == nil || run.Status != eventlog.RunActive || run.Engine != c.workflow.engine.Name:
		return unsent(m, "its run is not active any more")
	}
	if !c.workflow.engine.Config.Clock.Now().Before(m.Deadline.Time()) {
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

// late records the outcome of a call that was still open after its deadline (F12), and then notes its end: until the
// outcome is on record, no person says that it did not happen (O1).
func (c *calls) late(call connector.Call, outcome connector.Outcome) {
	engine, id := c.workflow.engine, eventlog.MutationID(call.Run)
	defer func() { c.sightings.End(id, engine.Moment(), outcome) }()
	if outcome.Status == connector.Uncertain || engine.Closed.Load() || !engine.Outcomes.Begin() {
		return
	}
	defer engine.Outcomes.Done()
	settlement := decide.SettleMutation{Mutation: id, Outcome: settlementOf(outcome), By: eventlog.ResolvedByLateReply}
	if call.Resend {
		if settlement = resent(settlement, false); settlement.Outcome.Status == decide.Uncertain {
			return
		}
	}
	c.settle(settlement)
}

// settle records a settlement for as long as the process lives.
func (c *calls) settle(settlement decide.SettleMutation) {
	cause := eventlog.Cause{Kind: "call", ID: string(settlement.Mutation)}
	trying := schedule.Pacer{Pauses: process.ResendPauses}
	for {
		err := c.workflow.report(c.workflow.engine.Life, settlement, cause)
		switch {
		case err == nil:
			c.workflow.nudge()
			return
		case process.LogUnwritable(err):
			c.logUnrecorded(settlement, err)
			c.workflow.engine.Fail(err)
			return
		case errors.Is(err, process.ErrStopped), errors.Is(err, process.ErrDefect), errors.Is(err, projections.ErrBroken),
			c.workflow.engine.Life.Err() != nil:
			c.logUnrecorded(settlement, err)
			return
		}
		pause, shouldLog := trying.Failed(err)
		if shouldLog {
			c.workflow.log.Warn("the outcome of a mutation is not recorded yet; trying again", "mutation", settlement.Mutation,
				"error", err, "in", pause)
		}
		clock.Sleep(c.workflow.engine.Life, pause)
	}
}

// reconcile asks what became of an uncertain mutation; where its connector cannot be asked, it
// says whether the call is over, so that a person may decide. Where the same call is sent again to find out, it says
// that it may be, once nothing of it can be under way: what is recorded then sends it. end is called after that.
func (c *calls) reconcile(ctx context.Context, m *projections.Mutation) (found decide.Command, end func()) {
	end = func() {}
	if !c.canReconcile(m) {
		return c.withoutAnswer(m), end
	}
	if !m.Call.Resends() {
		return c.ask(ctx, m), end
	}
	s := c.withoutAnswer(m)
	if s.UnderWay {
		return s, end
	}
	end, s.Outcome.Failure = c.reserveTurn(ctx, m.ID, c.call(m))
	if s.Outcome.Failure != nil {
		return s, end
	}
	return decide.ResendMutation{Mutation: m.ID}, end
}

// canReconcile reports whether the mutation's connector is asked what became of it.
func (c *calls) canReconcile(m *projections.Mutation) bool {
	return m.Call.Reconciles && c.workflow.engine.Config.Policies.Reconcile.Attempts > 0
}

// withoutAnswer is a reconcile's report before the connector was asked: whether the call is over. That has to
// be looked at first, since the connector's answer may take its time.
func (c *calls) withoutAnswer(m *projections.Mutation) decide.SettleMutation {
	s := decide.SettleMutation{Mutation: m.ID, By: eventlog.ResolvedByReconcile}
	if left := c.underWay(m); left > 0 {
		s.UnderWay = true
		if left != unknownEnd {
			s.OverAt = c.workflow.now().Add(left + time.Millisecond) // rounded up
		}
	}
	return s
}

func (c *calls) ask(ctx context.Context, m *projections.Mutation) decide.SettleMutation {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(m))
	defer cancel()
	s := c.withoutAnswer(m)
	answer := c.workflow.engine.Config.Connectors.Reconcile(ctx, c.call(m))
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

func settlementOf(o connector.Outcome) decide.Settlement {
	switch o.Status {
	case connector.Applied:
		return decide.Settlement{Status: decide.Applied, Result: o.Result}
	case connector.Failed:
		f := o.Failure
		if f == nil {
			f = &eventlog.Failure{Class: eventlog.Internal, Code: "mutation.failed",
				Message: "the connector says that the call was not applied, and not why"}
		}
		return decide.Settlement{Status: decide.Failed, Failure: f}
	default:
		return decide.Settlement{Status: decide.Uncertain, Failure: o.Failure}
	}
}

// call is the mutation as its connector gets it. Times on the wire are the machine's: a clock set
// by hand moves what the log says, not what others see.
func (c *calls) call(m *projections.Mutation) connector.Call {
	ahead := time.Since(c.workflow.engine.Config.Clock.Now())
	return connector.Call{
		Workflow: c.workflow.name, Run: m.Run, Connector: m.Call.Connector, Operation: m.Call.Operation,
		Params: m.Call.Params,
		Key:    m.Key, StartedAt: m.StartedAt.Time().Add(ahead), Deadline: m.Deadline.Time().Add(ahead),
	}
}

func callTimeout(m *projections.Mutation) time.Duration {
	if m.Call.TimeoutMS <= 0 {
		return connector.DefaultTimeout
	}
	return time.Duration(m.Call.TimeoutMS) * time.Millisecond
}

// unknownEnd stands for the time that a call may still be under way while its exchange is open: it is not known.
const unknownEnd time.Duration = math.MaxInt64

// underWay says for how long something of a mutation's call may still be under way; 0 means that it is
// over. A call of this process is judged by its exchange, another process's by both clocks (F5).
func (c *calls) underWay(m *projections.Mutation) time.Duration {
	now := c.workflow.engine.Moment()
	x := c.sightings.See(m, now)
	ending := c.workflow.engine.Config.Connectors.Ending(c.call(m))
	switch {
	case x.Own && x.Over && x.Answered:
		return 0
	case x.Own && ending.Detached, x.Own && x.Over && x.Relayed:
		return x.First.Until(now, m.Deadline.Time().Add(ending.Unseen), callTimeout(m)+ending.Unseen)
	case x.Own && !x.Over:
		return unknownEnd
	case x.Own:
		return x.Ended.Until(now, x.Ended.Clock.Add(ending.Quiet), ending.Quiet)
	case m.ReconcileAttempts > 0 && m.OverAt != 0:
		return 0 // an attempt is counted only when the call was over; an older version counted others too
	}
	after := decide.ReconcileMargin + timeAfterDeadline(m, ending)
	deadline := m.Deadline.Time()
	if max(m.StartedAt, m.ResentAt).Time().After(x.First.Clock.Add(decide.ReconcileMargin)) {
		// Its clock was ahead of this one: the deadline says nothing here, and waiting for it could take years. The
		// time since the record was first seen is longer than the call could last.
		deadline = x.First.Clock
	}
	left := x.First.Until(now, deadline.Add(after), callTimeout(m)+after)
	if recorded := m.OverAt.Time().Sub(now.Clock); m.OverAt != 0 && recorded > left {
		// What an earlier process has said is kept to, but for no longer than the slowest is given: its clock may
		// have been ahead.
		return max(left, min(recorded, deadline.Add(decide.ReconcileMargin+ending.Lasting).Sub(now.Clock)))
	}
	return left
}

// logUnrecorded names a call whose outcome is known and not recorded.
func (c *calls) logUnrecorded(settlement decide.SettleMutation, err error) {
	about := []any{"mutation", settlement.Mutation}
	if m := c.workflow.state().Mutation(settlement.Mutation); m != nil {
		about = c.logAttrs(m)
	}
	c.workflow.log.Error("the outcome of a mutation could not be recorded; it will be reconciled",
		append(about, "error", err)...)
}
