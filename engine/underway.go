package engine

import (
	"math"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// unknownEnd stands for the time that a call may still be under way while its exchange is open: it is not known.
const unknownEnd time.Duration = math.MaxInt64

// underWay says for how long something of a mutation's call may still be under way; 0 means that it is
// over. A call of this process is judged by its exchange, another process's by both clocks (F5).
func (c *calls) underWay(m *projections.Mutation) time.Duration {
	now := c.workflow.engine.moment()
	x := c.sightings.See(m.ID, now)
	ending := c.workflow.engine.cfg.Connectors.Ending(c.call(m))
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
	if m.StartedAt.Time().After(x.First.Clock.Add(decide.ReconcileMargin)) {
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

// timeAfterDeadline is how long the outside may go on after the deadline of a call whose process is gone. A record that
// does not say when the call is over was written while its exchange was open.
func timeAfterDeadline(m *projections.Mutation, ending connector.Ending) time.Duration {
	switch m.Status {
	case eventlog.MutationNeedsReconcile, eventlog.MutationIndeterminate:
		if m.OverAt == 0 {
			return ending.Lasting
		}
	}
	return ending.Unseen
}

// unseenOf is how long the outside may go on with the calls that active runs have in flight, if the ends of their
// exchanges are not seen: the longest of them.
func (c *calls) unseenOf(s *projections.State) (unseen time.Duration) {
	see := func(run *projections.Run) {
		if run == nil || run.Mutation == "" {
			return
		}
		if m := s.Mutation(run.Mutation); m != nil && m.Status == eventlog.MutationInFlight {
			c.sightings.See(m.ID, c.workflow.engine.moment())
			unseen = max(unseen, c.workflow.engine.cfg.Connectors.Ending(c.call(m)).Unseen)
		}
	}
	see(s.CurrentRun())
	for run := range s.OpenRuns() {
		see(run)
	}
	if unseen == 0 {
		return connector.DefaultEnding().Unseen
	}
	return unseen
}

// mayTakeEffect says whether an indeterminate mutation's call can take effect yet, so that a person cannot know that
// it did not happen (O1). An own call can while its exchange is open. That of a process that is gone can if it was
// open at its deadline, until the time that the slowest is given has passed by either clock: a person has looked, and
// is not kept waiting for both.
func (c *calls) mayTakeEffect(s *projections.State, id eventlog.MutationID) bool {
	m := s.Mutation(id)
	if m == nil || m.Status != eventlog.MutationIndeterminate {
		return false // decide refuses what is resolved otherwise
	}
	now := c.workflow.engine.moment()
	x := c.sightings.See(id, now)
	if x.Own {
		return !x.Over
	}
	if run := s.Run(m.Run); m.OverAt != 0 || run != nil && run.EndedAt < m.Deadline {
		return false // it was over when it was left to a person, or its exchange broke off
	}
	after := decide.ReconcileMargin + timeAfterDeadline(m, c.workflow.engine.cfg.Connectors.Ending(c.call(m)))
	return now.Clock.Before(m.Deadline.Time().Add(after)) && now.Elapsed < x.First.Elapsed+callTimeout(m)+after
}

// leftOpen lists the mutations whose request this process has sent and whose exchange has not ended.
func (c *calls) leftOpen() []*projections.Mutation {
	s := c.workflow.state()
	var open []*projections.Mutation
	for _, id := range c.sightings.Open() {
		if m := s.Mutation(id); m != nil && !m.Status.Final() {
			open = append(open, m)
		}
	}
	return open
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

// logAttrs is what identifies a mutation's call in the engine's own log, which names the workflow itself.
func (c *calls) logAttrs(m *projections.Mutation) []any {
	about := []any{"mutation", m.ID, "run", m.Run, "operation", m.Call.Connector + "." + m.Call.Operation}
	if host := c.workflow.engine.cfg.Connectors.Host(c.call(m)); host != "" {
		about = append(about, "host", host)
	}
	return append(about, "since", m.StartedAt.String())
}
