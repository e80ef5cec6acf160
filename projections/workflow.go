package projections

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// Workflow is the core of a workflow: small, always in memory.
type Workflow struct {
	Name     eventlog.WorkflowName     `msgpack:"name"`
	Head     eventlog.Head             `msgpack:"head"`
	Version  eventlog.Version          `msgpack:"version"`
	Grants   map[string]eventlog.Grant `msgpack:"grants"`
	Created  Ordinal                   `msgpack:"created"`
	Archived bool                      `msgpack:"archived,omitempty"`
	// Pause is a person's pause, nil while it is not paused by a person; Blocked is the system's hold.
	// Neither touches the other (F7).
	Pause   *Pause `msgpack:"pause,omitempty"`
	Blocked *Block `msgpack:"blocked,omitempty"`
	// Maintenance holds everything until a repair (F7); RepairFailures counts logic
	// failures in a row (F9).
	Maintenance    *Maintenance `msgpack:"maintenance,omitempty"`
	RepairFailures int          `msgpack:"repairFailures,omitempty"`
	// RepairHandler is the handler whose failure was counted last: only its success says
	// that a repair has worked.
	RepairHandler eventlog.Handler `msgpack:"repairHandler,omitempty"`
	Backoff       *Backoff         `msgpack:"backoff,omitempty"`
	// PendingRetry is the ended run that owes a retry or a settlement (R16).
	PendingRetry eventlog.RunID `msgpack:"pendingRetry,omitempty"`
	// Current is the run that is active or awaits an approval.
	Current eventlog.RunID     `msgpack:"current,omitempty"`
	Session eventlog.SessionID `msgpack:"session,omitempty"`
	// Waiting counts the pending events of each topic that has any, by topic. Those of a topic
	// that no consumer subscribes to need not be in memory.
	Waiting []Waiting `msgpack:"waiting,omitempty"`
	Counts  Counts    `msgpack:"counts"`
	// Tokens are the named tokens in use, by hash; those of the installation alone.
	Tokens []Token `msgpack:"tokens,omitempty"`
	// Logins are those of browsers that are not closed, oldest first; those of the installation alone.
	Logins []Login `msgpack:"logins,omitempty"`
}

// Pause names the actor that paused a workflow, and the time.
type Pause struct {
	By    eventlog.Actor   `msgpack:"by"`
	Since eventlog.Instant `msgpack:"since"`
	// Restored says that the log was restored from a backup since, nil where it was not: a person has to look at what
	// was done after the backup.
	Restored *Restored `msgpack:"restored,omitempty"`
}

// Restored is where and when the backup was made.
type Restored struct {
	From    string           `msgpack:"from"`
	TakenAt eventlog.Instant `msgpack:"takenAt"`
}

// Block is a system hold.
type Block struct {
	Reason  eventlog.BlockReason `msgpack:"reason"`
	Message string               `msgpack:"message"`
	Run     eventlog.RunID       `msgpack:"run,omitempty"`
	Since   eventlog.Instant     `msgpack:"since"`
}

// Maintenance is a wait for a repair.
type Maintenance struct {
	Run   eventlog.RunID   `msgpack:"run"`
	Since eventlog.Instant `msgpack:"since"`
}

// Backoff is a wait after transient failures.
type Backoff struct {
	Attempt int              `msgpack:"attempt"`
	Until   eventlog.Instant `msgpack:"until"`
	// Attention is since when there are so many that a person should look, zero before (F8).
	Attention eventlog.Instant `msgpack:"attention,omitempty"`
}

// Script is one deployed version.
type Script struct {
	Version    eventlog.Version    `msgpack:"version"`
	Filename   string              `msgpack:"filename"`
	Source     string              `msgpack:"source"`
	SourceHash string              `msgpack:"sourceHash"`
	Definition eventlog.Definition `msgpack:"definition"`
	Repair     bool                `msgpack:"repair,omitempty"`
	Note       string              `msgpack:"note,omitempty"`
	DeployedAt eventlog.Instant    `msgpack:"deployedAt"`
	DeployedBy eventlog.Actor      `msgpack:"deployedBy"`
	Created    Ordinal             `msgpack:"created"`
	// Revision is the one at which it was deployed.
	Revision uint64 `msgpack:"revision"`
}

// Session is one burst of runs (S7).
type Session struct {
	ID     eventlog.SessionID     `msgpack:"id"`
	Result eventlog.SessionResult `msgpack:"result,omitempty"`
	// ProducersFirst gives producers due at its start their turn before consumers (S7).
	ProducersFirst bool             `msgpack:"producersFirst,omitempty"`
	Runs           int              `msgpack:"runs"`
	StartedAt      eventlog.Instant `msgpack:"startedAt"`
	EndedAt        eventlog.Instant `msgpack:"endedAt,omitempty"`
	Created        Ordinal          `msgpack:"created"`
}

// Status is a workflow's derived status (F7).
type Status string

// The derived statuses of a workflow.
const (
	StatusActive   Status = "active"
	StatusPaused   Status = "paused"   // by a person, or by an uncertain mutation
	StatusError    Status = "error"    // by another system hold
	StatusArchived Status = "archived" // for good
)

// Status derives the workflow's status from its separate facts (F7).
func (w *Workflow) Status() Status {
	switch {
	case w.Archived:
		return StatusArchived
	case w.Pause != nil:
		return StatusPaused
	case w.Blocked == nil:
		return StatusActive
	case w.Blocked.Reason == eventlog.BlockReconcile || w.Blocked.Reason == eventlog.BlockIndeterminate:
		return StatusPaused
	default:
		return StatusError
	}
}

// Attention is what a person should look at although nothing waits for a person.
type Attention struct {
	Reason AttentionReason
	Since  eventlog.Instant
	// Failures is how many transient failures stand in a row, how many probes have failed, or how many events are held,
	// are discarded, have failed so often or have an unknown fate.
	Failures int
}

