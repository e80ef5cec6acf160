package readmodel

import (
	"context"
	"encoding/json"

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
}

// RunView renders a run, also one that comes from memory or from a fold of the past.
func RunView(w eventlog.WorkflowName, r *projections.Run) Run {
	return Run{
		ID: r.ID, Workflow: w, Version: r.Version, Handler: r.Handler, HandlerType: r.Type, Session: r.Session,
		Phase: r.Phase, Status: r.Status, RetryOf: optional(r.RetryOf), MutationOutcome: optional(r.Outcome),
		Error: failureView(r.Failure), PrepareResult: raw(r.PrepareResult), Mutation: optional(r.Mutation),
		StartedAt: r.StartedAt, EndedAt: r.EndedAt,
	}
}

// raw is null in JSON when there is nothing: an empty RawMessage is no JSON at all.
func raw(m json.RawMessage) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Runs lists runs; the filters status, phase and handler apply.
func (r *Reader) Runs(ctx context.Context, o ListOptions) (Page[Run], error) {
	return list(ctx, r, projections.KindRun, o, func(_ *view, w eventlog.WorkflowName, run *projections.Run) (row, func() Run, error) {
		return row{
			status: string(run.Status), phase: string(run.Phase), handler: string(run.Handler),
			text: append(failureText(run.Failure), string(run.ID), run.UITitle, string(run.Mutation), string(run.RetryOf)),
		}, func() Run { return RunView(w, run) }, nil
	})
}

// Run returns one run, or *NotFoundError.
func (r *Reader) Run(ctx context.Context, w eventlog.WorkflowName, id eventlog.RunID) (Run, error) {
	return answer(ctx, r, func(v *view) (Run, error) {
		run, err := one[projections.Run](v, w, projections.RunKey(id), "run", string(id))
		if err != nil {
			return Run{}, err
		}
		return RunView(w, run), nil
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
	return list(ctx, r, projections.KindSession, o, func(_ *view, w eventlog.WorkflowName, x *projections.Session) (row, func() Session, error) {
		return row{status: string(x.Result), text: []string{string(x.ID)}}, func() Session {
			s := sessionView(x)
			s.Workflow = o.across(w)
			return s
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

// across names the workflow in lists across workflows, where nothing else does.
func (o *ListOptions) across(w eventlog.WorkflowName) eventlog.WorkflowName {
	if o.Workflow != "" {
		return ""
	}
	return w
}
