package simulation

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// abreast is the judge's own account of a workflow's concurrent consumers.
type abreast struct {
	runs map[eventlog.RunID]*abreastRun
	// of has the one run of each event that is not over.
	of       map[eventlog.EventRef]*abreastRun
	held     map[eventlog.EventRef]*eventlog.EventHeld
	hidden   map[eventlog.EventRef]hiding
	attempts map[eventlog.EventRef]*attempts
	handlers map[eventlog.Handler]*abreastHandler
	// began are the runs that the record begins which is looked at; deployed is the revision of the current version.
	began    []*abreastRun
	deployed uint64
}

// abreastRun is a run of one event.
type abreastRun struct {
	id      eventlog.RunID
	handler eventlog.Handler
	event   eventlog.EventRef
	version eventlog.Version
	key     string
	// start is the revision at which it began.
	start uint64
	// waiting for a person or for a place; failed: it has ended otherwise than with its process.
	retry, ended, waiting, failed bool
}

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

// abreastHandler is a concurrent consumer.
type abreastHandler struct {
	row       *row
	probing   *probing
	proven    uint64 // the latest start of a run that has committed its event
	uncertain []eventlog.MutationID
	startedAt eventlog.Instant
}

func newAbreast() abreast {
	return abreast{
		runs: map[eventlog.RunID]*abreastRun{}, of: map[eventlog.EventRef]*abreastRun{},
		held: map[eventlog.EventRef]*eventlog.EventHeld{}, hidden: map[eventlog.EventRef]hiding{},
		attempts: map[eventlog.EventRef]*attempts{}, handlers: map[eventlog.Handler]*abreastHandler{},
	}
}

