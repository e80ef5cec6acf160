package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// deployer deploys files that have changed since their last deploy.
type deployer struct {
	screen term.Screen
	// actor is the user of this command line, as far as it is named.
	actor   eventlog.Actor
	in      *node.Node
	known   *deployments
	refused *refusals
	// grants replace those of the workflow; nil leaves them.
	grants map[string]eventlog.Grant
	// strict treats warnings as errors.
	strict bool
}

// refuse notes that the file was refused, and prints what becomes of its workflow.
func (d deployer) refuse(path string) {
	d.refused.add(path)
	d.goesOn(path, "is not deployed")
}

// goesOn prints what runs although the file is no longer what it was.
func (d deployer) goesOn(path, what string) {
	name := d.known.Files[path].Workflow
	state, exists := d.in.Engine.State(name)
	then := fmt.Sprintf("%s goes on with %s", name, state.Version)
	switch {
	case !exists && d.in.Data.Settings.UntilIdle:
		then = "everything else runs"
	case !exists:
		then = "it is tried again when it is saved; everything else runs"
	case state.Archived:
		then = fmt.Sprintf("%s is archived", name)
	}
	fmt.Fprintf(d.screen.Err, "pawl: %s %s; %s\n", term.Path(path), what, then)
}

func twins(one, other string, name eventlog.WorkflowName) error {
	return exit.Failed("give one of them another name, or leave it out; nothing was deployed",
		fmt.Errorf("%s and %s are both workflow %s", term.Path(one), term.Path(other), name))
}

// unchanged says whether the file has the bytes that were last deployed from it.
func (d deployer) unchanged(s source.Script) bool {
	before, ok := d.known.Files[s.Path]
	if !ok || before.SHA256 != hashOf(s.Text) {
		return false
	}
	return d.runs(before.Workflow)
}

// runs says whether the workflow has a script. It may have lost its script with a part of the log.
func (d deployer) runs(w eventlog.WorkflowName) bool {
	state, exists := d.in.Engine.State(w)
	return exists && state.Version != ""
}

// deploy deploys the file if its bytes are not those that were last deployed from it.
func (d deployer) deploy(ctx context.Context, s source.Script) (accepted bool, err error) {
	hash := hashOf(s.Text)
	before, known := d.known.Files[s.Path]
	forgotten := known && !d.runs(before.Workflow)
	if known && before.SHA256 == hash {
		if state, exists := d.in.Engine.State(before.Workflow); exists && !forgotten {
			if script := state.Script(state.Version); script != nil && script.SourceHash != hash {
				fmt.Fprintf(d.screen.Out, "pawl: %s %s is newer than %s and stays; to fetch it: "+
					"pawl workflows source %s --out %s\n",
					before.Workflow, state.Version, term.Path(s.Path), before.Workflow, term.Path(s.Path))
			} else {
				fmt.Fprintf(d.screen.Out, "pawl: %s %s is up to date with %s\n", before.Workflow, state.Version, term.Path(s.Path))
			}
			sayChanged(d.screen.Out, d.in.Catalog(), s.Path, state.Definition())
			return true, d.grant(ctx, s, &state)
		}
	}
	other := d.otherVersion(before, known && !forgotten)
	// A deploy that was made from this file and is not in the log any more was lost, and with it the record of which
	// events were handled. So each change that the workflow makes needs an approval.
	result, err := d.in.Engine.Deploy(ctx, d.actor, engine.DeployRequest{
		Source: string(s.Text), Filename: filepath.Base(s.Path), Grants: d.grants, GrantUsed: !forgotten,
		Strict: d.strict,
	})
	problems := d.advise(ctx, s, explain.Problems(result.Problems))
	source.Print(d.screen, s, problems)
	var refusal *decide.Refusal
	switch {
	case errors.As(err, &refusal):
		source.Print(d.screen, s,
			[]sandbox.Problem{{Severity: sandbox.SeverityError, Code: refusal.Code, Message: refusal.Message,
				Fix: explain.Hint(refusal.Hint)}})
		return false, nil
	case err != nil:
		return false, err
	case result.Refused:
		return false, nil
	}
	if err := d.known.remember(s.Path, deployment{SHA256: hash, Workflow: result.Workflow}); err != nil {
		return false, err
	}
	d.deployed(s, result)
	if other != "" && result.Changed {
		fmt.Fprintf(d.screen.Out, "pawl: it replaces %s %s, a repair or a deploy that did not come from %s; "+
			"to see that one: pawl workflows source %s --version %s\n", result.Workflow, other, term.Path(s.Path),
			result.Workflow, other)
	}
	return true, nil
}

