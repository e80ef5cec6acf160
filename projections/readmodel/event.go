package readmodel

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Event is one of a workflow's own messages.
type Event struct {
	Topic     eventlog.Topic       `json:"topic"`
	MessageID eventlog.MessageID   `json:"messageId"`
	Title     string               `json:"title"`
	Payload   json.RawMessage      `json:"payload"`
	Status    eventlog.EventStatus `json:"status"`
	// PublishedAt is when it came to be; an update leaves it.
	PublishedAt eventlog.Instant `json:"publishedAt"`
	// ReservedBy is the run that holds it while it is reserved.
	ReservedBy *eventlog.RunID    `json:"reservedBy"`
	CreatedBy  *eventlog.RunID    `json:"createdBy"`
	CausedBy   []eventlog.InputID `json:"causedBy"`
	// Held is what keeps it from going on, null for nothing.
	Held *HeldEvent `json:"held"`
	// Decision is the latest that a person or client has taken on it, null for none.
	Decision *Decision `json:"decision"`
	// Reason is why it ended without being consumed: the comment of the person who skipped or cancelled it, or what the
	// script or Pawl says; left out where nothing was said.
	Reason *string `json:"reason,omitempty"`
	// Workflow is set in lists across workflows.
	Workflow eventlog.WorkflowName `json:"workflow,omitempty"`
}

func (e Event) bulk() int { return len(e.Payload) + len(e.Title) }

// Job is the processing record of one event by its consumer.
type Job struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
	// Title is the event's.
	Title string `json:"title"`
	// Consumer is the one that subscribes to the topic now, null when none does.
	Consumer *eventlog.Handler    `json:"consumer"`
	State    projections.JobState `json:"state"`
	// Attempt is the number of its attempt that runs or comes next, of those that count, from 1; of an
	// ended job the last one's (J2).
	Attempt  int          `json:"attempt"`
	Attempts []JobAttempt `json:"attempts"`
	// Error is that of its last attempt that failed since its event came to be or was redriven: why a discarded
	// job was put aside. Null when none has failed, or one has succeeded.
	Error *Failure `json:"error"`
	// MaxAttempts is the consumer's bound on retries, null when it has none (J2).
	MaxAttempts *int `json:"maxAttempts"`
	// PublishedAt is when its event came to be.
	PublishedAt eventlog.Instant `json:"publishedAt"`
	// ScheduledAt is when a retryable job is due, null when it is due already.
	ScheduledAt eventlog.Instant `json:"scheduledAt"`
	FinalizedAt eventlog.Instant `json:"finalizedAt"`
	// Held is what keeps its event from going on, null for nothing.
	Held *HeldEvent `json:"held"`
	// SkipAtRunEnd says that a person has skipped its event, which ends so once next has run for it (O7).
	SkipAtRunEnd bool `json:"skipAtRunEnd,omitempty"`
	// Workflow is set in lists across workflows.
	Workflow eventlog.WorkflowName `json:"workflow,omitempty"`
}

// Failed reports whether the job is held for an error of this class and code, or failed with it last; empty ones stand
// for any.
func (j Job) Failed(class eventlog.Class, code string) bool {
	f := j.Error
	if j.Held != nil {
		f = j.Held.Error
	}
	return f.fits(class, code)
}

// fits reports whether the failure has this class and code; empty ones stand for any. No failure fits only those.
func (f *Failure) fits(class eventlog.Class, code string) bool {
	switch {
	case class == "" && code == "":
		return true
	case f == nil:
		return false
	}
	return (class == "" || f.Class == class) && (code == "" || f.Code == code)
}

func (j Job) bulk() int { return len(j.Title) }

// JobAttempt is one execution of a job (J1).
type JobAttempt struct {
	N       int              `json:"n"`
	Run     eventlog.RunID   `json:"run"`
	At      eventlog.Instant `json:"at"`
	EndedAt eventlog.Instant `json:"endedAt"`
	Error   *Failure         `json:"error"`
}

// EventView renders an event, also one that comes from memory or from a fold of the past.
func EventView(e *projections.TopicEvent, held *HeldEvent) Event {
	v := Event{
		Topic: e.Topic, MessageID: e.MessageID, Title: e.Title, Payload: raw(e.Payload), Status: e.Status,
		PublishedAt: e.CreatedAt, CreatedBy: optional(e.CreatedBy), CausedBy: listed(e.CausedBy),
		Held: held, Decision: decisionView(e.Decision), Reason: optional(e.Reason),
	}
	if e.Status == eventlog.EventStatusReserved {
		v.ReservedBy = optional(e.ReservedBy)
	}
	return v
}

