package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// DeployRequest is a script to deploy.
type DeployRequest struct {
	Source   string
	Filename string
	// Grants replace the workflow's grants; nil keeps them (a new workflow then may read and
	// must ask for mutations).
	Grants map[string]eventlog.Grant
	// GrantUsed allows all that a new workflow uses; what a later version adds asks if it mutates.
	GrantUsed bool
	// Expected refuses the deploy if another version runs.
	Expected *eventlog.Version
	// Strict takes warnings for errors.
	Strict bool
	// KeepApprovals refuses the deploy where the running version asks people about its calls (O5).
	KeepApprovals bool
	// KeepRepairBudget is that of decide.Deploy (F9).
	KeepRepairBudget bool
	// DryRun only checks.
	DryRun bool
}

// DeployResult is what a deploy came to.
type DeployResult struct {
	Workflow eventlog.WorkflowName
	Version  eventlog.Version
	// Created is true for a new workflow, Changed for any new version.
	Created, Changed bool
	// Freed is true where the workflow was in maintenance, and the deploy has ended that.
	Freed bool
	// FreedEvents counts the held events that the deploy has let go on (C5).
	FreedEvents int
	// Problems are warnings, or the reasons why the deploy was refused.
	Problems []deploy.Problem
	// Refused is true when nothing was deployed because of the problems.
	Refused bool
	// Asks lists operations of this version that need an approval for each call.
	Asks []string
	// Allows lists operations of a new workflow that change something outside and need no approval.
	Allows []string
	// Withdrawn lists the grants that the deploy has taken away because those that came with it do not name them.
	Withdrawn []string
}

// Deploy checks a script and makes it the workflow's current version. Problems of the script are
// in the result; errors are refusals (*decide.Refusal) or ErrUnavailable.
func (e *Engine) Deploy(ctx context.Context, actor eventlog.Actor, req DeployRequest) (DeployResult, error) {
	if err := e.available(ctx); err != nil {
		return DeployResult{}, err
	}
	checked, state, err := e.check(ctx, req.Source, req.Filename, req.Grants, nil)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", process.ErrNothingRecorded, err)
	}
	if req.Strict && len(checked.Problems) > 0 {
		checked.Refused = true
		for i := range checked.Problems {
			checked.Problems[i].Severity = sandbox.SeverityError
		}
	}
	if err != nil || checked.Refused || req.DryRun {
		return checked.DeployResult, err
	}
	if err := deploy.ValidateGrants(req.Grants, &checked.definition); err != nil {
		return checked.DeployResult, &decide.Refusal{Kind: decide.Invalid, Code: "grants.invalid", Message: err.Error(),
			Hint: hint.Of(hint.Grants)}
	}
	cmd := decide.Deploy{
		Definition: checked.definition, Filename: req.Filename, Source: req.Source, SourceHash: sourceHash(req.Source),
		Grants: req.Grants, GrantUsed: req.GrantUsed, Expected: req.Expected, KeepApprovals: req.KeepApprovals,
		KeepRepairBudget: req.KeepRepairBudget,
	}
	result := checked.DeployResult
	now, err := e.deployed(ctx, result.Workflow, cmd, actor, "deploy")
	if err != nil {
		return result, err
	}
	result.Version, result.Changed = now.Version, now.Version != state.Version
	result.Created = result.Changed && !state.Exists()
	result.Freed = state.Maintenance != nil && now.Maintenance == nil
	result.FreedEvents = max(0, state.HeldForPerson()-now.HeldForPerson())
	result.Withdrawn = deploy.Withdrawn(state.Grants, now.Grants, now.Definition())
	for _, op := range now.Definition().Operations {
		mutates := op.Kind == string(sandbox.KindMutate)
		switch capability.Granted(now.Grants, op.Connector, op.Operation, mutates) {
		case eventlog.GrantAsk:
			result.Asks = append(result.Asks, op.Capability())
		case eventlog.GrantAllow:
			if mutates && result.Created {
				result.Allows = append(result.Allows, op.Capability())
			}
		}
	}
	return result, nil
}

// deployed has the deploy recorded, and returns the workflow's state after it. Where another engine has recorded it,
// this one reads that first, which may take seconds after a leader or a node has changed. ErrNotRead: it has not read
// it before ctx ended; deploying the same again does no harm.
func (e *Engine) deployed(ctx context.Context, name eventlog.WorkflowName, cmd decide.Deploy, actor eventlog.Actor,
	operation string) (*projections.State, error) {
	noting, recorded := WithRecorded(ctx)
	if _, err := e.decideOn(noting, name, cmd, actor, operation); err != nil {
		return nil, err
	}
	a := e.partitionOf(name).open(name)
	for _, at := range recorded.Positions() {
		noteRecorded(ctx, at)
		if a.state().Head.Seq >= at.Seq {
			continue
		}
		if err := e.AwaitPositions(ctx, at); err != nil {
			return nil, fmt.Errorf("%s %s: %w: %w", operation, name, ErrNotRead, err)
		}
	}
	return a.state(), nil
}

