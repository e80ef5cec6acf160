package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// upCmd is an engine with the given workflows.
type upCmd struct {
	engineFlags
	UntilIdle *bool    `setting:"" help:"End when nothing is active, due or backing off; exit code 3 if a workflow needs a person."`
	Script    []string `arg:"" optional:"" name:"file" type:"path" help:"Workflow scripts, each deployed if its bytes have changed, at the start and whenever they do while this runs; without one, the bundled example runs in ./pawl-example."`
}

// Run deploys what has changed and what changes, and runs everything until it is interrupted.
func (c *upCmd) Run(ctx context.Context, screen term.Screen, conf reader, with parts) error {
	conf.Home = defaultData
	s, err := conf.settle(c.engineFlags, c.UntilIdle)
	if err != nil {
		return err
	}
	scripts := c.Script
	var bundled *example
	if len(scripts) == 0 {
		if bundled, err = useExample(&s); err != nil {
			return err
		}
		scripts = []string{bundled.script()}
	}
	sources, err := readSources(scripts)
	if err != nil {
		return err
	}
	var idle func()
	if bundled != nil {
		idle = func() { introduce(screen.Out, *bundled) }
	}
	refused := map[string]struct{}{}
	err = operate(ctx, screen, s, with, func(ctx context.Context, in *installation) (beside, error) {
		known, err := loadDeployments(s.Data)
		if err != nil {
			return nil, err
		}
		d := deployer{screen: screen, actor: actorNamed(conf.as()), in: in, known: known, refused: refused}
		if err := d.deployAll(ctx, sources); err != nil {
			return nil, err
		}
		return d.watch(sources), nil
	}, idle)
	var quiet exit.Silent
	if s.UntilIdle && len(refused) > 0 && (err == nil || errors.As(err, &quiet) && quiet == exit.CodeNeedsPerson) {
		return exit.Failed("correct what is listed above and start again; nothing of the refused was changed",
			fmt.Errorf("%s refused", term.Plural(len(refused), "workflow")))
	}
	return err
}

// useExample writes the bundled example and points its connectors at it. Configured connectors belong
// to somebody's real mail and sheets: the example keeps off them.
func useExample(s *settings) (*example, error) {
	if c := s.Connectors; c.Maildir != nil || c.CSV != nil {
		return nil, exit.Misconfigured("name the workflows to run: pawl up FILE…; or run the example in an empty folder",
			"without a FILE, up runs the bundled example in its own folders, but the maildir or csv connector is configured for others")
	}
	dir, err := filepath.Abs(exampleDir)
	if err != nil {
		return nil, exit.Failed("", err)
	}
	e, err := writeExample(dir)
	if err != nil {
		return nil, exit.Failed("", err)
	}
	s.Connectors.Maildir, s.Connectors.CSV = &rootSettings{Root: e.inbox()}, &rootSettings{Root: e.sheets()}
	return &e, nil
}

// introduce says where to look and what to try.
func introduce(out io.Writer, e example) {
	fmt.Fprintf(out, `
The example reads the mail in %s and fills %s.
Its script: %s. Put a mail into the inbox and see its row appear.
With `+"`pawl up`"+` running, try in another terminal:

  pawl events list             what came in, and what became of it
  pawl mutations list          every change that was made outside
  pawl why mail-to-sheet       what it is doing or waiting for

`, shown(e.inbox()), shown(e.sheet()), shown(e.script()))
}

// deployer deploys what changed since the last time.
type deployer struct {
	screen term.Screen
	// actor is who uses this command line, as far as it says.
	actor eventlog.Actor
	in    *installation
	known *deployments
	// refused holds the path of each file whose last deploy was refused.
	refused map[string]struct{}
}

// deployAll deploys every file. A file that is refused is named with its problems and noted in
// d.refused, and keeps no other file from running.
func (d deployer) deployAll(ctx context.Context, sources []source) error {
	if err := d.checkNames(ctx, sources); err != nil {
		return err
	}
	deploy := func(s source) error {
		ok, err := d.deploy(ctx, s)
		if err != nil {
			return fmt.Errorf("deploy %s: %w", shown(s.path), err)
		}
		if !ok {
			d.refuse(s.path)
		}
		return nil
	}
	var later []source // what has to wait for its tools holds up nothing else
	for _, s := range sources {
		if err := s.checkText(); err != nil {
			complain(ctx, d.screen.Err, err)
			d.refuse(s.path)
		} else if len(d.awaits(ctx, s)) > 0 {
			later = append(later, s)
		} else if err := deploy(s); err != nil {
			return err
		}
	}
	for _, s := range later {
		if missing := d.awaits(ctx, s); len(missing) > 0 {
			if err := d.await(ctx, s, missing); err != nil {
				return err
			}
		}
		if err := deploy(s); err != nil {
			return err
		}
	}
	return nil
}

// refuse notes that the file was refused, and says what becomes of its workflow.
func (d deployer) refuse(path string) {
	d.refused[path] = struct{}{}
	d.goesOn(path, "is not deployed")
}

// goesOn says what runs although the file is no longer what it was.
func (d deployer) goesOn(path, what string) {
	name := d.known.Files[path].Workflow
	state, exists := d.in.engine.State(name)
	then := fmt.Sprintf("%s goes on with %s", name, state.Version)
	switch {
	case !exists && d.in.settings.UntilIdle:
		then = "everything else runs"
	case !exists:
		then = "it is tried again when it is saved; everything else runs"
	case state.Archived:
		then = fmt.Sprintf("%s is archived", name)
	}
	fmt.Fprintf(d.screen.Err, "pawl: %s %s; %s\n", shown(path), what, then)
}

