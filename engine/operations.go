package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
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
	// Problems are warnings, or the reasons why the deploy was refused.
	Problems []deploy.Problem
	// Refused is true when nothing was deployed because of the problems.
	Refused bool
	// Asks lists operations of this version that need an approval for each call.
	Asks []string
	// Allows lists operations of a new workflow that change something outside and need no approval.
	Allows []string
}

// Deploy checks a script and makes it the workflow's current version. Problems of the script are
// in the result; errors are refusals (*decide.Refusal) or ErrUnavailable.
func (e *Engine) Deploy(ctx context.Context, actor eventlog.Actor, req DeployRequest) (DeployResult, error) {
	if err := e.available(ctx); err != nil {
		return DeployResult{}, err
	}
	checked, state, err := e.check(ctx, req.Source, req.Filename, req.Grants, nil)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrNothingRecorded, err)
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
		Grants: req.Grants, GrantUsed: req.GrantUsed, Expected: req.Expected,
	}
	result := checked.DeployResult
	if _, err := e.decideOn(ctx, result.Workflow, cmd, actor, "deploy"); err != nil {
		return result, err
	}
	a, _ := e.workflow(result.Workflow)
	now := a.state()
	result.Version, result.Changed = now.Version, now.Version != state.Version
	result.Created = result.Changed && !state.Exists()
	result.Freed = state.Maintenance != nil && now.Maintenance == nil
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

func sourceHash(source string) string {
	hash := sha256.Sum256([]byte(source))
	return hex.EncodeToString(hash[:])
}

type checkedScript struct {
	DeployResult
	definition eventlog.Definition
}

// check reads the script's definition and holds it against the catalog and what the workflow has.
// Grants are those that come with it, nil for those that the workflow has. For a repair, repairs is the workflow's
// state.
func (e *Engine) check(ctx context.Context, source, filename string, grants map[string]eventlog.Grant,
	repairs *projections.State,
) (checkedScript, *projections.State, error) {
	none := &projections.State{}
	if limit := int(e.cfg.Policies.Script.Source); len(source) > limit {
		return checkedScript{DeployResult: DeployResult{Refused: true, Problems: []deploy.Problem{{Problem: sandbox.Problem{
			Severity: "error", Code: "limit.source", Message: fmt.Sprintf("the script has %d bytes, at most %d are allowed",
				len(source), limit),
			Fix: "move data out of the script",
		}}}}}, none, nil
	}
	def, problems, err := e.cfg.Scripts.Describe(ctx, sandbox.Source{Filename: filename, Code: source})
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
		Definition: def, Found: problems, Catalog: e.cfg.Connectors, Previous: deploy.PreviousOf(state),
		Secrets: e.cfg.Secrets, Grants: grants,
		Repair: repairs != nil, Handlers: e.cfg.Policies.Script.Handlers, Topics: e.cfg.Policies.Script.Topics,
	})
	out.Problems = found
	out.definition = accepted.Definition
	out.Refused = deploy.Refused(found)
	return out, state, nil
}

// Push brings events in from outside; it answers once they are durable. Known message ids are folded (R11).
// Errors: *decide.Refusal, ErrNoDiskSpace, ErrUnavailable.
func (e *Engine) Push(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName, topic eventlog.Topic,
	items []decide.PushItem) ([]decide.PushResult, error) {
	if err := e.DiskSpace(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDiskSpace, err)
	}
	if len(items) == 0 {
		return []decide.PushResult{}, nil
	}
	for i := range items {
		if len(items[i].Payload) > 0 && !json.Valid(items[i].Payload) {
			return nil, &decide.Refusal{
				Kind: decide.Invalid, Code: "event.invalid", Message: fmt.Sprintf("item %d (%s): payload is not JSON", i,
					items[i].MessageID),
				Hint: hint.Of(hint.Payload),
			}
		}
	}
	if err := e.available(ctx); err != nil {
		return nil, err
	}
	// What is pushed stays in memory until the store has it.
	if err := e.partitionOf(name).lag.Wait(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDiskSpace, err)
	}
	decision, err := e.operate(ctx, name, decide.Push{Topic: topic, Items: items}, actor, "push")
	return decision.Pushed, err
}

// Operate carries out an operator's command on a workflow (O10). Errors: *decide.Refusal, ErrUnavailable.
func (e *Engine) Operate(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName, cmd decide.Command,
	operation string) error {
	_, err := e.operate(ctx, name, cmd, actor, operation)
	return err
}

// RunNow queues every producer of a workflow, and says which runs now and what the others wait for (S5). Errors:
// those of Operate.
func (e *Engine) RunNow(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	operation string) (*decide.Queued, error) {
	decision, err := e.operate(ctx, name, decide.RunNow{}, actor, operation)
	return decision.Queued, err
}

func (e *Engine) operate(ctx context.Context, name eventlog.WorkflowName, cmd decide.Command, actor eventlog.Actor,
	operation string) (decide.Decision, error) {
	if err := e.available(ctx); err != nil {
		return decide.Decision{}, err
	}
	if a, ok := e.workflow(name); !ok || !a.state().Exists() || name == eventlog.Installation {
		return decide.Decision{}, unknownWorkflow(name)
	}
	return e.decideOn(ctx, name, cmd, actor, operation)
}