// AttentionReason says why a workflow needs attention.
type AttentionReason string

// The reasons.
const (
	AttentionTransient AttentionReason = "transient" // it fails again and again, and goes on trying (F8)
	AttentionDiscarded AttentionReason = "discarded" // jobs were put aside, their attempts used up (J2)
	AttentionHeld      AttentionReason = "held"      // events wait for a person or a repair (C5)
	AttentionProbing   AttentionReason = "probing"   // a concurrent consumer's target fails again and again (C7)
	AttentionFailing   AttentionReason = "failing"   // single events fail again and again, and are tried on (C5, F8)
	// AttentionUnknown: events ended with an accepted loss, and no person has decided on them
	AttentionUnknown AttentionReason = "unknown"
	AttentionDamage  AttentionReason = "damage" // its log is damaged: no state shows that, the engine knows it
)

// Attention derives what needs a person's attention, nil for nothing.
func (w *Workflow) Attention() *Attention {
	switch {
	case w.Archived:
		return nil
	case w.Backoff != nil && w.Backoff.Attention != 0:
		return &Attention{Reason: AttentionTransient, Since: w.Backoff.Attention, Failures: w.Backoff.Attempt}
	case w.Counts.Undecided > 0:
		return &Attention{Reason: AttentionUnknown, Since: w.Counts.UndecidedSince, Failures: w.Counts.Undecided}
	case w.HeldForPerson() > 0:
		return &Attention{Reason: AttentionHeld, Since: w.Counts.HeldSince, Failures: w.HeldForPerson()}
	case len(w.Counts.Probing) > 0:
		first := w.Counts.Probing[0]
		return &Attention{Reason: AttentionProbing, Since: first.Since, Failures: first.Attempt}
	case w.Counts.Discarded > 0:
		return &Attention{Reason: AttentionDiscarded, Since: w.Counts.DiscardedSince, Failures: w.Counts.Discarded}
	case w.Counts.Attention+w.Counts.Owing > 0:
		return &Attention{Reason: AttentionFailing, Since: sooner(w.Counts.AttentionSince, w.Counts.OwingSince),
			Failures: w.Counts.Attention + w.Counts.Owing}
	}
	return nil
}

// HeldEvents is how many events are held, for whatever reason (C5).
func (w *Workflow) HeldEvents() (events int) {
	for _, n := range w.Counts.Held {
		events += n.Events
	}
	return events
}

// HeldForPerson is how many of them only a person or a repair lets go on: the outcome of a call that is being asked for
// comes by itself.
func (w *Workflow) HeldForPerson() (events int) {
	for _, n := range w.Counts.Held {
		if n.Reason != eventlog.HeldReconcile {
			events += n.Events
		}
	}
	return events
}

// Available is how many jobs wait for their first try, or were redriven.
func (w *Workflow) Available() int {
	pending := 0
	for _, topic := range w.Waiting {
		pending += topic.Events
	}
	return pending - w.Counts.Retryable
}

func (f *folding) backoffStarted(e *eventlog.BackoffStarted) {
	b := &Backoff{Attempt: e.Attempt, Until: e.Until}
	if e.Attention {
		b.Attention = f.at()
		if old := f.Backoff; old != nil && old.Attention != 0 {
			b.Attention = old.Attention
		}
	}
	f.Backoff = b
}

func (f *folding) deployed(e *eventlog.WorkflowDeployed) error {
	for _, c := range e.Definition.Consumers { // from now on the pending events of what it subscribes to are live
		for _, topic := range c.Subscribe {
			f.ask(PendingKey(topic))
			if c.Concurrent() && c.Key != "" {
				f.ask(KeyedKey(topic, c.Name, c.Key))
			}
		}
	}
	if err := f.endDeferrals(); err != nil {
		return err
	}
	f.Version, f.Grants = e.Version, e.Grants
	f.putScript(&Script{
		Version: e.Version, Filename: e.Filename, Source: e.Source, SourceHash: e.SourceHash, Definition: e.Definition,
		Repair: e.Repair, Note: e.Note, DeployedAt: f.at(), DeployedBy: f.t.Actor, Created: f.ordinal(),
		Revision: f.Head.Revision,
	})
	add := func(name eventlog.Handler, kind eventlog.HandlerType) {
		h := Handler{Name: name, Type: kind, Created: f.ordinal()}
		if old := f.Handler(name); old != nil {
			h = *old
			h.Type = kind
		}
		f.putHandler(&h)
	}
	for _, p := range e.Definition.Producers {
		add(p.Name, eventlog.ProducerHandler)
	}
	for _, c := range e.Definition.Consumers {
		add(c.Name, eventlog.ConsumerHandler)
	}
	f.forgetProbing(&e.Definition)
	return f.relane()
}

func (f *folding) sessionStarted(e *eventlog.SessionStarted) error {
	if f.Session != "" {
		return fmt.Errorf("session %s started while session %s is open", e.Session, f.Session)
	}
	f.Session = e.Session
	f.putSession(&Session{ID: e.Session, ProducersFirst: e.ProducersFirst, StartedAt: f.at(), Created: f.ordinal()})
	return nil
}

func (f *folding) sessionEnded(e *eventlog.SessionEnded) error {
	old, ok := f.sessions.get(e.Session)
	if !ok || f.Session != e.Session {
		return fmt.Errorf("session %s is not open", e.Session)
	}
	x := *old
	x.Result, x.EndedAt = e.Result, f.at()
	f.putSession(&x)
	f.Session = ""
	return nil
}

// sooner is the earlier of two times, of which zero is none.
func sooner(a, b eventlog.Instant) eventlog.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
