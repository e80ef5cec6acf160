package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/effectdiff"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// EffectDiffRequest asks what another script would have done in recorded runs.
type EffectDiffRequest struct {
	Source   string
	Filename string
	// Last is how many of the newest recorded runs are compared; 0 means all.
	Last int
	// Since leaves out runs that were before it; zero leaves out none.
	Since time.Time
	// Repair checks the script as a repair.
	Repair bool
	// Answers finds what next of a run was told of the call; nil where next was told of none.
	Answers func(context.Context, eventlog.RunID) (*effectdiff.Answer, error)
}

// EffectDiff is what another script would have done.
type EffectDiff struct {
	Version eventlog.Version
	Effects []effectdiff.Effect // the newest first
	// NotCompared names, in words, the parts of the new script that were not compared; empty where all were.
	NotCompared string
	// Problems are the problems of the new script; with Refused it could not be deployed, and nothing is compared.
	Problems []deploy.Problem
	Refused  bool
}

// EffectDiff runs the version that runs now and another script on recorded runs, and compares what they do. It
// changes nothing and sends nothing. Errors: *decide.Refusal where the workflow is unknown or not recorded,
// ErrUnavailable.
func (e *Engine) EffectDiff(ctx context.Context, name eventlog.WorkflowName, req EffectDiffRequest) (EffectDiff,
	error) {
	if err := e.available(ctx); err != nil {
		return EffectDiff{}, err
	}
	state, ok := e.State(name)
	if !ok {
		return EffectDiff{}, unknownWorkflow(name)
	}
	if err := e.recorded(name); err != nil {
		return EffectDiff{}, err
	}
	repairs := &state
	if !req.Repair {
		repairs = nil
	}
	checked, _, err := e.check(ctx, req.Source, req.Filename, nil, repairs)
	if err != nil {
		return EffectDiff{}, err
	}
	diff := EffectDiff{Version: state.Version, Problems: checked.Problems, Refused: checked.Refused}
	if checked.Refused {
		return diff, nil
	}
	if checked.Workflow != name {
		return diff, &decide.Refusal{Kind: decide.Invalid, Code: "workflow.other",
			Message: fmt.Sprintf("the script is of workflow %s and not of %s", checked.Workflow, name),
			Hint:    hint.Of(hint.Workflows)}
	}
	var recordings []recording.Recording
	for r, err := range e.process.Config.Recordings.Newest(name) {
		if err != nil {
			return diff, err
		}
		if !req.Since.IsZero() && r.At.Before(req.Since) || req.Last > 0 && len(recordings) == req.Last {
			break
		}
		recordings = append(recordings, r)
	}
	running := state.Script(state.Version)
	if running == nil {
		return diff, fmt.Errorf("version %s of %s is not in memory", state.Version, name)
	}
	p := e.process.Config.Policies.Script
	diff.Effects, err = effectdiff.Compare(ctx, effectdiff.Config{
		Workflow: name, Scripts: e.process.Config.Scripts, Vars: e.process.Config.Vars, Limits: sandbox.Limits{
			CPU: p.CPU, Wall: p.Wall, Reads: p.Reads, Source: int(p.Source), Argument: int(p.Argument), Result: int(p.Result),
			State: int(p.State), Publish: int(p.Publish), Log: int(p.Log), HostCalls: p.HostCalls, InFlight: p.InFlight,
			Stack: p.Stack,
		},
		Answers: req.Answers,
	}, effectdiff.Script{
		Source:     sandbox.Source{Filename: running.Filename, Code: running.Source},
		Definition: &running.Definition,
	}, effectdiff.Script{
		Source:     sandbox.Source{Filename: req.Filename, Code: req.Source},
		Definition: &checked.definition,
	}, recordings)
	diff.NotCompared = effectdiff.NotCompared(&checked.definition, diff.Effects)
	return diff, err
}

// DifferentEffects are the effects of runs in which the two scripts do not do the same.
func (d *EffectDiff) DifferentEffects() []effectdiff.Effect {
	return slices.DeleteFunc(slices.Clone(d.Effects), func(e effectdiff.Effect) bool { return e.Kind == effectdiff.Same })
}

// Recordings returns what prepare of recorded runs was given, in the order in which they are named. Errors:
// *decide.Refusal where the workflow is unknown or not recorded, or where nothing is kept of one of the runs.
func (e *Engine) Recordings(name eventlog.WorkflowName, runs []eventlog.RunID) ([]recording.Recording, error) {
	if _, ok := e.State(name); !ok {
		return nil, unknownWorkflow(name)
	}
	if err := e.recorded(name); err != nil {
		return nil, err
	}
	kept := make(map[eventlog.RunID]recording.Recording, len(runs))
	for r, err := range e.process.Config.Recordings.Newest(name) {
		if err != nil {
			return nil, err
		}
		if r.Phase == sandbox.Producer {
			continue
		}
		if _, known := kept[r.Run]; !known && slices.Contains(runs, r.Run) {
			if kept[r.Run] = r; len(kept) == len(runs) {
				break
			}
		}
	}
	found := make([]recording.Recording, 0, len(runs))
	for _, run := range runs {
		r, ok := kept[run]
		if !ok {
			return nil, &decide.Refusal{Kind: decide.NotFound, Code: "recording.unknown",
				Message: fmt.Sprintf("nothing is recorded of run %s of workflow %s from which a case can be made: a case "+
					"needs what prepare was given, which is not kept of a producer's run, of a run that had nothing to look at, or "+
					"of a retry of next", run, name),
				Hint: hint.Of(hint.Recorded, name)}
		}
		found = append(found, r)
	}
	return found, nil
}

// recorded refuses where the runs of the workflow are not recorded.
func (e *Engine) recorded(name eventlog.WorkflowName) error {
	if e.process.Config.Recordings.Records(name) {
		return nil
	}
	return &decide.Refusal{Kind: decide.Conflict, Code: "recordings.none",
		Message: fmt.Sprintf("the runs of workflow %s are not recorded, so there is nothing to replay", name),
		Hint:    hint.Of(hint.Recordings, name)}
}
