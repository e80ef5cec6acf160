package readmodel

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Failure is an error as operators see it. Line is null when the script is not at fault or the
// line is not known.
type Failure struct {
	Class   eventlog.Class `json:"class"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Line    *int           `json:"line"`
}

func failureView(f *eventlog.Failure) *Failure {
	if f == nil {
		return nil
	}
	v := &Failure{Class: f.Class, Code: f.Code, Message: f.Message}
	if f.Line != 0 {
		line := f.Line
		v.Line = &line
	}
	return v
}

func failureText(f *eventlog.Failure) []string {
	if f == nil {
		return nil
	}
	return []string{f.Code, f.Message}
}

// Run is one attempt of one handler.
type Run struct {
	ID              eventlog.RunID               `json:"id"`
	Workflow        eventlog.WorkflowName        `json:"workflow"`
	Version         eventlog.Version             `json:"version"`
	Handler         eventlog.Handler             `json:"handler"`
	HandlerType     eventlog.HandlerType         `json:"handlerType"`
	Session         eventlog.SessionID           `json:"session"`
	Phase           eventlog.Phase               `json:"phase"`
	Status          eventlog.RunStatus           `json:"status"`
	RetryOf         *eventlog.RunID              `json:"retryOf"`
	MutationOutcome *projections.MutationOutcome `json:"mutationOutcome"`
	Error           *Failure                     `json:"error"`
	PrepareResult   json.RawMessage              `json:"prepareResult"`
	Mutation        *eventlog.MutationID         `json:"mutation"`
	StartedAt       eventlog.Instant             `json:"startedAt"`
	EndedAt         eventlog.Instant             `json:"endedAt"`
	// Events are those that it was about, at most the first ten; EventCount is how many there are. A run that
	// has chosen none, such as a producer's, has none.
	Events     []RunEvent `json:"events"`
	EventCount int        `json:"eventCount"`
}

func (r Run) bulk() int { return len(r.PrepareResult) + bulkOf(r.Events) }

// RunEvent names an event that a run was about.
type RunEvent struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
	Title     string             `json:"title"`
}

// bulkOf is how many bytes the events take that a run or a mutation shows.
func bulkOf(events []RunEvent) int {
	bulk := 0
	for _, e := range events {
		bulk += len(e.MessageID) + len(e.Title)
	}
	return bulk
}

// maxRunEvents bounds the events that are named with a run: it may have taken thousands.
const maxRunEvents = 10

// runView renders a run with the titles of its events.
func (v *view) runView(w eventlog.WorkflowName, r *projections.Run) (Run, error) {
	titles, err := v.titles(w, r.Reserved[:min(len(r.Reserved), maxRunEvents)])
	if err != nil {
		return Run{}, err
	}
	return RunView(w, r, func(ref eventlog.EventRef) string { return titles[ref] }), nil
}

// RunView renders a run, also one that comes from memory or from a fold of the past. The title of an event is
// asked for where there is a function that knows it.
func RunView(w eventlog.WorkflowName, r *projections.Run, title func(eventlog.EventRef) string) Run {
	events := make([]RunEvent, min(len(r.Reserved), maxRunEvents))
	for i := range events {
		events[i] = RunEvent{Topic: r.Reserved[i].Topic, MessageID: r.Reserved[i].MessageID}
		if title != nil {
			events[i].Title = title(r.Reserved[i])
		}
	}
	return Run{
		ID: r.ID, Workflow: w, Version: r.Version, Handler: r.Handler, HandlerType: r.Type, Session: r.Session,
		Phase: r.Phase, Status: r.Status, RetryOf: optional(r.RetryOf), MutationOutcome: optional(r.Outcome),
		Error: failureView(r.Failure), PrepareResult: raw(r.PrepareResult), Mutation: optional(r.Mutation),
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, Events: events, EventCount: len(r.Reserved),
	}
}

// failed reports whether the run has failed. One that lacked a right has the status of a run that awaits an approval
// (F2), and one that waits for a transient fault to pass counts as none.
func failed(run *projections.Run) bool {
	return strings.HasPrefix(string(run.Status), "failed:") ||
		run.Status == eventlog.RunStatusPausedApproval && run.EndedAt != 0
}

// Runs lists runs; the filters status, phase and handler apply.
func (r *Reader) Runs(ctx context.Context, o ListOptions) (Page[Run], error) {
	return list(ctx, r, projections.KindRun, o,
		func(v *view, w eventlog.WorkflowName, run *projections.Run) (row, func() (Run, error), error) {
			class := ""
			if run.Failure != nil {
				class = string(run.Failure.Class)
			}
			return row{
				status: string(run.Status), phase: string(run.Phase), handler: string(run.Handler), at: run.StartedAt,
				class: class, ended: run.EndedAt != 0, failed: failed(run),
				text: append(failureText(run.Failure), run.UITitle, searchableID(run.ID, o.Q), searchableID(run.Mutation, o.Q),
					searchableID(run.RetryOf, o.Q)),
				events: func() ([]eventlog.EventRef, error) { return run.Reserved, nil },
			}, func() (Run, error) { return v.runView(w, run) }, nil
		})
}

// Run returns one run, or *NotFoundError.
func (r *Reader) Run(ctx context.Context, w eventlog.WorkflowName, id eventlog.RunID) (Run, error) {
	return answer(ctx, r, func(v *view) (Run, error) {
		run, err := one[projections.Run](v, w, projections.RunKey(id), "run", string(id))
		if err != nil {
			return Run{}, err
		}
		return v.runView(w, run)
	})
}

// Session is one burst of runs (S7).
type Session struct {
	ID        eventlog.SessionID      `json:"id"`
	Result    *eventlog.SessionResult `json:"result"`
	Runs      int                     `json:"runs"`
	StartedAt eventlog.Instant        `json:"startedAt"`
	EndedAt   eventlog.Instant        `json:"endedAt"`
	// Workflow is set in lists across workflows.
	Workflow eventlog.WorkflowName `json:"workflow,omitempty"`
}

// Sessions lists sessions; the filter status is the result.
func (r *Reader) Sessions(ctx context.Context, o ListOptions) (Page[Session], error) {
	return list(ctx, r, projections.KindSession, o,
		func(_ *view, w eventlog.WorkflowName, x *projections.Session) (row, func() (Session, error), error) {
			seen := row{status: string(x.Result), at: x.StartedAt, text: []string{searchableID(x.ID, o.Q)}}
			return seen, func() (Session, error) {
				s := sessionView(x)
				s.Workflow = o.across(w)
				return s, nil
			}, nil
		})
}

// Session returns one session, or *NotFoundError.
func (r *Reader) Session(ctx context.Context, w eventlog.WorkflowName, id eventlog.SessionID) (Session, error) {
	return answer(ctx, r, func(v *view) (Session, error) {
		x, err := one[projections.Session](v, w, projections.SessionKey(id), "session", string(id))
		if err != nil {
			return Session{}, err
		}
		return sessionView(x), nil
	})
}

func sessionView(x *projections.Session) Session {
	return Session{ID: x.ID, Result: optional(x.Result), Runs: x.Runs, StartedAt: x.StartedAt, EndedAt: x.EndedAt}
}