// otherVersion is the running version where that is not the one that was last deployed from the file, as after a
// repair.
func (d deployer) otherVersion(last deployment, known bool) eventlog.Version {
	state, exists := d.in.Engine.State(last.Workflow)
	if !known || !exists {
		return ""
	}
	if script := state.Script(state.Version); script == nil || script.SourceHash == last.SHA256 {
		return ""
	}
	return state.Version
}

// sayChanged names the operations that are not called any more because their connector has changed since the running
// version was deployed. Only a deploy accepts the change, and the file has nothing new to deploy. Operations whose
// connector is not there now are left out.
func sayChanged(out io.Writer, live deploy.Catalog, path string, running *eventlog.Definition) {
	for _, op := range running.Operations {
		if changed := deploy.Changed(live, op); changed != nil {
			fmt.Fprintf(out, "pawl: %s; it is not called until a deploy accepts that: pawl deploy %s\n", changed.Message,
				term.Path(path))
		}
	}
}

func (d deployer) advise(ctx context.Context, s source.Script, problems []sandbox.Problem) []sandbox.Problem {
	if len(problems) == 0 {
		return nil
	}
	definition, _, err := d.in.Scripts.Describe(ctx, sandbox.Source{Filename: filepath.Base(s.Path), Code: string(s.Text)})
	if err != nil {
		return problems // without a definition there is no better advice
	}
	problems = builtin.AdviseConfigured(problems, definition.Uses)
	if d.in.Tools == nil {
		problems = builtin.AdviseListening(problems, definition.Uses)
	}
	return problems
}

// grant gives a workflow whose file has not changed the grants that were asked for.
func (d deployer) grant(ctx context.Context, script source.Script, s *projections.State) error {
	if d.grants == nil || maps.Equal(s.Grants, d.grants) {
		return nil
	}
	if err := deploy.ValidateGrants(d.grants, s.Definition()); err != nil {
		return exit.Misconfigured("write e.g. --grant csv.appendRow=ask", "--grant: %v", err)
	}
	before := s.Grants
	if err := d.in.Engine.Operate(ctx, d.actor, s.Name, decide.SetGrants{Grants: d.grants}, "up"); err != nil {
		return err
	}
	fmt.Fprintf(d.screen.Out, "pawl: the grants of %s are now those of --grant\n", s.Name)
	d.withdrawn(s.Name, deploy.Withdrawn(before, d.grants, s.Definition()))
	// A deploy would have said which secrets the script uses without a grant.
	checked, err := d.in.Engine.Deploy(ctx, d.actor, engine.DeployRequest{Source: string(script.Text),
		Filename: filepath.Base(script.Path), Grants: d.grants, DryRun: true})
	if err != nil {
		return err
	}
	source.Print(d.screen, script, explain.Problems(slices.DeleteFunc(checked.Problems, func(p deploy.Problem) bool {
		return p.Code != deploy.CodeSecretGrant
	})))
	return nil
}

// withdrawn prints the grants that were taken away because --grant does not name them.
func (d deployer) withdrawn(w eventlog.WorkflowName, grants []string) {
	if len(grants) > 0 {
		fmt.Fprintf(d.screen.Out, "pawl: %s\n", explain.Withdrawn(w, grants))
	}
}

func (d deployer) deployed(s source.Script, result engine.DeployResult) {
	switch {
	case result.Created:
		fmt.Fprintf(d.screen.Out, "pawl: deployed %s %s from %s\n", result.Workflow, result.Version, term.Path(s.Path))
	case result.Changed:
		fmt.Fprintf(d.screen.Out, "pawl: %s is now %s, from %s\n", result.Workflow, result.Version, term.Path(s.Path))
	default:
		fmt.Fprintf(d.screen.Out, "pawl: %s %s is up to date with %s\n", result.Workflow, result.Version, term.Path(s.Path))
	}
	if result.Freed {
		fmt.Fprintf(d.screen.Out, "pawl: %s is no longer in maintenance and runs again\n", result.Workflow)
	}
	d.withdrawn(result.Workflow, result.Withdrawn)
	for _, capability := range result.Allows {
		fmt.Fprintf(d.screen.Out, "pawl: %s may do %s without asking; to be asked before each: pawl grants %s %s=ask\n",
			result.Workflow, capability, result.Workflow, capability)
	}
	for _, capability := range result.Asks {
		fmt.Fprintf(d.screen.Out, "pawl: %s asks before each %s; to allow it: pawl grants %s %s=allow\n", result.Workflow,
			capability, result.Workflow, capability)
	}
}
