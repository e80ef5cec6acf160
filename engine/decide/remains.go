package decide

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Remains is what can still be known of a part of a workflow's past that is given up: from its records that
// can be read, and from what the local store has folded of it. Saw and Found take it in, in the order of the
// log. The zero Remains knows nothing.
type Remains struct {
	// Whole says that nothing can have happened beyond what was taken in. Then an event that was found
	// pending is still to be done.
	Whole bool

	events    map[eventlog.EventRef]*remnant
	order     []eventlog.EventRef
	mutations map[eventlog.MutationID]*eventlog.MutationGivenUp
	calls     []eventlog.MutationID
	reserved  map[eventlog.RunID][]eventlog.EventRef
	states    map[eventlog.Handler]json.RawMessage
	deployed  *eventlog.WorkflowDeployed
	grants    map[string]eventlog.Grant
	archived  bool
}

// remnant is what is known of an event.
type remnant struct {
	title    string
	payload  json.RawMessage
	consumed bool
	pending  bool // and nothing has happened to it since
	reopened bool // it was redriven or reserved, and has not ended since
	// unknown: an earlier accepted loss had ended it. A redrive may then repeat an effect, even if a person has called it
	// handled since (O11).
	unknown bool
	// former is how many runs that made a call it had ended with before.
	former int
	// skippedBy is the run that held it when it ended as skipped: a call may have been made for it then (O11).
	skippedBy eventlog.RunID
}

// GivenUpCall is a mutation call that is given up, with the events it was made for.
type GivenUpCall struct {
	eventlog.MutationGivenUp
	Events []eventlog.EventRef
}

// Calls lists the mutation calls that an acceptance on the state gives up: the open calls of the state, then the calls
// read from the remains that the state has not settled, in their order.
func (r *Remains) Calls(s *projections.State) []GivenUpCall {
	var calls []GivenUpCall
	runs := append([]*projections.Run{s.CurrentRun(), s.RetryRun()}, slices.Collect(s.OpenRuns())...)
	for _, run := range runs {
		if f := r.givenUp(s, run); f != nil && r.mutations[f.Mutation] == nil {
			calls = append(calls, GivenUpCall{*f, run.Reserved})
		}
	}
	for _, id := range r.calls {
		if m := s.Mutation(id); m == nil || !m.Status.Final() {
			calls = append(calls, GivenUpCall{*r.mutations[id], r.reserved[r.mutations[id].Run]})
		}
	}
	return calls
}

// givenUp is the fact that ends the run's call, nil when there is none that is open in the state.
func (r *Remains) givenUp(s *projections.State, run *projections.Run) *eventlog.MutationGivenUp {
	if run == nil || run.Mutation == "" {
		return nil
	}
	m := s.Mutation(run.Mutation)
	if m == nil || m.Status.Final() {
		return nil
	}
	if f := r.mutations[m.ID]; f != nil {
		return f
	}
	return &eventlog.MutationGivenUp{Mutation: m.ID, Run: m.Run, Call: m.Call, Key: m.Key, Status: m.Status,
		StartedAt: m.StartedAt}
}

