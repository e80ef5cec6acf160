package projections

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

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
