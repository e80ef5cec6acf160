package engine

import (
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// timeAfterDeadline is how long the outside may go on after the deadline of a call whose process is gone. A record that
// does not say when the call is over was written while its exchange was open.
func timeAfterDeadline(m *projections.Mutation, ending connector.Ending) time.Duration {
	switch m.Status {
	case eventlog.MutationNeedsReconcile, eventlog.MutationIndeterminate:
		if m.OverAt == 0 && !m.Resending {
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
			c.sightings.See(m, c.workflow.engine.Moment())
			unseen = max(unseen, c.workflow.engine.Config.Connectors.Ending(c.call(m)).Unseen)
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

// Outlook is what an engine knows of the call of an indeterminate mutation beside the log, as of now.
type Outlook struct {
	// MayTakeEffect says that the call can still take effect, so a person cannot know yet that it did not happen (O1).
	// Until is the time from which it cannot take effect any more; zero while the exchange is open, since its end is
	// not known.
	MayTakeEffect bool
	Until         eventlog.Instant
	// Asks says that its connector can be asked what became of it (O3).
	Asks bool
}

// Outlook says what can become of a workflow's mutation; zero for one that is not indeterminate.
func (e *Engine) Outlook(name eventlog.WorkflowName, id eventlog.MutationID) Outlook {
	r, ok := e.partitionOf(name).runner(name)
	if !ok {
		return Outlook{}
	}
	return r.calls.outlook(r.workflow.state(), id)
}

// outlook says what this process knows of the call. A call of this process can take effect while its exchange is open.
// A call of a process that is gone can take effect if it was open at its deadline, until the longest time that a call
// may take has passed. Here the first of the two clocks to show that is enough, because a person has looked.
func (c *calls) outlook(s *projections.State, id eventlog.MutationID) Outlook {
	m := s.Mutation(id)
	if m == nil || m.Status != eventlog.MutationIndeterminate {
		return Outlook{} // decide refuses what is resolved otherwise
	}
	// A call whose host could not be promised to know it when it was made is not sent again.
	connectors, call := c.workflow.engine.Config.Connectors, c.call(m)
	out := Outlook{Asks: connectors.Reconciles(call) && (m.Call.Resends() || connectors.Resends(call) == 0)}
	now := c.workflow.engine.Moment()
	x := c.sightings.See(m, now)
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

// logAttrs is what identifies a mutation's call in the engine's own log, which names the workflow itself.
func (c *calls) logAttrs(m *projections.Mutation) []any {
	about := []any{"mutation", m.ID, "run", m.Run, "operation", m.Call.Connector + "." + m.Call.Operation}
	if host := c.workflow.engine.Config.Connectors.Host(c.call(m)); host != "" {
		about = append(about, "host", host)
	}
	return append(about, "since", m.StartedAt.String())
}
