package engine

import (
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/projections"
)

// mostNamed is how many open exchanges an engine names when it ends; of more it says how many.
const mostNamed = 20

// tellOpen names the exchanges that are still open when the engine ends, and says what the next start does
// about them: the other side may carry them out yet.
func (e *Engine) tellOpen() {
	open := 0
	for a := range e.workflows() {
		for _, m := range a.calls.leftOpen() {
			if open++; open > mostNamed {
				continue
			}
			then := "a person decides once it can no longer be under way"
			if a.calls.asks(m) {
				then = "its connector is asked; that it was not applied counts once it can no longer be under way"
			}
			now := e.cfg.Clock.Now()
			over := now.Add(max(m.Deadline.Time().Sub(now), callTimeout(m)) + decide.ReconcileMargin + cutOff(m, e.cfg.Connectors.Ending(a.calls.call(m))))
			a.log.Warn("stopping while a request is open: the other side may carry it out yet, and it is not sent again",
				append(a.calls.naming(m), "next start", then, "not before", over.UTC().Format(time.RFC3339))...)
		}
	}
	if open > mostNamed {
		e.log.Warn("stopping while more requests are open", "named", mostNamed, "open", open)
	}
}

// leftOpen lists the mutations whose request this process has sent and whose exchange has not ended.
func (c *calls) leftOpen() []*projections.Mutation {
	s := c.workflow.state()
	var open []*projections.Mutation
	for _, id := range c.sightings.open() {
		if m := s.Mutation(id); m != nil && !m.Status.Final() {
			open = append(open, m)
		}
	}
	return open
}

// tellUnrecorded names a call whose outcome is known and not recorded.
func (c *calls) tellUnrecorded(settlement decide.SettleMutation, err error) {
	about := []any{"mutation", settlement.Mutation}
	if m := c.workflow.state().Mutation(settlement.Mutation); m != nil {
		about = c.naming(m)
	}
	c.workflow.log.Error("the outcome of a mutation could not be recorded; it will be reconciled", append(about, "error", err)...)
}

// naming is what identifies a mutation's call in the engine's own log, which names the workflow itself.
func (c *calls) naming(m *projections.Mutation) []any {
	about := []any{"mutation", m.ID, "run", m.Run, "operation", m.Call.Connector + "." + m.Call.Operation}
	if host := c.workflow.engine.cfg.Connectors.Host(c.call(m)); host != "" {
		about = append(about, "host", host)
	}
	return append(about, "since", m.StartedAt.String())
}
