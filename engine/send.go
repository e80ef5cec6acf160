package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// send is called from one place, acknowledged, and the request itself leaves from one, perform. It is called under
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
	c.workflow.engine.Goroutines.Go(c.workflow.engine.Life, func() {
		settlement := c.exchange(started{m, decided, overtaken}, pinned, isPinned, turn)
		c.workflow.engine.Outcomes.Begin()
		c.workflow.engine.Calls.Done()
		defer c.workflow.engine.Outcomes.Done()
		c.settle(settlement)
	})
}

// started is a mutation whose start is durable.
type started struct {
	*projections.Mutation
	decided   *process.Tenure // in which its start was decided
	overtaken bool            // others have written to the workflow since
}

// exchange makes the call, unless the right to it has passed, and asks its connector at once where the outcome is not
// known. An approved call has no turn yet, and waits for it here.
func (c *calls) exchange(s started, pinned eventlog.Operation, isPinned bool,
	turn connector.Turn) decide.SettleMutation {
	call := c.call(s.Mutation)
	call.Turn, call.Resend = turn, s.Resending
	var refused atomic.Bool
	call.Gate = func() *eventlog.Failure {
		failure := c.stillOurs(s)
		refused.Store(failure != nil)
		return failure
	}
	settlement, open := decide.SettleMutation{Mutation: s.ID}, false
	if why := c.whyNot(s, &call, pinned, isPinned); why != nil {
		if call.Turn != nil {
			call.Turn.End()
		}
		settlement.By = eventlog.ResolvedByNeverSent
		settlement.Outcome = decide.Settlement{Status: decide.Failed, Failure: why}
	} else {
		settlement.Outcome, open = c.perform(s.Mutation, call)
		f := settlement.Outcome.Failure
		ours := f != nil && f.OwnFault() // a bound of sql or files, or a deadline that had passed
		if (refused.Load() || ours) && settlement.Outcome.Status == decide.Failed {
			settlement.By = eventlog.ResolvedByNeverSent
		}
	}
	switch {
	case s.Resending:
		return resent(settlement, open)
	case settlement.Outcome.Status == decide.Uncertain && s.Call.Reconciles && !s.Call.Resends():
		settlement = c.askInline(s.Mutation, settlement, open)
	}
	if settlement.Outcome.Status == decide.Uncertain && !open {
		// A process that takes over after a crash knows of the end of this exchange only what is recorded here.
		settlement.OverAt = c.overAt(c.underWayFor(s.Mutation))
	}
	return settlement
}

// whyNot is the first reason not to send the call, nil for none. It gives a call that has no turn yet its turn.
func (c *calls) whyNot(s started, call *connector.Call, pinned eventlog.Operation, isPinned bool) *eventlog.Failure {
	if why := c.neverSent(s); why != nil {
		return why
	}
	if s.Resending {
		if why := c.forgotten(s.Mutation, *call); why != nil {
			return why
		}
	}
	if isPinned {
		// It may have become another tool while the call waited for its approval.
		if why := deploy.Changed(c.workflow.engine.Config.Connectors, pinned); why != nil {
			return why
		}
	}
	// A secret may have been refused to the workflow meanwhile, or its connector may have been away before.
	if why := c.denied(*call); why != nil {
		return why
	}
	if call.Turn != nil {
		return nil
	}
	var why *eventlog.Failure
	call.Turn, why = c.turnAfterStart(s, *call)
	return why
}

// perform sends the request. open says that its exchange goes on after its deadline.
func (c *calls) perform(m *projections.Mutation, call connector.Call) (outcome decide.Settlement, open bool) {
	ctx, cancel := context.WithTimeout(c.workflow.engine.Life, callTimeout(m))
	defer cancel()
	c.underWay.Begin(m, c.workflow.engine.Moment(), c.workflow.state())
	answer := c.workflow.engine.Config.Connectors.Perform(ctx, call)
	if !answer.Open {
		c.underWay.End(m.ID, c.workflow.engine.Moment(), answer)
	}
	return settlementOf(answer), answer.Open
}

