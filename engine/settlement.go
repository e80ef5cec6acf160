package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

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

// late records the outcome of a call that was still open after its deadline (F12), and then notes its end: until the
// outcome is on record, no person says that it did not happen (O1).
func (c *calls) late(call connector.Call, outcome connector.Outcome) {
	engine, id := c.workflow.engine, eventlog.MutationID(call.Run)
	defer func() { c.underWay.End(id, engine.Moment(), outcome) }()
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

// logUnrecorded names a call whose outcome is known and not recorded.
func (c *calls) logUnrecorded(settlement decide.SettleMutation, err error) {
	about := []any{"mutation", settlement.Mutation}
	if m := c.workflow.state().Mutation(settlement.Mutation); m != nil {
		about = c.logAttrs(m)
	}
	c.workflow.log.Error("the outcome of a mutation could not be recorded; it will be reconciled",
		append(about, "error", err)...)
}

// resent is what is known of a call after it was sent again. It counts as failed only where its target says that it was
// not applied: if the second request was not sent, or was refused, that says nothing about the first.
func resent(s decide.SettleMutation, open bool) decide.SettleMutation {
	if s.Outcome.Status == decide.Failed && s.Outcome.Failure.Code != connector.CodeNotApplied {
		s.Outcome.Status = decide.Uncertain
	}
	s.By, s.Resent, s.UnderWay = eventlog.ResolvedByReconcile, true, open
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

// reconcile asks what became of an uncertain mutation; where its connector cannot be asked, it says whether the call is
// over, so that a person may decide. Where the same call is sent again to find out, it returns the command that records
// so, once nothing of the call can be under way; once that is recorded, the call is sent. The caller calls end after it
// has recorded the command.
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

// withoutAnswer is the report of a reconcile that has not asked yet. It says only whether the call is over. That is
// looked at before the question, since the connector's answer may take its time.
func (c *calls) withoutAnswer(m *projections.Mutation) decide.SettleMutation {
	s := decide.SettleMutation{Mutation: m.ID, By: eventlog.ResolvedByReconcile}
	if left := c.underWayFor(m); left > 0 {
		s.UnderWay, s.OverAt = true, c.overAt(left)
	}
	return s
}

// overAt is the time from which nothing of a call can be under way that may still be so for left; 0 where that is not
// known.
func (c *calls) overAt(left time.Duration) eventlog.Instant {
	switch now := c.workflow.now(); left {
	case unknownEnd:
		return 0
	case 0:
		return now
	default:
		return now.Add(left + time.Millisecond) // rounded up
	}
}

// unknownEnd stands for the time that a call may still be under way while its exchange is open: it is not known.
const unknownEnd time.Duration = math.MaxInt64

// underWayFor says for how long something of a mutation's call may still be under way; 0 means that it is over. A call
// of this process is judged by its exchange, another process's by both clocks (F5).
func (c *calls) underWayFor(m *projections.Mutation) time.Duration {
	now := c.workflow.engine.Moment()
	x := c.underWay.See(m, now)
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
	case m.ReconcileAttempts > 0 && m.OverAt != 0 && m.ResentAt == 0:
		// An attempt is counted only when the call was over; an older version counted others too. One that sends the call
		// again is counted before it leaves, and says nothing of its end.
		return 0
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
		// The time that an earlier process has recorded holds, but for no longer than the slowest call may take: the
		// clock of that process may have been ahead.
		return max(left, min(recorded, deadline.Add(decide.ReconcileMargin+ending.Lasting).Sub(now.Clock)))
	}
	return left
}

// timeAfterDeadline is how long the outside may go on after the deadline of a call whose process is gone. A record that
// does not say when the call is over was written while its exchange was open.
func timeAfterDeadline(m *projections.Mutation, ending connector.Ending) time.Duration {
	switch m.Status {
	case eventlog.MutationStatusNeedsReconcile, eventlog.MutationStatusIndeterminate:
		if m.OverAt == 0 && !m.Resending {
			return ending.Lasting
		}
	}
	return ending.Unseen
}

// unseenOf is the longest time for which the outside may go on after the deadline with a call in flight whose end this
// process cannot see. It also notes that this process has read these records now: waits for another process's calls
// count from here.
func (c *calls) unseenOf(s *projections.State) (unseen time.Duration) {
	see := func(run *projections.Run) {
		if run == nil || run.Mutation == "" {
			return
		}
		m := s.Mutation(run.Mutation)
		if m == nil || !m.Status.Unresolved() {
			return
		}
		c.underWay.See(m, c.workflow.engine.Moment())
		if m.Status == eventlog.MutationStatusInFlight {
			unseen = max(unseen, c.workflow.engine.Config.Connectors.Ending(c.call(m)).Unseen)
		}
	}
	see(s.CurrentRun())
	see(s.RetryRun())
	for run := range s.OpenRuns() {
		see(run)
	}
	if unseen == 0 {
		return connector.DefaultEnding().Unseen
	}
	return unseen
}

// outlook says what this process knows of the call. A call of this process can take effect while its exchange is open.
// A call of a process that is gone can take effect if it was open at its deadline, until the longest time that a call
// may take has passed. Here the first of the two clocks to show that is enough, because a person has looked.
func (c *calls) outlook(s *projections.State, id eventlog.MutationID) Outlook {
	m := s.Mutation(id)
	if m == nil || m.Status != eventlog.MutationStatusIndeterminate {
		return Outlook{} // decide refuses what is resolved otherwise
	}
	now := c.workflow.engine.Moment()
	out := Outlook{Asking: c.asking(m), Asks: true}
	if no := decide.CannotAskAgain(s, m, out.Asking, c.workflow.engine.Config.Policies.Reconcile.Attempts,
		eventlog.At(now.Clock)); no != nil {
		out.Asks, out.NotAsked = false, no.Message
	}
	x := c.underWay.See(m, now)
	if x.Own {
		out.MayTakeEffect = !x.Over
		return out
	}
	if run := s.Run(m.Run); m.OverAt != 0 || run != nil && run.EndedAt < m.Deadline {
		return out // it was over when it was left to a person, or its exchange broke off
	}
	after := decide.ReconcileMargin + timeAfterDeadline(m, c.workflow.engine.Config.Connectors.Ending(c.call(m)))
	left := min(m.Deadline.Time().Add(after).Sub(now.Clock), x.First.Elapsed+callTimeout(m)+after-now.Elapsed)
	if left > 0 {
		out.MayTakeEffect, out.Until = true, eventlog.At(now.Clock.Add(left)).Add(time.Microsecond) // rounded up
	}
	return out
}

// asking is how it can be found out what became of the call, by the configuration as it is now.
func (c *calls) asking(m *projections.Mutation) decide.Asking {
	connectors, call := c.workflow.engine.Config.Connectors, c.call(m)
	_, present := connectors.Operation(m.Call.Connector, m.Call.Operation)
	return decide.Asking{Present: present, Reconciles: connectors.Reconciles(call), Resends: connectors.Resends(call)}
}

// leftOpen lists the mutations whose request this process has sent and whose exchange has not ended.
func (c *calls) leftOpen() []*projections.Mutation {
	s := c.workflow.state()
	var open []*projections.Mutation
	for _, id := range c.underWay.Open() {
		if m := s.Mutation(id); m != nil && !m.Status.Final() {
			open = append(open, m)
		}
	}
	return open
}
