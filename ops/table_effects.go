package ops

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/effectdiff"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
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
	}
)

// maxDifferent bounds the runs that one answer lists.
const maxDifferent = 1000

var effectsTable = []Operation{
	define(operation("diffWorkflow", "POST /v1/workflows/{workflow}/diff", rpc.Operator,
		"Say what a new script would have done otherwise in recorded runs; nothing is sent or changed").slow(), diffWorkflow),
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
		Counts: map[effectdiff.Kind]int{}, Warnings: some(problems)}
	for _, effect := range diff.Effects {
		answer.Counts[effect.Kind]++
	}
	different := diff.DifferentEffects()
	answer.Items = some(different[:min(len(different), maxDifferent)])
	return answer, nil
}