// Saw takes in a fact of a readable record. Only published and consumed settle an event's fate; after any other
// fact, a missing record may have changed it.
func (r *Remains) Saw(fact eventlog.Fact, at eventlog.Instant) {
	touch := func(topic eventlog.Topic, id eventlog.MessageID) { r.event(topic, id).pending = false }
	switch f := fact.(type) {
	case *eventlog.EventPublished:
		x := r.event(f.Topic, f.MessageID)
		x.title, x.payload, x.pending = f.Title, f.Payload, true
	case *eventlog.EventRepublished:
		x := r.event(f.Topic, f.MessageID)
		x.title, x.payload = f.Title, f.Payload
	case *eventlog.EventReserved:
		touch(f.Topic, f.MessageID)
		r.event(f.Topic, f.MessageID).reopened = true
		r.reserve(f.Run, eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventTransferred:
		touch(f.Topic, f.MessageID)
		r.event(f.Topic, f.MessageID).reopened = true
		r.reserve(f.Run, eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID})
	case *eventlog.EventReleased:
		touch(f.Topic, f.MessageID)
	case *eventlog.EventRetryScheduled:
		touch(f.Topic, f.MessageID)
	case *eventlog.EventDeferred:
		touch(f.Topic, f.MessageID)
	case *eventlog.EventConsumed:
		touch(f.Topic, f.MessageID)
		r.event(f.Topic, f.MessageID).consumed = true
	case *eventlog.EventSkipped:
		touch(f.Topic, f.MessageID)
		x := r.event(f.Topic, f.MessageID)
		x.reopened, x.skippedBy = false, f.Run
	case *eventlog.EventDiscarded:
		touch(f.Topic, f.MessageID)
		r.event(f.Topic, f.MessageID).reopened = false
	case *eventlog.EventRedriven:
		touch(f.Topic, f.MessageID)
		r.event(f.Topic, f.MessageID).reopened = true
	case *eventlog.EventGivenUp:
		x := r.event(f.Topic, f.MessageID)
		x.title, x.payload, x.pending, x.consumed = f.Title, f.Payload, false, f.Status == eventlog.EventStatusConsumed
		x.reopened, x.unknown = f.Unknown, x.unknown || f.Unknown
	case *eventlog.MutationApprovalRequested:
		m := r.call(f.Mutation)
		m.Run, m.Call, m.Status = f.Run, f.Call, eventlog.MutationStatusAwaitingApproval
	case *eventlog.MutationRefused:
		m := r.call(f.Mutation)
		m.Run, m.Call, m.Status = f.Run, f.Call, eventlog.MutationStatusFailed
	case *eventlog.MutationStarted:
		m := r.call(f.Mutation)
		m.Run, m.Call, m.Key, m.Status, m.StartedAt = f.Run, f.Call, f.Key, eventlog.MutationStatusInFlight, at
	case *eventlog.MutationApplied:
		m := r.call(f.Mutation)
		m.Status, m.Result = eventlog.MutationStatusApplied, f.Result
	case *eventlog.MutationFailed:
		r.call(f.Mutation).Status = eventlog.MutationStatusFailed
	case *eventlog.MutationSkipped:
		r.call(f.Mutation).Status = eventlog.MutationStatusFailed
	case *eventlog.MutationReconcileScheduled:
		r.call(f.Mutation).Status = eventlog.MutationStatusNeedsReconcile
	case *eventlog.MutationResent:
		r.call(f.Mutation).Status = eventlog.MutationStatusNeedsReconcile
	case *eventlog.MutationLeftIndeterminate:
		r.call(f.Mutation).Status = eventlog.MutationStatusIndeterminate
	case *eventlog.MutationGivenUp:
		*r.call(f.Mutation) = *f
	case *eventlog.HandlerStateSaved:
		r.saved(f.Handler, f.State)
	case *eventlog.WorkflowDeployed:
		r.deployed, r.grants = f, f.Grants
	case *eventlog.WorkflowGranted:
		r.grants = f.Grants
	case *eventlog.WorkflowArchived:
		r.archived = true
	}
}

// Found takes in an entity that the local store has folded: a *projections.TopicEvent, *Mutation, *Run,
// *Handler, *Script (of the current version) or *Workflow.
func (r *Remains) Found(entity any) {
	switch e := entity.(type) {
	case *projections.TopicEvent:
		x := r.event(e.Topic, e.MessageID)
		x.title, x.payload = e.Title, e.Payload
		x.pending, x.consumed = e.Status == eventlog.EventStatusPending, e.Status == eventlog.EventStatusConsumed
		x.reopened = x.pending || e.Status == eventlog.EventStatusReserved || e.Unknown
		x.unknown, x.former = e.Unknown || e.WasUnknown, len(e.Former)
		if x.skippedBy = ""; e.Status == eventlog.EventStatusSkipped {
			x.skippedBy = e.ReservedBy
		}
	case *projections.Mutation:
		m := r.call(e.ID)
		m.Run, m.Call, m.Key, m.Status, m.Result, m.StartedAt = e.Run, e.Call, e.Key, e.Status, e.Result, e.StartedAt
	case *projections.Run:
		for _, ref := range e.Reserved {
			r.reserve(e.ID, ref)
		}
	case *projections.Handler:
		if e.State != nil {
			r.saved(e.Name, e.State)
		}
	case *projections.Script:
		r.deployed = &eventlog.WorkflowDeployed{
			Version: e.Version, Filename: e.Filename, Source: e.Source, SourceHash: e.SourceHash, Definition: e.Definition,
			Repair: e.Repair, Note: e.Note,
		}
	case *projections.Workflow:
		r.grants, r.archived = e.Grants, e.Archived
	}
}