type checkedScript struct {
	DeployResult
	definition eventlog.Definition
}

// check reads the script's definition and compares it with the catalog and with what the workflow has. Grants are those
// that come with it, nil for those that the workflow has. For a repair, repairs is the workflow's state.
func (e *Engine) check(ctx context.Context, source, filename string, grants map[string]eventlog.Grant,
	repairs *projections.State,
) (checkedScript, *projections.State, error) {
	none := &projections.State{}
	script := sandbox.Source{Filename: filename, Code: source}
	if large := sandbox.SourceTooLarge(script, int(e.process.Config.Policies.Script.Source)); large != nil {
		return checkedScript{DeployResult: DeployResult{Refused: true,
			Problems: []deploy.Problem{{Problem: sandbox.ProblemOf(large)}}}}, none, nil
	}
	def, problems, err := e.process.Config.Scripts.Describe(ctx, script)
	if err != nil {
		return checkedScript{}, none, fmt.Errorf("read the script's definition: %w", err)
	}
	out := checkedScript{DeployResult: DeployResult{Workflow: eventlog.WorkflowName(def.Name)}}
	state := none
	if repairs != nil {
		state = repairs
	} else if out.Workflow.Validate() == nil {
		if a, ok := e.workflow(out.Workflow); ok {
			state = a.state()
		}
	}
	if grants == nil {
		grants = state.Grants
	}
	accepted, found := deploy.Check(deploy.Input{
		Definition: def, Source: source, Found: problems, Catalog: e.process.Config.Connectors,
		Previous: deploy.PreviousOf(state),
		Secrets:  e.process.Config.Secrets, Vars: e.process.Config.Vars.Names(), Grants: grants,
		Repair: repairs != nil, Handlers: e.process.Config.Policies.Script.Handlers,
		Topics: e.process.Config.Policies.Script.Topics,
	})
	out.Problems = found
	out.definition = accepted.Definition
	out.Refused = deploy.Refused(found)
	return out, state, nil
}

func sourceHash(source string) string {
	hash := sha256.Sum256([]byte(source))
	return hex.EncodeToString(hash[:])
}

// RepairRequest is a repaired script for a workflow that waits for one, or that holds events which wait for one (F7,
// C5).
type RepairRequest struct {
	Source   string
	Filename string
	// Note says what was repaired; it goes into the log.
	Note string
	// Expected refuses the repair if another version runs: it was made for that one.
	Expected *eventlog.Version
}

// Repair makes a repaired script the workflow's next minor version (F9). A repair that is refused
// counts as a failure of the script, so that a repairer cannot try forever; the reasons are in
// the result.
func (e *Engine) Repair(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	req RepairRequest) (DeployResult, error) {
	if err := e.available(ctx); err != nil {
		return DeployResult{}, err
	}
	state, ok := e.State(name)
	if !ok {
		return DeployResult{}, unknownWorkflow(name)
	}
	if !decide.RepairWanted(&state) {
		// This is said here and not by deciding a refused repair: a repair may be wanted from this very moment on, and
		// then the refused one would count.
		return DeployResult{}, decide.RefuseNotRequested(&state, e.process.Config.Policies.Repair.Budget)
	}
	if req.Expected != nil && *req.Expected != state.Version {
		return DeployResult{}, decide.RefuseMoved(&state, *req.Expected)
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
			reason = fmt.Sprintf("%s (line %d): %s", p.Code, p.Line, eventlog.ClipText(p.Message))
		}
		return result, e.Operate(ctx, actor, name, decide.RepairRefused{Reason: reason}, "repair")
	}
	cmd := decide.Deploy{
		Definition: checked.definition, Filename: req.Filename, Source: req.Source, SourceHash: sourceHash(req.Source),
		Expected: &state.Version, Repair: true, Note: eventlog.ClipText(req.Note),
	}
	now, err := e.deployed(ctx, name, cmd, actor, "repair")
	if err != nil {
		return result, err
	}
	result.Version, result.Changed = now.Version, true
	result.FreedEvents = max(0, state.HeldForPerson()-now.HeldForPerson())
	return result, nil
}
