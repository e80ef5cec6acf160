package simulation

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// consumerBook is what the judge itself knows of a workflow's concurrent consumers.
type consumerBook struct {
	runs map[eventlog.RunID]*concurrentRun
	// of has the one run of each event that is not over.
	of       map[eventlog.EventRef]*concurrentRun
	held     map[eventlog.EventRef]*eventlog.EventHeld
	hidden   map[eventlog.EventRef]hiding
	attempts map[eventlog.EventRef]*attempts
	handlers map[eventlog.Handler]*concurrentHandler
	// began are the runs that begin with the record that is checked; deployed is the revision of the current version.
	began    []*concurrentRun
	deployed uint64
}

// concurrentRun is a run of one event.
type concurrentRun struct {
	id      eventlog.RunID
	handler eventlog.Handler
	event   eventlog.EventRef
	version eventlog.Version
	key     string
	// start is the revision at which it began, back that at which it was given a place again, zero for never.
	start, back uint64
	// waiting: for a person or for a place; failed: it has ended, and not with its process.
	retry, ended, waiting, failed bool
}

// began is the revision since which the run has its place.
func (r *concurrentRun) began() uint64 { return max(r.start, r.back) }

// hiding is until when an event is not offered, and why.
type hiding struct {
	until               eventlog.Instant
	deferred, transient bool
}

// attempts are those of an event since it was published or redriven.
type attempts struct {
	counted int
	// last says whether the last failure counted, failed the revision of the last failure, 0 for none.
	last   bool
	failed uint64
}

// concurrentHandler is a concurrent consumer.
type concurrentHandler struct {
	streak    *streak
	probing   *probing
	proven    uint64 // the latest start of a run that has committed its event
	uncertain []eventlog.MutationID
	startedAt eventlog.Instant
	asked     eventlog.Instant // until then a target wants to be left alone (F13)
}

// streak are the first failures of events, one after the other with the same class; probing is a wait for the target
// (C7).
type (
	streak struct {
		class  eventlog.Class
		events []eventlog.EventRef
		began  uint64 // at which the run of the first of them began
	}
	probing struct {
		began   uint64
		attempt int
	}
)

func newConsumerBook() consumerBook {
	return consumerBook{
		runs: map[eventlog.RunID]*concurrentRun{}, of: map[eventlog.EventRef]*concurrentRun{},
		held: map[eventlog.EventRef]*eventlog.EventHeld{}, hidden: map[eventlog.EventRef]hiding{},
		attempts: map[eventlog.EventRef]*attempts{}, handlers: map[eventlog.Handler]*concurrentHandler{},
	}
}

// consumerBookOf takes what the judge knows from a state, after a part of the workflow's past was lost.
func consumerBookOf(s *projections.State) consumerBook {
	a := newConsumerBook()
	for run := range s.OpenRuns() {
		x := &concurrentRun{id: run.ID, handler: run.Handler, event: *run.Event, version: run.Version, key: run.Key,
			start: run.StartRevision, back: run.BackRevision, retry: run.RetryOf != "", ended: run.EndedAt != 0,
			waiting: run.Status == eventlog.RunStatusPausedApproval && run.EndedAt == 0}
		a.runs[run.ID], a.of[x.event] = x, x
	}
	for _, e := range s.Events() {
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		if e.Held != nil {
			a.held[ref] = &eventlog.EventHeld{Topic: e.Topic, MessageID: e.MessageID, Run: e.Held.Run, Reason: e.Held.Reason}
		}
		if e.Status == eventlog.EventStatusPending && e.ScheduledAt != 0 {
			a.hidden[ref] = hiding{e.ScheduledAt, e.Deferred, e.BacksOff()}
		}
		a.attempts[ref] = &attempts{e.Failures, e.Counted, e.FailedAt}
	}
	for name, h := range s.Handlers() {
		x := a.handler(name)
		x.proven, x.uncertain, x.startedAt = h.ProvenStart, h.Uncertain, h.StartedAt
		if h.Streak != nil {
			x.streak = &streak{h.Streak.Class, h.Streak.Events, h.Streak.Began}
		}
		if h.Probing != nil {
			x.probing = &probing{h.Probing.Began, h.Probing.Attempt}
		}
	}
	if script := s.Script(s.Version); script != nil {
		a.deployed = script.Revision
	}
	return a
}

func (a *consumerBook) handler(name eventlog.Handler) *concurrentHandler {
	return entry(a.handlers, name)
}

func (a *consumerBook) attemptsOf(ref eventlog.EventRef) *attempts {
	return entry(a.attempts, ref)
}

