package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/sandbox"
)

type (
	deployCmd struct {
		clientFlags
		Grant  map[string]string `placeholder:"CAPABILITY=allow|ask|deny" help:"Replace the workflow's grants, e.g. --grant csv.appendRow=allow. A new workflow may read and asks before it changes anything."`
		Expect string            `placeholder:"MAJOR.MINOR" help:"Refuse unless this version runs now."`
		File   string            `arg:"" type:"path" help:"The script."`
	}
	validateCmd struct {
		clientFlags
		File string `arg:"" type:"path" help:"The script."`
	}
	typesCmd struct{}
)

// Run deploys the script to the running engine.
func (c *deployCmd) Run(ctx context.Context, engine *finder, screen term.Screen, with parts) error {
	script, err := readSource(c.File)
	if err != nil {
		return err
	}
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	params := map[string]any{"source": string(script.text), "filename": filepath.Base(c.File)}
	if c.Expect != "" {
		params["expectedVersion"] = c.Expect
	}
	if len(c.Grant) > 0 {
		params["grants"] = c.Grant
	}
	var raw json.RawMessage
	if err := connected.do("deployWorkflow", params, &raw); err != nil {
		return refused(ctx, screen, with, script, err, connected.json)
	}
	if connected.json {
		return screen.JSON(raw)
	}
	var done struct {
		Name     eventlog.WorkflowName
		Version  eventlog.Version
		Warnings []sandbox.Problem
		Asks     []string
	}
	if err := json.Unmarshal(raw, &done); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	printProblems(screen, script, done.Warnings)
	fmt.Fprintf(screen.Out, "%s %s\n", done.Name, done.Version)
	for _, capability := range done.Asks {
		fmt.Fprintf(screen.Err, "%s asks before each %s; to allow it: pawl grants %s %s=allow\n", done.Name, capability, done.Name, capability)
	}
	if len(c.Grant) == 0 {
		return nil
	}
	var now grants
	if err := connected.do("getGrants", map[string]any{"workflow": done.Name}, &now); err != nil {
		return err
	}
	for _, capability := range now.unused() {
		fmt.Fprintf(screen.Err, "grant %s=%s concerns no operation that the script uses\n", capability, now.Grants[capability])
	}
	return nil
}

// refused prints the problems of a refused script in place of the problem document's summary.
func refused(ctx context.Context, screen term.Screen, with parts, s source, err error, asJSON bool) error {
	var problem *rpc.Problem
	if !errors.As(err, &problem) {
		return err
	}
	if len(problem.Problems) == 0 {
		if problem.Status == http.StatusConflict && !asJSON {
			printProblems(screen, s, []sandbox.Problem{{Severity: sandbox.SeverityError, Code: problem.Code, Message: problem.Detail, Fix: problem.Hint}})
			return exit.Failed("", fmt.Errorf("%s was refused; nothing was changed", shown(s.path)))
		}
		return err
	}
	if asJSON {
		document, err := json.Marshal(problem)
		if err != nil {
			return fmt.Errorf("print the problem: %w", err)
		}
		if err := screen.JSON(document); err != nil {
			return err
		}
		return exit.Silent(exit.CodeFailed)
	}
	problems := problem.Problems
	if definition, _, err := describe(ctx, with, s); err == nil {
		problems = adviseConnectors(problems, definition.Uses)
	}
	printProblems(screen, s, problems)
	return exit.Failed("correct what is listed above and deploy again; nothing was changed", fmt.Errorf("%s was refused", shown(s.path)))
}

func describe(ctx context.Context, with parts, s source) (sandbox.Definition, []sandbox.Problem, error) {
	scripts, err := newWorkers(settings{Policies: schedule.Default()}, with, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return sandbox.Definition{}, nil, err
	}
	definition, problems, err := scripts.Describe(ctx, sandbox.Source{Filename: filepath.Base(s.path), Code: string(s.text)})
	return definition, problems, errors.Join(err, scripts.Close())
}

// verdict is what validate answers, from an engine or without one.
type verdict struct {
	OK       bool                   `json:"ok"`
	Workflow *eventlog.WorkflowName `json:"workflow"`
	Problems []sandbox.Problem      `json:"problems"`
}

// Run asks a running engine, which knows what the workflow holds and every connector; without one
// it checks what can be checked alone.
func (c *validateCmd) Run(ctx context.Context, engine *finder, screen term.Screen, with parts) error {
	script, err := readSource(c.File)
	if err != nil {
		return err
	}
	connected, err := engine.find(c.clientFlags)
	if err != nil {
		return err
	}
	var found verdict
	if err = connected.stranger; err == nil {
		err = connected.Do(ctx, "validateScript", map[string]any{"source": string(script.text), "filename": filepath.Base(c.File)}, &found)
	}
	switch {
	case connected.stranger != nil, errors.Is(err, rpc.ErrUnreachable) && !c.named():
		fmt.Fprintf(screen.Err, "%s: checked alone, with the connectors built in\n", connected.alone())
		if found, err = validateAlone(ctx, with, script); err != nil {
			return err
		}
	case err != nil:
		return connected.explain(err)
	}
	return printVerdict(screen, script, found, c.JSON)
}

func printVerdict(screen term.Screen, s source, found verdict, asJSON bool) error {
	if asJSON {
		document, err := json.Marshal(found)
		if err != nil {
			return fmt.Errorf("print the verdict: %w", err)
		}
		if err := screen.JSON(document); err != nil {
			return err
		}
	} else {
		for _, p := range found.Problems {
			fmt.Fprintln(screen.Out, formatProblem(shown(s.path), p))
		}
	}
	switch {
	case !found.OK:
		return exit.Silent(exit.CodeFailed)
	case !asJSON:
		fmt.Fprintf(screen.Out, "%s: ok\n", shown(s.path))
	}
	return nil
}

// validateAlone checks a script without an engine. It knows the compiled-in connectors only, so an
// unknown one is a warning.
func validateAlone(ctx context.Context, with parts, s source) (verdict, error) {
	definition, problems, err := describe(ctx, with, s)
	if err != nil {
		return verdict{}, exit.Failed("", fmt.Errorf("check %s: %w", shown(s.path), err))
	}
	var found verdict
	if definition.Name != "" {
		name := eventlog.WorkflowName(definition.Name)
		found.Workflow = &name
	}
	registry, done, err := unconfigured()
	if err != nil {
		return verdict{}, exit.Failed("", errors.Join(err, done()))
	}
	_, checked := deploy.Check(deploy.Input{
		Definition: definition, Found: problems, Catalog: newCatalog(registry), UnknownConnector: sandbox.SeverityWarning,
	})
	found.Problems = append([]sandbox.Problem{}, checked...) // none is an empty list
	found.OK = !deploy.Refused(found.Problems)
	return found, done()
}

// Run prints the declaration file for editors.
func (typesCmd) Run(screen term.Screen) error {
	_, err := io.WriteString(screen.Out, sandbox.Typings)
	return err
}