// checkNames refuses two files with one workflow: each would replace the other at every start.
func (d deployer) checkNames(ctx context.Context, sources []source) error {
	if len(sources) < 2 {
		return nil
	}
	first := map[eventlog.WorkflowName]source{}
	for _, s := range sources {
		name := d.known.Files[s.path].Workflow
		if !d.unchanged(s) {
			definition, _, err := d.in.scripts.Describe(ctx, sandbox.Source{Filename: s.name(), Code: string(s.text)})
			if err != nil || definition.Name == "" {
				continue // the deploy says what is wrong
			}
			name = eventlog.WorkflowName(definition.Name)
		}
		if other, twice := first[name]; twice {
			return twins(other.path, s.path, name)
		}
		first[name] = s
	}
	return nil
}

func twins(one, other string, name eventlog.WorkflowName) error {
	return exit.Failed("give one of them another name, or leave it out; nothing was deployed",
		fmt.Errorf("%s and %s are both workflow %s", shown(one), shown(other), name))
}

// unchanged says that the file has the bytes that were last deployed from there.
func (d deployer) unchanged(s source) bool {
	before, ok := d.known.Files[s.path]
	if !ok || before.SHA256 != hashOf(s.text) {
		return false
	}
	_, exists := d.in.engine.State(before.Workflow)
	return exists
}

// deploy deploys the file if its bytes are not those it last deployed from there.
func (d deployer) deploy(ctx context.Context, s source) (accepted bool, err error) {
	hash := hashOf(s.text)
	if before, ok := d.known.Files[s.path]; ok && before.SHA256 == hash {
		if state, exists := d.in.engine.State(before.Workflow); exists {
			if script := state.Script(state.Version); script != nil && script.SourceHash != hash {
				fmt.Fprintf(d.screen.Out, "pawl: %s %s is newer than %s and stays; to fetch it: pawl workflows source %s > %s\n",
					before.Workflow, state.Version, shown(s.path), before.Workflow, shown(s.path))
			} else {
				fmt.Fprintf(d.screen.Out, "pawl: %s %s is up to date with %s\n", before.Workflow, state.Version, shown(s.path))
			}
			return true, nil
		}
	}
	result, err := d.in.engine.Deploy(ctx, d.actor, engine.DeployRequest{Source: string(s.text), Filename: filepath.Base(s.path), GrantUsed: true})
	problems := d.advise(ctx, s, result.Problems)
	printProblems(d.screen, s, problems)
	var refusal *decide.Refusal
	switch {
	case errors.As(err, &refusal):
		printProblems(d.screen, s, []sandbox.Problem{{Severity: sandbox.SeverityError, Code: refusal.Code, Message: refusal.Message, Fix: refusal.Hint}})
		return false, nil
	case err != nil:
		return false, err
	case result.Refused:
		return false, nil
	}
	if err := d.known.remember(s.path, deployment{SHA256: hash, Workflow: result.Workflow}); err != nil {
		return false, err
	}
	d.deployed(s, result)
	return true, nil
}

func (d deployer) advise(ctx context.Context, s source, problems []sandbox.Problem) []sandbox.Problem {
	if len(problems) == 0 {
		return nil
	}
	definition, _, err := d.in.scripts.Describe(ctx, sandbox.Source{Filename: filepath.Base(s.path), Code: string(s.text)})
	if err != nil {
		return problems // the advice is only made better where the script can be read
	}
	problems = adviseConnectors(problems, definition.Uses)
	if d.in.services == nil {
		problems = adviseListening(problems, definition.Uses)
	}
	return problems
}

// printProblems prints problems as a compiler does.
func printProblems(screen term.Screen, s source, problems []sandbox.Problem) {
	for _, p := range problems {
		fmt.Fprintln(screen.Err, formatProblem(shown(s.path), p))
	}
}

// formatProblem renders one problem: file:line:column: severity: message, and the fix below.
func formatProblem(file string, p sandbox.Problem) string {
	place := file
	if p.Line > 0 {
		if place != "" {
			place += ":"
		}
		place += fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	if place != "" {
		place += ": "
	}
	text := fmt.Sprintf("%s%s: %s [%s]", place, p.Severity, term.OneLine(p.Message, 1000), p.Code)
	if p.Fix != "" {
		text += "\n  fix: " + term.OneLine(p.Fix, 1000)
	}
	return text
}

func (d deployer) deployed(s source, result engine.DeployResult) {
	switch {
	case result.Created:
		fmt.Fprintf(d.screen.Out, "pawl: deployed %s %s from %s\n", result.Workflow, result.Version, shown(s.path))
	case result.Changed:
		fmt.Fprintf(d.screen.Out, "pawl: %s is now %s, from %s\n", result.Workflow, result.Version, shown(s.path))
	default:
		fmt.Fprintf(d.screen.Out, "pawl: %s %s runs these bytes already\n", result.Workflow, result.Version)
	}
	for _, capability := range result.Asks {
		fmt.Fprintf(d.screen.Out, "pawl: %s asks before each %s; to allow it: pawl grants %s %s=allow\n", result.Workflow, capability, result.Workflow, capability)
	}
}

// actorNamed is the user of that name; empty is one of whom nothing is known.
func actorNamed(name string) eventlog.Actor {
	if name != "" {
		return eventlog.Actor{Kind: "user", Name: name}
	}
	return eventlog.Actor{Kind: "api", Name: "anonymous"}
}