// abreastOf is the account that a state gives, of a workflow a part of whose past is lost.
func abreastOf(s projections.State) abreast {
	a := newAbreast()
	for run := range s.OpenRuns() {
		x := &abreastRun{id: run.ID, handler: run.Handler, event: *run.Event, version: run.Version, key: run.Key,
			start: run.StartRevision, retry: run.RetryOf != "", ended: run.EndedAt != 0,
			waiting: run.Status == eventlog.RunPausedApproval && run.EndedAt == 0}
		a.runs[run.ID], a.of[x.event] = x, x
	}
	for _, e := range s.Events() {
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		if e.Held != nil {
			a.held[ref] = &eventlog.EventHeld{Topic: e.Topic, MessageID: e.MessageID, Run: e.Held.Run, Reason: e.Held.Reason}
		}
		if e.Status == eventlog.EventPending && e.ScheduledAt != 0 {
			a.hidden[ref] = hiding{e.ScheduledAt, e.Deferred, e.BacksOff()}
		}
		a.attempts[ref] = &attempts{e.Failures, e.Counted, e.FailedAt}
	}
	for name, h := range s.Handlers() {
		x := a.handler(name)
		x.proven, x.uncertain, x.startedAt = h.ProvenStart, h.Uncertain, h.StartedAt
		if h.Row != nil {
			x.row = &row{h.Row.Class, h.Row.Events, h.Row.Began}
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

func (a *abreast) handler(name eventlog.Handler) *abreastHandler {
	return entry(a.handlers, name)
}

func (a *abreast) attemptsOf(ref eventlog.EventRef) *attempts {
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
func (a *abreast) active(handler eventlog.Handler) (n int) {
	for _, run := range a.of {
		if run.handler == handler && !run.ended && !run.waiting {
			n++
		}
	}
	return n
}

// abreast follows a record of a workflow that has or had a concurrent consumer, and holds it against C1 to C12.
func (j *judge) abreast(b *book, r eventlog.Record, after *projections.State) {
	if !j.sim.concurrent {
		return
	}
	a := &b.abreast
	a.began = nil
	if r.Cause.ID == "resume" {
		for _, h := range a.handlers {
			h.uncertain, h.row = nil, nil
		}
	}
	for _, f := range r.Facts {
		j.abreastFact(b, r, f, after)
	}
	for _, run := range a.began {
		j.beganWell(b, r, run, after)
	}
	j.heldWell(b, after)
}

// abreastFact takes in one fact.
func (j *judge) abreastFact(b *book, r eventlog.Record, f eventlog.Fact, after *projections.State) {
	s, a := j.sim, &b.abreast
	switch f := f.(type) {
	case *eventlog.WorkflowDeployed:
		a.deployed = r.Revision
		maps.DeleteFunc(a.hidden, func(_ eventlog.EventRef, hidden hiding) bool { return hidden.deferred })
		for _, h := range a.handlers {
			h.row = nil
		}
	case *eventlog.RunStarted:
		if f.Event == nil {
			return
		}
		run := &abreastRun{id: f.Run, handler: f.Handler, event: *f.Event, version: f.Version, key: f.Key,
			start: r.Revision, retry: f.RetryOf != ""}
		if other := a.of[run.event]; other != nil && other.id != f.RetryOf {
			s.violate("run %s begins for event %s of topic %s in %s, and run %s of it is not over (C1)",
				s.alias(string(f.Run)), run.event.MessageID, run.event.Topic, b.name, s.alias(string(other.id)))
		}
		a.runs[f.Run], a.of[run.event] = run, run
		a.began = append(a.began, run)
	case *eventlog.EventReserved:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		if run := a.of[ref]; run != nil && run.id != f.Run {
			s.violate("run %s reserves event %s of topic %s in %s, and run %s of it is not over (C1)", s.alias(string(f.Run)),
				ref.MessageID, ref.Topic, b.name, s.alias(string(run.id)))
		}
		j.offered(b, ref)
		if run := a.of[ref]; run != nil && a.hidden[ref].until > r.At && a.handler(run.handler).probing == nil {
			s.violate("event %s of topic %s in %s goes to a run before its time %s (C5, C6)", ref.MessageID, ref.Topic, b.name,
				a.hidden[ref].until)
		}
		delete(a.hidden, ref)
	case *eventlog.EventTransferred:
		j.offered(b, eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.RunSuspended:
		if run := a.runs[f.Run]; run != nil {
			run.waiting = true
		}
	case *eventlog.RunReactivated:
		if run := a.runs[f.Run]; run != nil {
			run.waiting = false
			a.began = append(a.began, run)
		}
	case *eventlog.RunCommitted:
		a.end(f.Run)
	case *eventlog.RunFailed:
		if run := a.runs[f.Run]; run != nil {
			run.failed = f.Status != eventlog.RunStatusCrashed
			j.failedAbreast(b, r, f, run, after)
		}
		a.end(f.Run)
	case *eventlog.RunCrashed:
		a.end(f.Run)
	case *eventlog.RunRetryOwed:
		if run := a.runs[f.Run]; run != nil {
			a.of[run.event] = run
		}
	case *eventlog.RunRetryCleared:
		if run := a.runs[f.Run]; run != nil && a.of[run.event] == run {
			a.end(f.Run)
		}
	case *eventlog.HandlerProbeScheduled:
		j.probes(b, r, f)
	case *eventlog.HandlerProbingEnded:
		j.probesNoMore(b, r, f, after)
	default:
		j.abreastEvent(b, r, f, after)
	}
}

// abreastEvent takes in what happens to an event.
func (j *judge) abreastEvent(b *book, r eventlog.Record, f eventlog.Fact, after *projections.State) {
	a := &b.abreast
	switch f := f.(type) {
	case *eventlog.EventHeld:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.held[ref] = f
		delete(a.hidden, ref)
	case *eventlog.EventFreed:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.endEvent(ref)
	case *eventlog.EventReleased:
		a.givenBack(r, f.Run, eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventDeferred:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		delete(a.held, ref)
		a.hidden[ref] = hiding{until: f.Until, deferred: true}
	case *eventlog.EventRetryScheduled:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.givenBack(r, f.Run, ref)
		class := eventlog.Class("")
		if run := b.run(f.Run); run != nil && run.Failure != nil {
			class = run.Failure.Class
		}
		a.hidden[ref] = hiding{until: f.At, transient: class == eventlog.Transient}
		x := a.attemptsOf(ref)
		if x.last = !f.Uncounted; x.last {
			x.counted++
			j.withinLimit(b, f.Run, ref, x.counted, "scheduled again")
		}
	case *eventlog.EventDiscarded:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		j.withinLimit(b, f.Run, ref, a.attemptsOf(ref).counted, "discarded")
		a.endEvent(ref)
	case *eventlog.EventConsumed:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		a.endEvent(ref)
		if run := a.runs[f.Run]; run != nil && !run.retry {
			j.proves(b, r, run)
		}
	case *eventlog.EventSkipped:
		a.endEvent(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventGivenUp:
		a.endEvent(eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventRedriven:
		ref := eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}
		if run := a.of[ref]; run != nil {
			j.sim.violate("event %s of topic %s in %s is redriven, and run %s of it is not over (C1)", ref.MessageID, ref.Topic,
				b.name, j.sim.alias(string(run.id)))
		}
		a.endEvent(ref)
		delete(a.attempts, ref)
	default:
		j.doubt(b, f)
	}
}

// doubt follows the calls of concurrent consumers whose outcome is not known, one after the other (C3).
func (j *judge) doubt(b *book, f eventlog.Fact) {
	a := &b.abreast
	known := func(id eventlog.RunID, m eventlog.MutationID) {
		run := a.runs[id]
		if run == nil {
			return
		}
		if h := a.handler(run.handler); len(h.uncertain) < 3 || slices.Contains(h.uncertain, m) {
			h.uncertain = nil
		}
	}
	switch f := f.(type) {
	case *eventlog.MutationApplied:
		known(f.Run, f.Mutation)
	case *eventlog.MutationSkipped:
		if f.ResolvedBy == eventlog.ResolvedByUserSkip { // a rejected one never left
			known(f.Run, f.Mutation)
		}
	case *eventlog.MutationFailed:
		switch f.ResolvedBy {
		case eventlog.ResolvedByNeverSent, eventlog.ResolvedByUserReject, eventlog.ResolvedByUserSkip:
		default:
			known(f.Run, f.Mutation)
		}
	}
}

// givenBack notes that the run has given the event back: after a failure, unless its process died or it was aborted.
func (a *abreast) givenBack(r eventlog.Record, run eventlog.RunID, ref eventlog.EventRef) {
	delete(a.held, ref)
	if x := a.runs[run]; x != nil && x.failed {
		a.attemptsOf(ref).failed = r.Revision
	}
}

// end notes that the run is over, unless it owes a retry, which the same record says.
func (a *abreast) end(id eventlog.RunID) {
	if run := a.runs[id]; run != nil {
		run.ended, run.waiting = true, false
		if a.of[run.event] == run {
			delete(a.of, run.event)
		}
	}
}

// endEvent forgets what kept the event from being offered.
func (a *abreast) endEvent(ref eventlog.EventRef) {
	delete(a.held, ref)
	delete(a.hidden, ref)
}

// offered: what is held is given to no run (C5).
func (j *judge) offered(b *book, ref eventlog.EventRef) {
	if held := b.abreast.held[ref]; held != nil {
		j.sim.violate("event %s of topic %s in %s is held (%s) and goes to a run (C5)", ref.MessageID, ref.Topic, b.name,
			held.Reason)
	}
}

// withinLimit: an event is discarded with the failure after its limit of counted ones, and never before (J2).
func (j *judge) withinLimit(b *book, run eventlog.RunID, ref eventlog.EventRef, counted int, what string) {
	x := b.abreast.runs[run]
	if x == nil {
		return
	}
	state := b.state()
	c, _ := state.Script(x.version).Definition.Consumer(x.handler)
	limit := 1 << 30
	if c.MaxAttempts != nil {
		limit = *c.MaxAttempts
	}
	if what == "discarded" && counted < limit || what != "discarded" && c.MaxAttempts != nil && counted > limit {
		j.sim.violate("event %s of topic %s in %s is %s with %d failures that count of %v (J2, C7)", ref.MessageID, ref.Topic,
			b.name, what, counted, limit)
	}
}

// beganWell holds what the record begins against places, keys, order, times and holds.
func (j *judge) beganWell(b *book, r eventlog.Record, run *abreastRun, after *projections.State) {
	s, a := j.sim, &b.abreast
	about := func(why string, args ...any) {
		args = append([]any{s.alias(string(run.id)), run.event.MessageID, run.event.Topic, b.name}, args...)
		s.violate("run %s of event %s of topic %s in %s begins "+why, args...)
	}
	c, ok := after.Definition().Consumer(run.handler)
	h := a.handler(run.handler)
	fresh := run.start == r.Revision && !run.retry
	if active := a.active(run.handler); !ok || active > c.Concurrency {
		about("as one of %d at once, and there are %d places (C3)", active, c.Concurrency)
	}
	if h.probing != nil && a.active(run.handler) > 1 {
		about("beside another while its consumer probes (C7)")
	}
	if block := after.Blocked; after.Archived || after.Pause != nil || block != nil &&
		(block.Reason == eventlog.BlockContradiction || block.Reason == eventlog.BlockLoss) {
		about("while everything is held (C8)")
	}
	if run.start == r.Revision {
		spacing := c.Spacing()
		if last := h.startedAt; last != 0 && r.At >= last && r.At < last.Add(spacing) {
			about("%s after the last, with a rate of one per %s (C12)", r.At.Sub(last), spacing)
		}
		h.startedAt = r.At
	}
	if !fresh {
		return
	}
	if len(h.uncertain) >= 3 {
		about("after %d calls in a row whose outcome is not known (C3)", len(h.uncertain))
	}
	j.keyFree(b, run, c, after, about)
	j.oldestFirst(b, r, run, c, after, about)
}

// keyFree: of a key, the oldest event that is not finished goes first, alone (C2). What began under another version may
// have another key.
func (j *judge) keyFree(b *book, run *abreastRun, c eventlog.Consumer, after *projections.State,
	about func(string, ...any)) {
	if c.Key == "" {
		return
	}
	own := after.Event(run.event.Topic, run.event.MessageID)
	key := keyOf(c.Key, own.Payload)
	if key != run.key {
		about("with key %s, and that is %s (C2)", run.key, key)
	}
	if key == "" {
		return
	}
	for _, e := range after.Events() {
		if e == own || !slices.Contains(c.Subscribe, e.Topic) {
			continue
		}
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		switch e.Status {
		case eventlog.EventPending:
			if e.Created.Before(own.Created) && keyOf(c.Key, e.Payload) == key {
				about("before event %s of topic %s, which is older and has the same key %s (C2)", ref.MessageID, ref.Topic, key)
			}
		case eventlog.EventStatusReserved:
			if other := b.abreast.of[ref]; other != nil && other.version == run.version && other.key == key {
				about("while event %s of topic %s is worked on, which has the same key %s (C2)", ref.MessageID, ref.Topic, key)
			}
		}
	}
}

// keyOf is the canonical JSON of the payload's member, empty for none.
func keyOf(member string, payload json.RawMessage) string {
	var object map[string]int
	if json.Unmarshal(payload, &object) != nil {
		return ""
	}
	n, ok := object[member]
	if !ok {
		return ""
	}
	text, _ := json.Marshal(n)
	return string(text)
}

// oldestFirst: what still waits and may begin is younger, and retries leave half of the places to untried events (C1).
func (j *judge) oldestFirst(b *book, r eventlog.Record, run *abreastRun, c eventlog.Consumer, after *projections.State,
	about func(string, ...any)) {
	a := &b.abreast
	if a.handler(run.handler).probing != nil {
		return
	}
	own := after.Event(run.event.Topic, run.event.MessageID)
	tried := a.attemptsOf(run.event).failed != 0
	for waits := range after.Offered(c, false, r.At) {
		retries := 0
		for _, other := range a.of {
			if other.handler == run.handler && !other.ended && !other.waiting && !other.retry &&
				a.attemptsOf(other.event).failed != 0 {
				retries++
			}
		}
		switch {
		case slices.ContainsFunc(r.Facts, frees):
		case tried && retries > max(1, c.Concurrency/2):
			about("as one of %d retries of %d places, and untried events wait (C1)", retries, c.Concurrency)
		case !tried && waits.Created.Before(own.Created):
			about("before an older event of topic %s (C1)", waits.Topic)
		}
		break
	}
}

// frees reports whether the fact may have made an event free after others have begun: a retry that commits at once.
func frees(f eventlog.Fact) bool {
	switch f.(type) {
	case *eventlog.RunCommitted, *eventlog.RunReactivated:
		return true
	}
	return false
}
