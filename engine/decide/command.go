package decide

import (
	"encoding/json"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Command is something to be decided: an outcome that a worker reports, or what a person or the
// outside asks for.
type Command interface {
	decide(*decision) error
	// names lists the history that the decision will look at.
	names(s *projections.State, want func(projections.Key))
}

type (
	// Tick starts what is due: a timer fired, or a hold is over.
	Tick struct {
		// Place is that of a BeginEvent: an event that is paged out cannot begin before it was read.
		Place *projections.Candidate
	}
	// Recover is a worker's first act, at boot, after a takeover and after a regained lease: a
	// run found active is crashed (R14), consumers with pending events are dirty (S6).
	Recover struct {
		// Found is the revision at which the worker took over: a run that was active then is
		// crashed even if this very process had started it (a regained lease). Zero spares the
		// process's own runs.
		Found uint64
	}
	// Deploy makes a checked script the current version.
	Deploy struct {
		Definition eventlog.Definition
		Filename   string
		Source     string
		SourceHash string
		// Grants replace the present ones; nil keeps them.
		Grants map[string]eventlog.Grant
		// GrantUsed allows all that a new workflow uses, unless Grants say otherwise.
		GrantUsed bool
		// Expected refuses the deploy when the running version is another one.
		Expected *eventlog.Version
		// Repair makes it a minor version (F9). What a repair must keep is checked against the
		// Expected version, so that must be given.
		Repair bool
		Note   string
	}
	// RepairRefused says that a repair was not accepted: it counts as a failure of the script,
	// or a repairer could try forever (F9).
	RepairRefused struct{ Reason string }
	// FailRun ends an active run for a reason outside of it, such as a log that could not be
	// written in time (F11). It is transient when the failure has no class, counts against no
	// job, and is stale while a mutation is open.
	FailRun struct {
		Run     eventlog.RunID
		Failure eventlog.Failure
	}
	// Push brings events in from outside.
	Push struct {
		Topic eventlog.Topic
		Items []PushItem
	}
	// PushItem is one event from outside.
	PushItem struct {
		MessageID eventlog.MessageID
		Title     string
		Payload   json.RawMessage
	}
	// FinishPrepare reports on prepare and on what followed it in the same step without touching
	// the outside: mutate, when it made or named no read, and next, when there is nothing to mutate.
	FinishPrepare struct {
		Run      eventlog.RunID
		Prepared Prepared
		Failure  *eventlog.Failure
		// Seen is the state that prepare peeked at, and SeenPending what getByIds has shown it as pending
		// besides (R9).
		Seen        projections.State
		SeenPending []eventlog.EventRef
		Mutate      *FinishMutate
		Next        *CommitRun
	}
	// FinishMutate reports on mutate: the call it named, none, or a failure; with both a call that must
	// not be sent (F14).
	FinishMutate struct {
		Run  eventlog.RunID
		Call *eventlog.MutationCall
		// Host is where the call goes, empty where it goes to none: grants may name it.
		Host string
		// Secrets names the secrets of the configuration that the call carries: each has to be granted.
		Secrets []string
		Failure *eventlog.Failure
	}
	// SettleMutation reports what became of a mutation.
	SettleMutation struct {
		Mutation eventlog.MutationID
		Outcome  Settlement
		// By is empty for the call's own answer, else one of the eventlog.ResolvedBy values.
		By string
		// CallFailure is what the call itself came to when its caller has asked at once (F5).
		CallFailure *eventlog.Failure
		// UnderWay, of a reconcile's answer: when it was asked, something of the call could still have
		// been under way. OverAt is when nothing of it can be any more, 0 while its exchange is open:
		// then that is not known.
		UnderWay bool
		OverAt   eventlog.Instant
	}
	// CommitRun reports on next, or on a producer.
	CommitRun struct {
		Run       eventlog.RunID
		State     json.RawMessage // nil leaves the handler's state unchanged (R13)
		Publishes []Publish
		Inputs    []Input
		Failure   *eventlog.Failure
	}
	// Publish is one buffered publish.
	Publish struct {
		Topics    []eventlog.Topic
		MessageID eventlog.MessageID
		Title     string
		Payload   json.RawMessage
		// Input links to a registered input; empty registers one from the event itself.
		Input eventlog.InputID
	}
	// Input is one buffered registration.
	Input struct {
		Source, Type, ExternalID, Title string
	}
)

// SettlementStatus is what became of a call.
type SettlementStatus int

// The settlements. Uncertain is the zero value: what is forgotten is never sent again.
const (
	Uncertain SettlementStatus = iota
	Applied
	Failed
)

// Settlement is the outcome of a call or of a reconcile.
type Settlement struct {
	Status  SettlementStatus
	Result  json.RawMessage
	Failure *eventlog.Failure
}

// ID returns the input's id.
func (i Input) ID() eventlog.InputID { return eventlog.NewInputID(i.Source, i.Type, i.ExternalID) }

func (Recover) names(*projections.State, func(projections.Key))       {}
func (RepairRefused) names(*projections.State, func(projections.Key)) {}
func (FailRun) names(*projections.State, func(projections.Key))       {}

func (c Tick) names(_ *projections.State, want func(projections.Key)) {
	if c.Place != nil {
		want(projections.PlaceKey(c.Place.Topic, c.Place.Created))
	}
}

// names of a deploy are the events that waited for a subscriber.
func (c Deploy) names(s *projections.State, want func(projections.Key)) {
	for _, key := range projections.Needs(s, []eventlog.Fact{&eventlog.WorkflowDeployed{Definition: c.Definition}}) {
		want(key)
	}
}

func (c Push) names(_ *projections.State, want func(projections.Key)) {
	for _, item := range c.Items {
		want(projections.EventKey(c.Topic, item.MessageID))
		want(projections.InputKey(pushInput(c.Topic, item).ID()))
	}
}

func (c FinishPrepare) names(s *projections.State, want func(projections.Key)) {
	for _, ref := range c.Prepared.Reservations {
		want(projections.EventKey(ref.Topic, ref.MessageID))
	}
	for _, x := range c.Prepared.Cancel {
		want(projections.EventKey(x.Topic, x.MessageID))
	}
	if c.Next != nil {
		c.Next.names(s, want)
	}
}

func (c FinishMutate) names(s *projections.State, want func(projections.Key)) {
	namesOfCommit(s, c.Run, want)
}

func (c SettleMutation) names(s *projections.State, want func(projections.Key)) {
	want(projections.MutationKey(c.Mutation))
	if m := s.Mutation(c.Mutation); m != nil {
		want(projections.RunKey(m.Run))
		namesOfCommit(s, m.Run, want)
	}
}

// namesOfCommit lists what the commit of the run looks at. A consumer without next commits in
// the transition that brings it there, whatever command that is.
func namesOfCommit(s *projections.State, id eventlog.RunID, want func(projections.Key)) {
	run := s.Run(id)
	if run == nil || run.ID != s.Current && run.Event == nil {
		return
	}
	for _, ref := range run.Reserved {
		want(projections.EventKey(ref.Topic, ref.MessageID))
	}
	for _, x := range run.Cancel {
		want(projections.EventKey(x.Topic, x.MessageID))
	}
}

func (c CommitRun) names(s *projections.State, want func(projections.Key)) {
	namesOfCommit(s, c.Run, want)
	for _, p := range c.Publishes {
		for _, topic := range p.Topics {
			want(projections.EventKey(topic, p.MessageID))
			want(projections.InputKey(producedInput(topic, p).ID()))
		}
		if p.Input != "" {
			want(projections.InputKey(p.Input))
		}
	}
	for _, in := range c.Inputs {
		want(projections.InputKey(in.ID()))
	}
}

// pushInput is the input that an event from outside registers (Causes).
func pushInput(topic eventlog.Topic, item PushItem) Input {
	return Input{Source: "push", Type: string(topic), ExternalID: string(item.MessageID), Title: item.Title}
}

// producedInput is the input that a producer's publish registers when it names none (Causes).
func producedInput(topic eventlog.Topic, p Publish) Input {
	return Input{Source: "producer", Type: string(topic), ExternalID: string(p.MessageID), Title: p.Title}
}
