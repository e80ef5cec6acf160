package engine

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
)

// RepairRequest is a repaired script for a workflow that waits for one, or an event of which does (F7, C5).
type RepairRequest struct {
	Source   string
	Filename string
	// Note says what was repaired; it goes into the log.
	Note string
}

// Repair makes a repaired script the workflow's next minor version (F9). A repair that is refused
// counts as a failure of the script, so that a repairer cannot try forever; the reasons are in
// the result.
func (e *Engine) Repair(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	req RepairRequest) (DeployResult, error) {
	state, ok := e.State(name)
	if !ok {
		return DeployResult{}, unknownWorkflow(name)
	}
	if !decide.RepairWanted(&state) {
		// Said here and not by deciding a refused repair: it may be wanted at this very moment,
		// and then that would count.
		return DeployResult{}, &decide.Refusal{
			Kind: decide.Conflict, Code: "repair.notRequested",
			Message: fmt.Sprintf("workflow %s is not in maintenance: there is nothing to repair", name),
			Hint:    hint.Of(hint.DeployInstead),
		}
	}
	checked, _, err := e.check(ctx, req.Source, req.Filename, nil, &state)
	if err != nil {
		return DeployResult{}, err
	}
	result := checked.DeployResult
	result.Workflow = name
	if result.Refused {
		reason := "the script has problems"
		if len(result.Problems) > 0 {
			p := result.Problems[0]
			reason = fmt.Sprintf("%s (line %d): %s", p.Code, p.Line, clip(p.Message))
		}
		return result, e.Operate(ctx, actor, name, decide.RepairRefused{Reason: reason}, "repair")
	}
	cmd := decide.Deploy{
		Definition: checked.definition, Filename: req.Filename, Source: req.Source, SourceHash: sourceHash(req.Source),
		Expected: &state.Version, Repair: true, Note: clip(req.Note),
	}
	if err := e.Operate(ctx, actor, name, cmd, "repair"); err != nil {
		return result, err
	}
	now, _ := e.State(name)
	result.Version, result.Changed = now.Version, true
	return result, nil
}