// JobView renders an event's job under the definition.
func JobView(e *projections.TopicEvent, d *eventlog.Definition, held *HeldEvent) Job {
	v := Job{
		Topic: e.Topic, MessageID: e.MessageID, Title: e.Title, State: e.Job(), Attempt: e.Attempt(),
		Attempts: make([]JobAttempt, len(e.Attempts)), PublishedAt: e.CreatedAt,
		ScheduledAt: e.ScheduledAt, FinalizedAt: e.FinalizedAt, Held: held,
		SkipAtRunEnd: e.SkipRequested && e.Status == eventlog.EventStatusReserved,
	}
	if c, ok := d.Subscriber(e.Topic); ok {
		v.Consumer, v.MaxAttempts = &c.Name, c.MaxAttempts
	}
	for i, a := range e.Attempts {
		v.Attempts[i] = JobAttempt{N: a.N, Run: a.Run, At: a.At, EndedAt: a.EndedAt, Error: failureView(a.Failure)}
		// It is not older than the last redrive, or the event was given up without another try.
		counts := i >= len(e.Attempts)-e.Executions || v.State == projections.JobCancelled && e.Executions == 0
		if counts && a.Failure != nil && v.State != projections.JobCompleted {
			v.Error = v.Attempts[i].Error
		}
	}
	return v
}

func eventRow(e *projections.TopicEvent, q string) row {
	seen := row{
		status: string(e.Status), topic: string(e.Topic), state: string(e.Job()), at: e.CreatedAt,
		text: []string{e.Title, string(e.MessageID), searchableID(e.ReservedBy, q), searchableID(e.CreatedBy, q)},
	}
	if e.Held != nil {
		seen.held = string(e.Held.Reason)
	}
	return seen
}

// Events lists events; the filters status, topic, held and state (of the job) apply.
func (r *Reader) Events(ctx context.Context, o ListOptions) (Page[Event], error) {
	return list(ctx, r, projections.KindEvent, o,
		func(v *view, w eventlog.WorkflowName, e *projections.TopicEvent) (row, func() (Event, error), error) {
			return eventRow(e, o.Q), func() (Event, error) {
				held, err := v.held(w, e)
				shown := EventView(e, held)
				shown.Workflow = o.across(w)
				return shown, err
			}, nil
		})
}

// Event returns one event, or *NotFoundError.
func (r *Reader) Event(ctx context.Context, w eventlog.WorkflowName, topic eventlog.Topic,
	id eventlog.MessageID) (Event, error) {
	return answer(ctx, r, func(v *view) (Event, error) {
		e, err := one[projections.TopicEvent](v, w, projections.EventKey(topic, id), "event", string(topic)+"/"+string(id))
		if err != nil {
			return Event{}, err
		}
		held, err := v.held(w, e)
		return EventView(e, held), err
	})
}

// Jobs lists the events' jobs; the filters state, status (of the event), held, topic and handler (the
// consumer) apply.
func (r *Reader) Jobs(ctx context.Context, o ListOptions) (Page[Job], error) {
	return list(ctx, r, projections.KindEvent, o,
		func(v *view, w eventlog.WorkflowName, e *projections.TopicEvent) (row, func() (Job, error), error) {
			d, err := v.definition(w)
			if err != nil {
				return row{}, nil, err
			}
			seen := eventRow(e, o.Q)
			seen.at = cmp.Or(e.FinalizedAt, e.CreatedAt)
			if c, ok := d.Subscriber(e.Topic); ok {
				seen.handler = string(c.Name)
			}
			for _, a := range e.Attempts {
				seen.text = append(append(seen.text, string(a.Run)), failureText(a.Failure)...)
			}
			return seen, func() (Job, error) {
				held, err := v.held(w, e)
				job := JobView(e, d, held)
				job.Workflow = o.across(w)
				return job, err
			}, nil
		})
}

// Job returns one event's job, or *NotFoundError.
func (r *Reader) Job(ctx context.Context, w eventlog.WorkflowName, topic eventlog.Topic, id eventlog.MessageID) (Job,
	error) {
	return answer(ctx, r, func(v *view) (Job, error) {
		e, err := one[projections.TopicEvent](v, w, projections.EventKey(topic, id), "job", string(topic)+"/"+string(id))
		if err != nil {
			return Job{}, err
		}
		d, err := v.definition(w)
		if err != nil {
			return Job{}, err
		}
		held, err := v.held(w, e)
		return JobView(e, d, held), err
	})
}
