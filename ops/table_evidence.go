package ops

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	runLogsRequest struct {
		runRequest
		All bool `json:"all,omitempty" in:"query" jsonschema:"also the engine's own lines: level call for connector reads, level inputs for what a failed handler was given"`
	}
	// Evidence is everything that is known about a run, for the author of a repair: a person or
	// a language model.
	evidenceAnswer struct {
		Workflow    eventlog.WorkflowName `json:"workflow"`
		Version     eventlog.Version      `json:"version" jsonschema:"the version that the run ran"`
		Filename    string                `json:"filename"`
		Source      string                `json:"source" jsonschema:"the script of that version"`
		Handler     eventlog.Handler      `json:"handler"`
		Run         readmodel.Run         `json:"run"`
		Error       *evidenceError        `json:"error"`
		Inputs      rpc.RawJSON           `json:"inputs" jsonschema:"what the failed handler was given: phase, and of state, prepared, mutationResult and pending what there was; null when it did not fail or the run log has dropped it"`
		Mutation    *readmodel.Mutation   `json:"mutation" jsonschema:"the run's mutation with its exact parameters and what became of it, null when there was none"`
		Calls       []runlog.Line         `json:"calls" jsonschema:"its connector reads, with parameters and answers"`
		Logs        []runlog.Line         `json:"logs" jsonschema:"what the script has logged"`
		Attempts    []evidenceAttempt     `json:"attempts" jsonschema:"earlier runs that bear on this one, the newest first, at most 5: those that it is a retry of, and the failed ones of its handler for an event of its own, or where either failed before it had chosen its events"`
		Held        *readmodel.Held       `json:"held" jsonschema:"what the run's event is held for since, null when nothing holds it"`
		Maintenance *evidenceMaintenance  `json:"maintenance" jsonschema:"the repair that is asked for, null when none is"`
	}
	evidenceError struct {
		Class   eventlog.Class `json:"class"`
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Line    *int           `json:"line"`
		Text    *string        `json:"text" jsonschema:"the source's text at line, null when the line is not known"`
	}
	evidenceAttempt struct {
		ID      eventlog.RunID     `json:"id"`
		Version eventlog.Version   `json:"version"`
		Error   *readmodel.Failure `json:"error" jsonschema:"null when that run crashed"`
	}
	evidenceMaintenance struct {
		Attempt     int              `json:"attempt" jsonschema:"the failures in a row so far"`
		RequestedAt eventlog.Instant `json:"requestedAt"`
		Budget      int              `json:"budget" jsonschema:"the failure that ends the repairs and holds the workflow"`
	}
)

var evidenceTable = []Operation{
	define(operation("getRunLogs", "GET /v1/workflows/{workflow}/runs/{run}/logs", rpc.Viewer,
		"Read what a run has logged, as far as it is kept"), getRunLogs),
	define(operation("getEvidence", "GET /v1/workflows/{workflow}/runs/{run}/evidence", rpc.Viewer,
		"Gather all that a repair of the run's script may need"), getEvidence),
}

// maxAttempts is how many earlier failures are shown.
const maxAttempts = 5

func getRunLogs(ctx context.Context, c *Call, r *runLogsRequest) (readmodel.Page[runlog.Line], error) {
	page := readmodel.Page[runlog.Line]{Items: []runlog.Line{}}
	if _, err := c.backend.cfg.Reader.Run(ctx, r.Workflow, r.Run); err != nil {
		return page, err
	}
	lines, err := c.backend.runLines(ctx, r.Workflow, r.Run)
	for _, line := range lines {
		if r.All || line.Level != handler.LevelCall && line.Level != handler.LevelInputs {
			page.Items = append(page.Items, line)
		}
	}
	return page, err
}

func (b *backend) runLines(ctx context.Context, w eventlog.WorkflowName, run eventlog.RunID) ([]runlog.Line, error) {
	if b.cfg.RunLog == nil {
		return nil, nil
	}
	return b.cfg.RunLog.Read(ctx, w, run)
}

func getEvidence(ctx context.Context, c *Call, r *runRequest) (evidenceAnswer, error) {
	s := c.backend
	run, err := s.cfg.Reader.Run(ctx, r.Workflow, r.Run)
	if err != nil {
		return evidenceAnswer{}, err
	}
	script, err := s.cfg.Reader.Script(ctx, r.Workflow, run.Version)
	if err != nil {
		return evidenceAnswer{}, err
	}
	e := evidenceAnswer{
		Workflow: r.Workflow, Version: run.Version, Filename: script.Filename, Source: script.Source, Handler: run.Handler,
		Run:   run,
		Calls: []runlog.Line{}, Logs: []runlog.Line{}, Attempts: []evidenceAttempt{},
		Error: evidenceOf(run.Error, script.Source),
	}
	if run.Mutation != nil {
		m, err := s.cfg.Reader.Mutation(ctx, *run.Mutation)
		if err != nil {
			return e, err
		}
		e.Mutation = &m
	}
	lines, err := s.runLines(ctx, r.Workflow, r.Run)
	if err != nil {
		return e, err
	}
	for _, line := range lines {
		switch {
		case line.Level == handler.LevelCall:
			e.Calls = append(e.Calls, line)
		case line.Level != handler.LevelInputs:
			e.Logs = append(e.Logs, line)
		case json.Valid([]byte(line.Text)): // the last handler that failed is the one that ended the run
			e.Inputs = rpc.RawJSON(line.Text)
		}
	}
	earlier, err := s.cfg.Reader.FailedBefore(ctx, r.Workflow, r.Run, maxAttempts)
	if err != nil {
		return e, err
	}
	for _, other := range earlier {
		e.Attempts = append(e.Attempts, evidenceAttempt{ID: other.ID, Version: other.Version, Error: other.Error})
	}
	if e.Held, err = s.heldAfter(ctx, r.Workflow, run); err != nil {
		return e, err
	}
	state, err := s.state(r.Workflow)
	if err != nil {
		return e, err
	}
	if repair := readmodel.WorkflowOf(&state).Repair; repair != nil {
		e.Maintenance = &evidenceMaintenance{Attempt: repair.Attempt, RequestedAt: repair.RequestedAt,
			Budget: s.cfg.Engine.Policies().Repair.Budget}
	}
	return e, nil
}

// heldAfter is what holds the event of a concurrent consumer's run since that run, nil for nothing.
func (b *backend) heldAfter(ctx context.Context, w eventlog.WorkflowName, run readmodel.Run) (*readmodel.Held, error) {
	for _, about := range run.Events {
		e, err := b.cfg.Reader.Event(ctx, w, about.Topic, about.MessageID)
		if err != nil {
			return nil, err
		}
		if e.Held != nil && e.Held.Run == run.ID {
			return e.Held, nil
		}
	}
	return nil, nil
}

func evidenceOf(f *readmodel.Failure, source string) *evidenceError {
	if f == nil {
		return nil
	}
	e := &evidenceError{Class: f.Class, Code: f.Code, Message: f.Message, Line: f.Line}
	if f.Line == nil {
		return e
	}
	number := 0
	for text := range strings.Lines(source) {
		if number++; number == *f.Line {
			text = strings.TrimSpace(text)
			e.Text = &text
		}
	}
	return e
}