// entry is what the map has for the key, made where there is none.
func entry[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// active counts the handler's runs that have a place.
func (a *consumerBook) active(handler eventlog.Handler) (n int) {
	for _, run := range a.of {
		if run.handler == handler && !run.ended && !run.waiting {
			n++
		}
	}
	return n
}

// givenBack notes that the run has given the event back: after a failure, unless its process died or it was aborted.
func (a *consumerBook) givenBack(r eventlog.Record, run eventlog.RunID, ref eventlog.EventRef) {
	delete(a.held, ref)
	if x := a.runs[run]; x != nil && x.failed {
		a.attemptsOf(ref).failed = r.Revision
	}
}

// end notes that the run is over, unless it owes a retry, which the same record says.
func (a *consumerBook) end(id eventlog.RunID) {
	if run := a.runs[id]; run != nil {
		run.ended, run.waiting = true, false
		if a.of[run.event] == run {
			delete(a.of, run.event)
		}
	}
}

// endEvent forgets what kept the event from being offered.
func (a *consumerBook) endEvent(ref eventlog.EventRef) {
	delete(a.held, ref)
	delete(a.hidden, ref)
}

// forgive takes back what the first failure of the event has counted, while it waits (C7).
func (a *consumerBook) forgive(ref eventlog.EventRef) {
	x := a.attemptsOf(ref)
	if _, hidden := a.hidden[ref]; hidden && x.last {
		x.counted, x.last = x.counted-1, false
	}
}

// chain is what the judge knows of one prepare and of what followed it.
type chain struct {
	prepared  string         // what prepare returned
	malformed bool           // the engine cannot read that
	mutated   bool           // how its mutate ended was told with it
	run       eventlog.RunID // whose prepare it is on record; empty while it is not
}

// mutates: mutate is called for what a prepare has reserved, and not again once its end was told with that prepare.
func (j *judge) mutates(o *op, in preparedResult) {
	s, tag := j.sim, in.Data.Tag
	c := j.chains[tag]
	switch {
	case c == nil || c.prepared != string(o.script.Prepared):
		s.violate("mutate of %s was given what no prepare returned: %s", o.workflow, o.script.Prepared)
		return
	case !in.reserves():
		s.violate("mutate of chain %d is called, and its prepare reserves nothing (R3)", tag)
	case c.malformed && !o.follows:
		s.violate("mutate of chain %d is called, and what its prepare returned has a wrong shape (R19)", tag)
	case c.mutated:
		s.violate("mutate of chain %d is called again, and its end was told with its prepare", tag)
	}
	if !o.follows {
		return
	}
	c.mutated = true
	if c.malformed {
		s.did("mutate with a prepare of a wrong shape")
	}
	state := j.book(o.workflow).state()
	for _, reserved := range in.Reservations {
		for _, id := range reserved.IDs {
			e := state.Event(eventlog.Topic(reserved.Topic), eventlog.MessageID(id))
			if e == nil || e.Status != eventlog.EventStatusPending && e.Status != eventlog.EventStatusReserved {
				s.did("mutate with a prepare whose choice does not hold")
			}
		}
	}
}

// prepared: what a run has prepared is what one prepare returned, whether or not mutate followed that at once. No other
// run has it.
func (j *judge) prepared(f *eventlog.RunPrepared) {
	var in preparedResult
	err := json.Unmarshal(f.Result, &in)
	c := j.chains[in.Data.Tag]
	switch {
	case err != nil || c == nil || c.prepared != string(f.Result):
		j.sim.violate("run %s is prepared with what no prepare returned: %s", j.sim.alias(string(f.Run)), f.Result)
	case c.malformed:
		j.sim.violate("run %s is prepared with a result of a wrong shape (R19)", j.sim.alias(string(f.Run)))
	case c.run != "":
		j.sim.violate("runs %s and %s are both prepared with chain %d", j.sim.alias(string(c.run)),
			j.sim.alias(string(f.Run)), in.Data.Tag)
	default:
		c.run = f.Run
	}
}

// calls: the call of a run is what mutate named for what this run has prepared, and for events that it has reserved
// (R9).
func (j *judge) calls(b *book, f *eventlog.MutationStarted) {
	s, run := j.sim, b.run(f.Run)
	var call prepared
	if err := json.Unmarshal(f.Call.Params, &call); err != nil {
		s.violate("mutation %s has parameters that no script gave: %v", s.alias(f.Key), err)
	}
	if c := j.chains[call.Tag]; c == nil || c.run != f.Run {
		s.violate("mutation %s is that of chain %d, which run %s has not prepared", s.alias(f.Key), call.Tag,
			s.alias(string(f.Run)))
	}
	for _, ref := range call.Refs {
		if !slices.Contains(run.Reserved, ref) {
			s.violate("mutation %s is for event %s of topic %s, which its run has not reserved (R9)", s.alias(f.Key),
				ref.MessageID, ref.Topic)
		}
	}
}

// failedIn: a handler that fails fails its run in its own phase: what prepare has chosen is on record before mutate
// fails.
func (j *judge) failedIn(b *book, f *eventlog.RunFailed) {
	handler, _, _ := strings.Cut(f.Failure.Code, ".")
	phases := map[string]eventlog.Phase{
		string(sandbox.Prepare): eventlog.PhasePreparing, string(sandbox.Mutate): eventlog.PhaseMutating,
	}
	if phase, ok := phases[handler]; ok && b.phases[f.Run] != phase {
		j.sim.violate("%s of run %s fails (%s), and the run is in %s (R1)", handler, j.sim.alias(string(f.Run)),
			f.Failure.Code, b.phases[f.Run])
	}
}
