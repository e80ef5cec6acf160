package engine

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// moment is a time by both clocks: the one that the log's times come from, which a person may set, and
// the one that cannot be set.
type moment struct {
	clock   time.Time
	elapsed time.Duration
}

// moment is now.
func (e *Engine) moment() moment {
	now := moment{clock: e.cfg.Clock.Now()}
	if _, system := e.cfg.Clock.(SystemClock); system {
		now.elapsed = elapsed()
	} else {
		now.elapsed = time.Duration(now.clock.UnixNano()) // time that is made up has one clock
	}
	return now
}

// until is how long it takes until a time has come by both clocks: at by the first, and wait after m by
// the second.
func (m moment) until(now moment, at time.Time, wait time.Duration) time.Duration {
	return max(at.Sub(now.clock), m.elapsed+wait-now.elapsed, 0)
}

// sightings is what this process knows of the calls of its workflow whose outcome is not known.
type sightings struct {
	mu sync.Mutex
	of map[eventlog.MutationID]sighting
}

// sighting is one call.
type sighting struct {
	// first is when this process sent the call, or when it first saw the record of another's.
	first moment
	// own says that this process has sent it.
	own bool
	// ended is when the exchange of an own call was over, answered whether by a complete answer, relayed
	// whether perhaps by another party on the way.
	ended    moment
	over     bool
	answered bool
	relayed  bool
}

// begins notes that this process is about to send a call, and forgets those that are settled.
func (s *sightings) begins(id eventlog.MutationID, now moment, state *projections.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.of, func(other eventlog.MutationID, _ sighting) bool {
		m := state.Mutation(other)
		return m == nil || m.Status.Final()
	})
	s.put(id, sighting{first: now, own: true})
}

// ends notes that the exchange of an own call is over.
func (s *sightings) ends(id eventlog.MutationID, now moment, outcome connector.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.of[id]; ok && x.own {
		x.ended, x.over, x.answered, x.relayed = now, true, outcome.Answered, outcome.Relayed
		s.put(id, x)
	}
}

// see returns what is known of a call, and notes when it was first seen.
func (s *sightings) see(id eventlog.MutationID, now moment) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.of[id]
	if !ok {
		x = sighting{first: now}
		s.put(id, x)
	}
	return x
}

// open lists the own calls whose exchange has not ended, oldest first.
func (s *sightings) open() []eventlog.MutationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []eventlog.MutationID
	for id, x := range s.of {
		if x.own && !x.over {
			open = append(open, id)
		}
	}
	slices.Sort(open) // ids begin with their time
	return open
}

// put is under mu.
func (s *sightings) put(id eventlog.MutationID, x sighting) {
	if s.of == nil {
		s.of = make(map[eventlog.MutationID]sighting)
	}
	s.of[id] = x
}

// openEnd stands for the time that a call may still be under way while its exchange is open: it is not known.
const openEnd time.Duration = math.MaxInt64

// underWay says for how long something of a mutation's call may still be under way; 0 means that it is
// over. A call of this process is judged by its exchange, another process's by both clocks (F5).
func (c *calls) underWay(m *projections.Mutation) time.Duration {
	now := c.workflow.engine.moment()
	x := c.sightings.see(m.ID, now)
	ending := c.workflow.engine.cfg.Connectors.Ending(c.call(m))
	switch {
	case x.own && x.over && x.answered:
		return 0
	case x.own && ending.Detached, x.own && x.over && x.relayed:
		return x.first.until(now, m.Deadline.Time().Add(ending.Unseen), callTimeout(m)+ending.Unseen)
	case x.own && !x.over:
		return openEnd
	case x.own:
		return x.ended.until(now, x.ended.clock.Add(ending.Quiet), ending.Quiet)
	case m.ReconcileAttempts > 0 && m.OverAt != 0:
		return 0 // an attempt is counted only when the call was over; an older version counted others too
	}
	after := decide.ReconcileMargin + cutOff(m, ending)
	deadline := m.Deadline.Time()
	if m.StartedAt.Time().After(x.first.clock.Add(decide.ReconcileMargin)) {
		// Its clock was ahead of this one: the deadline says nothing here, and waiting for it could take years. The
		// time since the record was first seen is longer than the call could last.
		deadline = x.first.clock
	}
	left := x.first.until(now, deadline.Add(after), callTimeout(m)+after)
	if recorded := m.OverAt.Time().Sub(now.clock); m.OverAt != 0 && recorded > left {
		// What an earlier process has said is kept to, but for no longer than the slowest is given: its clock may
		// have been ahead.
		return max(left, min(recorded, deadline.Add(decide.ReconcileMargin+ending.Lasting).Sub(now.clock)))
	}
	return left
}

// cutOff is how long the outside may go on after the deadline of a call whose process is gone. A record that
// does not say when the call is over was written while its exchange was open.
func cutOff(m *projections.Mutation, ending connector.Ending) time.Duration {
	if m.Status == eventlog.MutationNeedsReconcile && m.OverAt == 0 {
		return ending.Lasting
	}
	return ending.Unseen
}

// unseenOf is how long the outside may go on with the call that a run has in flight, if the end of its
// exchange is not seen.
func (c *calls) unseenOf(s *projections.State) time.Duration {
	if run := s.CurrentRun(); run != nil && run.Mutation != "" {
		if m := s.Mutation(run.Mutation); m != nil && m.Status == eventlog.MutationInFlight {
			c.sightings.see(m.ID, c.workflow.engine.moment())
			return c.workflow.engine.cfg.Connectors.Ending(c.call(m)).Unseen
		}
	}
	return connector.DefaultEnding().Unseen
}
