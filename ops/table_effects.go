package ops

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/effectdiff"
	"github.com/pawl-run/pawl/engine/rehearsal"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

type (
	diffRequest struct {
		inWorkflow
		Source   string           `json:"source" jsonschema:"the new script"`
		Filename string           `json:"filename,omitempty" jsonschema:"the name used in messages; workflow.ts when left out"`
		Last     int              `json:"last,omitempty" jsonschema:"so many of the newest recorded runs; all that are kept when left out"`
		Since    eventlog.Instant `json:"since,omitempty" jsonschema:"only runs of this time or later"`
		Repair   bool             `json:"repair,omitempty" jsonschema:"checks the script as a repair"`
	}
	diffAnswer struct {
		Workflow eventlog.WorkflowName   `json:"workflow"`
		Version  eventlog.Version        `json:"version" jsonschema:"the version that runs now, which the new script is compared with"`
		Runs     int                     `json:"runs" jsonschema:"how many recorded runs were replayed"`
		Counts   map[effectdiff.Kind]int `json:"counts" jsonschema:"how many runs of each kind: same, new, gone, changed, fails, notReplayed"`
		Items    []effectdiff.Effect     `json:"items" jsonschema:"the runs that are not the same, the newest first, at most 1000"`
		Warnings []sandbox.Problem       `json:"warnings"`
		// NotCompared is in each answer, since "same" only counts for what was compared.
		NotCompared string `json:"notCompared" jsonschema:"what of the new script the comparison says nothing of, in words; empty for nothing"`
	}
)

// maxDifferent bounds the runs that one answer lists.
const maxDifferent = 1000

type (
	recordRequest struct {
		inWorkflow
		Runs []eventlog.RunID `json:"runs" jsonschema:"the runs, each once, at most 100"`
	}
	recordAnswer struct {
		Workflow eventlog.WorkflowName `json:"workflow"`
		Runs     int                   `json:"runs"`
		YAML     string                `json:"yaml" jsonschema:"a test file in YAML with a case of each run, as pawl test reads it"`
	}
)

// maxRecordedRuns bounds how many runs one answer of recordRuns holds.
const maxRecordedRuns = 100

var effectsTable = []Operation{
	define(operation("diffWorkflow", "POST /v1/workflows/{workflow}/diff", rpc.Operator,
		"Say what a new script would have done differently in recorded runs: calls, events, and what next and producers "+
			"publish; nothing is sent or changed").slow(), diffWorkflow),
	define(operation("recordRuns", "POST /v1/workflows/{workflow}/recorded-cases", rpc.Operator,
		"Write recorded runs as a test file: what they were given, and the calls that they have made").slow(), recordRuns),
}

func diffWorkflow(ctx context.Context, c *Call, r *diffRequest) (diffAnswer, error) {
	if r.Filename == "" {
		r.Filename = defaultFilename
	}
	if r.Last < 0 {
		return diffAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "diff.last", "last is %d", r.Last).
			WithHint("leave it out to replay all recorded runs")
	}
	request := engine.EffectDiffRequest{Source: r.Source, Filename: r.Filename, Last: r.Last, Repair: r.Repair}
	if r.Since != 0 {
		request.Since = r.Since.Time()
	}
	request.Answers = func(ctx context.Context, run eventlog.RunID) (*effectdiff.Answer, error) {
		return answerOf(ctx, c.backend.cfg.Reader, r.Workflow, run)
	}
	diff, err := c.backend.cfg.Engine.EffectDiff(ctx, r.Workflow, request)
	if err != nil {
		return diffAnswer{}, err
	}
	problems := explain.Problems(diff.Problems)
	if diff.Refused {
		p := rpc.Problemf(http.StatusUnprocessableEntity, "script.refused", "%s would not be deployed: %s", r.Filename,
			firstError(problems)).
			WithHint("correct what problems lists")
		p.Problems = problems
		return diffAnswer{}, p
	}
	answer := diffAnswer{Workflow: r.Workflow, Version: diff.Version, Runs: len(diff.Effects),
		Counts: map[effectdiff.Kind]int{}, Warnings: neverNull(problems), NotCompared: diff.NotCompared}
	for _, effect := range diff.Effects {
		answer.Counts[effect.Kind]++
	}
	different := diff.DifferentEffects()
	answer.Items = neverNull(different[:min(len(different), maxDifferent)])
	return answer, nil
}

// answerOf is the answer to its call that next of a run was given; nil where it was given none, or the run is not known
// any more.
func answerOf(ctx context.Context, from *readmodel.Reader, workflow eventlog.WorkflowName, id eventlog.RunID) (
	*effectdiff.Answer, error) {
	run, err := from.Run(ctx, workflow, id)
	var unknown *readmodel.NotFoundError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil || run.Mutation == nil || run.MutationOutcome == nil {
		return nil, err
	}
	m, err := from.Mutation(ctx, *run.Mutation)
	if err != nil {
		return nil, err
	}
	answer := effectdiff.Answer{Operation: m.Connector + "." + m.Operation}
	switch *run.MutationOutcome {
	case projections.OutcomeSuccess:
		answer.Status, answer.Result = "applied", m.Result
		if len(m.Result) == 0 {
			answer.Result = json.RawMessage("null")
		}
	case projections.OutcomeSkipped:
		answer.Status = "skipped"
	default:
		return nil, nil
	}
	return &answer, nil
}

func recordRuns(ctx context.Context, c *Call, r *recordRequest) (recordAnswer, error) {
	slices.Sort(r.Runs)
	if n := len(r.Runs); n == 0 || n > maxRecordedRuns || len(slices.Compact(slices.Clone(r.Runs))) != n {
		return recordAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "record.runs", "runs names %d runs; it takes "+
			"from 1 to %d, each once", n, maxRecordedRuns).WithHint("pawl runs list shows them")
	}
	recordings, err := c.backend.cfg.Engine.Recordings(r.Workflow, r.Runs)
	if err != nil {
		return recordAnswer{}, err
	}
	runs := make([]rehearsal.Recorded, len(recordings))
	for i, kept := range recordings {
		runs[i].Recording = kept
		run, err := c.backend.cfg.Reader.Run(ctx, r.Workflow, kept.Run)
		if err != nil {
			return recordAnswer{}, err
		}
		runs[i].Failure = failureOf(run.Error)
		if run.Mutation == nil {
			continue
		}
		m, err := c.backend.cfg.Reader.Mutation(ctx, *run.Mutation)
		if err != nil {
			return recordAnswer{}, err
		}
		runs[i].Change = &rehearsal.Change{Operation: m.Connector + "." + m.Operation, Params: m.Params, Status: m.Status,
			Result: m.Result, Failure: failureOf(m.Error), Left: m.StartedAt != 0}
	}
	text, err := rehearsal.WriteYAML(runs)
	if err != nil {
		return recordAnswer{}, err
	}
	if err := rehearsal.BoundYAML(text); err != nil {
		return recordAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "record.large", "the test file of these %d runs "+
			"could not be read: %v", len(runs), err).WithHint("name fewer runs")
	}
	return recordAnswer{Workflow: r.Workflow, Runs: len(runs), YAML: text}, nil
}

// failureOf converts a failure to the engine's type.
func failureOf(f *readmodel.Failure) *eventlog.Failure {
	if f == nil {
		return nil
	}
	return &eventlog.Failure{Class: f.Class, Code: f.Code, Message: f.Message}
}
