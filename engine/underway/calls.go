package underway

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Calls has the calls of a workflow that have no known outcome, with all that this process knows of them. A settled
// call may stay in it for a while.
type Calls struct {
	mu sync.Mutex
	of map[eventlog.MutationID]Call
	// forgetAt is the number of calls at which Begin forgets those that are settled. It is twice what was left the last
	// time, so that not every Begin looks at all calls.
	forgetAt int
}

// Call is one call. A call that is sent again is another one, with another deadline.
type Call struct {
	Deadline eventlog.Instant
	// First is when this process sent the call, or when it first saw the record of another's.
	First Moment
	// Known is First of the call's first request that this process knows of: the same when it is sent again.
	Known Moment
	// Own says that this process has sent it.
	Own bool
	// Ended is when the exchange of a call of this process was over. Answered says that a complete answer ended it,
	// Relayed that another party on the way may have.
	Ended    Moment
	Over     bool
	Answered bool
	Relayed  bool
}

// Age is a lower bound of how long ago a call began that is recorded as started at the given time: the larger value of
// the two clocks.
func (x Call) Age(started time.Time, now Moment) time.Duration {
	return max(now.Clock.Sub(started), max(x.Known.Clock.Sub(started), 0)+now.Elapsed-x.Known.Elapsed)
}

// Begin notes that this process is about to send a call, and from time to time forgets those that are settled.
func (s *Calls) Begin(m *projections.Mutation, now Moment, state *projections.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) >= s.forgetAt {
		maps.DeleteFunc(s.of, func(id eventlog.MutationID, _ Call) bool {
			other := state.Mutation(id)
			return other == nil || other.Status.Final()
		})
		s.forgetAt = 2*len(s.of) + 16 // few calls are not worth a look
	}
	s.put(m.ID, Call{Deadline: m.Deadline, First: now, Known: s.known(m.ID, now), Own: true})
}

// End notes that the exchange of a call of this process is over.
func (s *Calls) End(id eventlog.MutationID, now Moment, outcome connector.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.of[id]; ok && x.Own {
		x.Ended, x.Over, x.Answered, x.Relayed = now, true, outcome.Answered, outcome.Relayed
		s.put(id, x)
	}
}

// See returns what is known of a call, and notes when it was first seen.
func (s *Calls) See(m *projections.Mutation, now Moment) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.of[m.ID]
	if !ok || x.Deadline != m.Deadline {
		x = Call{Deadline: m.Deadline, First: now, Known: s.known(m.ID, now)}
		s.put(m.ID, x)
	}
	return x
}

// Open lists the calls of this process whose exchange has not ended, oldest first.
func (s *Calls) Open() []eventlog.MutationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []eventlog.MutationID
	for id, x := range s.of {
		if x.Own && !x.Over {
			open = append(open, id)
		}
	}
	slices.Sort(open) // ids begin with their time
	return open
}

// known is since when the call is known. The caller holds mu.
func (s *Calls) known(id eventlog.MutationID, now Moment) Moment {
	if x, ok := s.of[id]; ok {
		return x.Known
	}
	return now
}

// put keeps what is known of a call. The caller holds mu.
func (s *Calls) put(id eventlog.MutationID, x Call) {
	if s.of == nil {
		s.of = make(map[eventlog.MutationID]Call)
	}
	s.of[id] = x
}