func (r *Remains) event(topic eventlog.Topic, id eventlog.MessageID) *remnant {
	ref := eventlog.EventRef{Topic: topic, MessageID: id}
	x := r.events[ref]
	if x == nil {
		if r.events == nil {
			r.events = map[eventlog.EventRef]*remnant{}
		}
		x = new(remnant)
		r.events[ref], r.order = x, append(r.order, ref)
	}
	return x
}

func (r *Remains) call(id eventlog.MutationID) *eventlog.MutationGivenUp {
	m := r.mutations[id]
	if m == nil {
		if r.mutations == nil {
			r.mutations = map[eventlog.MutationID]*eventlog.MutationGivenUp{}
		}
		m = &eventlog.MutationGivenUp{Mutation: id, Run: eventlog.RunID(id), Status: eventlog.MutationStatusInFlight}
		r.mutations[id], r.calls = m, append(r.calls, id)
	}
	return m
}

func (r *Remains) reserve(run eventlog.RunID, ref eventlog.EventRef) {
	if r.reserved == nil {
		r.reserved = map[eventlog.RunID][]eventlog.EventRef{}
	}
	if !slices.Contains(r.reserved[run], ref) {
		r.reserved[run] = append(r.reserved[run], ref)
	}
}

func (r *Remains) saved(name eventlog.Handler, state json.RawMessage) {
	if r.states == nil {
		r.states = map[eventlog.Handler]json.RawMessage{}
	}
	r.states[name] = state
}

// outcome is the fact that ends an event which may have been handled in what is given up.
func (x *remnant) outcome(ref eventlog.EventRef) *eventlog.EventGivenUp {
	f := &eventlog.EventGivenUp{
		Topic: ref.Topic, MessageID: ref.MessageID, Status: eventlog.EventStatusSkipped, Unknown: true,
		Reason: "what became of it is in a part of the log that was given up",
	}
	if x != nil {
		f.Title, f.Payload = x.title, x.payload
		if x.consumed {
			f.Status, f.Unknown, f.Reason = eventlog.EventStatusConsumed, false,
				"consumed in a part of the log that was given up"
		}
	}
	if f.Title == "" {
		f.Title = string(ref.MessageID)
	}
	if len(f.Payload) == 0 {
		f.Payload = json.RawMessage("null")
	}
	return f
}

// asking are grants under which no mutation leaves without a person's word. If the script is lost too, these grants
// must exist before the next deploy, or that deploy would be allowed everything it uses.
func asking(s *projections.State) map[string]eventlog.Grant {
	if s.Version == "" && len(s.Grants) == 0 {
		return map[string]eventlog.Grant{"*": eventlog.GrantAsk}
	}
	return askingFor(s.Definition(), s.Grants)
}

// askingFor are the grants, with approval wherever they allow a mutation of the definition.
func askingFor(def *eventlog.Definition, grants map[string]eventlog.Grant) map[string]eventlog.Grant {
	strict := maps.Clone(grants)
	for capability, grant := range grants {
		if grant == eventlog.GrantAllow && !onlyReads(def, capability) {
			strict[capability] = eventlog.GrantAsk
		}
	}
	return strict
}

// onlyReads reports whether the capability names exactly one operation, and that operation reads.
func onlyReads(def *eventlog.Definition, capability string) bool {
	for _, op := range def.Operations {
		if rest, ok := strings.CutPrefix(capability, op.Capability()); ok && (rest == "" || rest[0] == '@') {
			return op.Kind != kindMutate
		}
	}
	return false
}

// kindMutate is the kind of a pinned operation that changes something outside.
const kindMutate = "mutate"