// askInline asks once, by the caller itself, what became of a call (F5). An answer "failed" that does not count yet
// leaves the outcome of the call itself as it is.
func (c *calls) askInline(m *projections.Mutation, settlement decide.SettleMutation, open bool) decide.SettleMutation {
	ctx := c.workflow.engine.Life
	if open {
		// The answer "failed" does not count yet, and the log does not say before this answer that the outside is slow.
		// So the question is short: if this process died while it waits, the next one would believe a "failed" too early.
		short, cancel := context.WithTimeout(ctx, firstQuestionTimeout)
		defer cancel()
		ctx = short
	}
	asked := c.ask(ctx, m)
	if asked.Outcome.Status == decide.Applied || asked.Outcome.Status == decide.Failed && !asked.UnderWay {
		asked.CallFailure = settlement.Outcome.Failure
		return asked
	}
	return settlement
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

// turnAfterStart waits for the turn of a call that is recorded as started already: a person has approved it, and it
// would need another approval if it had to begin anew. Its timeout runs already: the turn must come in the first half,
// the second half is for the request. If it does not come, or the call may not leave any more, the failure says why.
func (c *calls) turnAfterStart(s started, call connector.Call) (connector.Turn, *eventlog.Failure) {
	engine, paused := c.workflow.engine, c.workflow.state().Pause != nil
	waiting := call
	waiting.Deadline = call.Deadline.Add(-callTimeout(s.Mutation) / 2)
	turn, failure := engine.Config.Connectors.Turn(engine.Life, waiting)
	if failure != nil || turn == nil {
		return turn, failure
	}
	switch now := c.workflow.state(); {
	case now.Archived:
		return turn, decide.StoppedInTime("the workflow was archived while its call waited for its turn")
	case now.Pause != nil && !paused:
		return turn, decide.StoppedInTime("the workflow was paused while its call waited for its turn")
	}
	if denied := c.denied(call); denied != nil {
		return turn, denied
	}
	return turn, c.stillOurs(s)
}

// denied says which grant of the call has been taken from the workflow since it was recorded, nil for none. A call that
// a person has approved needs no grant; it is stopped only by a grant that forbids it.
func (c *calls) denied(call connector.Call) *eventlog.Failure {
	s, connectors := c.workflow.state(), c.workflow.engine.Config.Connectors
	if denied := capability.DeniedSecret(c.workflow.name, s.Grants, connectors.Secrets(call)); denied != nil {
		return denied
	}
	host := connectors.Host(call)
	if capability.GrantedAt(s.Grants, call.Connector, call.Operation, host, true) == eventlog.GrantDeny {
		return capability.Denied(c.workflow.name, call.Connector, call.Operation, host)
	}
	return nil
}

// neverSent says why the right to send has passed; nil while it has not.
func (c *calls) neverSent(s started) *eventlog.Failure {
	if s.overtaken {
		return unsent(s.Mutation, "another engine had written to the workflow before its start was known to be durable")
	}
	return c.stillOurs(s)
}

// forgotten is the failure of a resend whose key the other side may have forgotten, nil while it knows the key. The
// promise is the one in the configuration now. Of the two clocks the one that says first that the promise is over
// counts, since the clock that decided the record may have been set back.
func (c *calls) forgotten(m *projections.Mutation, call connector.Call) *eventlog.Failure {
	promised := c.workflow.engine.Config.Connectors.Resends(call)
	if promised == 0 {
		return unsent(m, "the configuration of its host does not say any more that it may be sent again")
	}
	now := c.workflow.engine.Moment()
	end := c.underWay.See(m, now).Age(m.StartedAt.Time(), now) + max(m.Deadline.Time().Sub(now.Clock), 0)
	if end > promised-decide.ResendMargin+decide.ReconcileMargin { // both clocks are not read at once
		return unsent(m, "reconcile.within of its host has passed")
	}
	return nil
}

// stillOurs is the last check before a request's first byte (F6): connecting may have taken long, the log may have been
// read further meanwhile, and the lease in which the call was decided may be over.
func (c *calls) stillOurs(call started) *eventlog.Failure {
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
	case now.Status != eventlog.MutationStatusInFlight:
		return unsent(m, "it is not in flight any more: another engine has taken the workflow over")
	case run == nil || run.Status != eventlog.RunStatusActive || run.Engine != c.workflow.engine.Name:
		return unsent(m, "its run is not active any more")
	}
	if !c.workflow.engine.Config.Clock.Now().Before(m.Deadline.Time()) {
		return unsent(m, "its deadline had passed")
	}
	return nil
}

func unsent(m *projections.Mutation, why string) *eventlog.Failure {
	return &eventlog.Failure{
		Class: eventlog.Transient, Code: eventlog.CodeNeverSent,
		Message: fmt.Sprintf("%s.%s was not sent: %s", m.Call.Connector, m.Call.Operation, why),
	}
}