func unknownWorkflow(name eventlog.WorkflowName) *decide.Refusal {
	return &decide.Refusal{Kind: decide.NotFound, Code: "workflow.unknown", Message: fmt.Sprintf("there is no workflow %q",
		name), Hint: hint.Of(hint.Workflows)}
}

func (e *Engine) decideOn(ctx context.Context, name eventlog.WorkflowName, cmd decide.Command, actor eventlog.Actor,
	operation string) (decide.Decision, error) {
	a := e.partitionOf(name).open(name)
	decision, err := a.record(ctx, cmd, actor, eventlog.Cause{Kind: "api", ID: operation})
	switch {
	case err == nil:
		return decision, nil
	case errors.Is(err, ErrUnavailable):
		return decision, err
	case errors.Is(err, errStopped):
		return decision, &decide.Refusal{Kind: decide.Conflict, Code: "workflow.stopped",
			Message: fmt.Sprintf("workflow %s is out of service: %v", name, err),
			Hint:    hint.Of(hint.VerifyWorkflow)}
	case errors.Is(err, eventlog.ErrUnconfirmed), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return decision, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, eventlog.ErrFull), errors.Is(err, eventlog.ErrClosed):
		return decision, fmt.Errorf("%w: %w", ErrNothingRecorded, err)
	}
	return decision, err
}

// available waits until the engine has replayed, and refuses once it has ended.
func (e *Engine) available(ctx context.Context) error {
	select {
	case <-e.ready:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNothingRecorded, ctx.Err())
	}
	if e.closed.Load() {
		return fmt.Errorf("%w: it has stopped", ErrNothingRecorded)
	}
	return nil
}

// changedAtOnce is how many events one transition of ChangeEvents changes at most.
const changedAtOnce = 500

// ChangeEvents skips, cancels or redrives events, in as many transitions as their number needs
// (J3, J4, O7). Refused events are no error: the answer lists them.
func (e *Engine) ChangeEvents(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	cmd decide.ChangeEvents) (decide.BulkResult, error) {
	sum := decide.BulkResult{Noop: []decide.Noop{}}
	for items := range slices.Chunk(cmd.Items, changedAtOnce) {
		part := cmd
		part.Items = items
		decision, err := e.operate(ctx, name, part, actor, string(cmd.Action))
		switch {
		case errors.Is(err, ErrNothingRecorded) && sum.Updated > 0:
			return sum, fmt.Errorf("%w: %d events are changed, the rest is not: %v", ErrUnavailable, sum.Updated, err)
		case err != nil:
			return sum, err
		}
		sum.Updated += decision.Bulk.Updated
		sum.Noop = append(sum.Noop, decision.Bulk.Noop...)
	}
	return sum, nil
}

// CountUnknown counts the events whose redrive may repeat an effect (O11). It changes nothing. Errors: those of
// Operate.
func (e *Engine) CountUnknown(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	events []eventlog.EventRef) (n int, err error) {
	for items := range slices.Chunk(events, changedAtOnce) {
		decision, err := e.operate(ctx, name, decide.ChangeEvents{Action: decide.ActionRedrive, Items: items, Count: true},
			actor, "count")
		if err != nil {
			return n, err
		}
		n += decision.Bulk.Unknown
	}
	return n, nil
}

// State returns a workflow's live state and whether there is such a workflow.
func (e *Engine) State(name eventlog.WorkflowName) (projections.State, bool) {
	a, ok := e.workflow(name)
	if !ok || !a.state().Exists() || name == eventlog.Installation {
		return projections.State{}, false
	}
	return *a.state(), true
}

// Flush brings the store to the present, so that what it answers is complete. Errors: ErrUnavailable, or that of
// the store.
func (e *Engine) Flush(ctx context.Context) error {
	if err := e.available(ctx); err != nil && !e.closed.Load() {
		return err
	}
	for _, p := range e.partitions {
		if err := p.flush(); errors.Is(err, store.ErrFailed) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Stopped lists workflows that are out of service, with the reason.
func (e *Engine) Stopped() map[eventlog.WorkflowName]error {
	stopped := map[eventlog.WorkflowName]error{}
	for a := range e.workflows() {
		if err := a.stoppedBy(); err != nil {
			stopped[a.name] = err
		}
	}
	return stopped
}

// States returns the newest state of each workflow, by name.
func (e *Engine) States() []projections.State {
	var all []projections.State
	for a := range e.workflows() {
		all = append(all, *a.state())
	}
	slices.SortFunc(all, func(a, b projections.State) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Policies returns the numbers that the engine's rules go by.
func (e *Engine) Policies() schedule.Policies { return e.cfg.Policies }

// Orphans lists reserved events that no run holds, by workflow (Startup).
func (e *Engine) Orphans() map[eventlog.WorkflowName][]eventlog.EventRef {
	all := map[eventlog.WorkflowName][]eventlog.EventRef{}
	for a := range e.workflows() {
		if refs := decide.Orphans(a.state()); len(refs) > 0 {
			all[a.name] = refs
		}
	}
	return all
}

// Why returns what a workflow waits for, of several the first that [decide.Owed] names; nil while it is moving.
func (e *Engine) Why(name eventlog.WorkflowName) (*decide.Wait, bool) {
	r, ok := e.partitionOf(name).runner(name)
	if !ok {
		return nil, false
	}
	if waits := r.resting(); len(waits) > 0 {
		return &waits[0], true
	}
	return nil, true
}
