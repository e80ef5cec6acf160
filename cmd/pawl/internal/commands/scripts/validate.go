package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/amend"
)

// Validate is `pawl validate`: name each mistake of the scripts, and deploy nothing.
type Validate struct {
	client.Flags
	Files  []string `arg:"" name:"file" type:"path" help:"The scripts."`
	Fix    bool     `help:"Make the changes in the file that the fixes ask for, and check it again."`
	Strict bool     `help:"Take warnings for errors."`
}

// verdict is what validate answers, from an engine or without one.
type verdict struct {
	OK       bool                   `json:"ok"`
	Workflow *eventlog.WorkflowName `json:"workflow"`
	Problems []sandbox.Problem      `json:"problems"`
}

// Run asks a running engine, which knows the state of the workflow and every connector. Without an engine it checks
// what can be checked alone.
func (c *Validate) Run(ctx context.Context, engine *client.Finder, screen term.Screen, with storage.Parts) error {
	file, err := engine.Conf.ReadConfig()
	if err != nil {
		return err
	}
	connected, err := engine.FindAs(c.Flags, file)
	if err != nil {
		return err
	}
	alone := false
	judge := func(s source.Script) (found verdict, err error) {
		if err = connected.Stranger; err == nil && !alone {
			err = connected.Do(ctx, "validateScript", map[string]any{"source": string(s.Text),
				"filename": filepath.Base(s.Path)}, &found)
		}
		switch {
		case alone:
			return validateAlone(ctx, with, s, file)
		case connected.Stranger != nil, connected.Foreign(err), errors.Is(err, rpc.ErrUnreachable) && !c.Named():
			alone = true
			fmt.Fprintf(screen.Err, "%s: checked alone, with %s\n", connected.Alone(err), knownAlone(file))
			sayServers(screen, file)
			return validateAlone(ctx, with, s, file)
		case err != nil:
			return found, connected.Explain(err)
		}
		return found, nil
	}
	files, err := c.scripts(screen)
	if err != nil {
		return err
	}
	return each(ctx, screen, files, func(file string) error { return c.validate(screen, file, judge) })
}

// scripts are the files without tests, which are no workflows.
func (c *Validate) scripts(screen term.Screen) (scripts []string, err error) {
	for _, file := range c.Files {
		if isTests(file) {
			fmt.Fprintf(screen.Err, "%s: left out, these are tests: pawl test runs them\n", term.Path(file))
			continue
		}
		scripts = append(scripts, file)
	}
	if len(scripts) == 0 {
		return nil, exit.Misconfigured("run pawl test", "only tests are named, and no script")
	}
	return scripts, nil
}

// validate checks one file, and prints what was found.
func (c *Validate) validate(screen term.Screen, file string, judge func(source.Script) (verdict, error)) error {
	script, err := source.Read(file)
	if err != nil {
		return err
	}
	found, err := judge(script)
	if err == nil && c.Fix {
		found, err = c.fix(screen, &script, found, judge)
	}
	if err != nil {
		return err
	}
	if c.Strict && len(found.Problems) > 0 {
		found.OK = false
		for i := range found.Problems {
			found.Problems[i].Severity = sandbox.SeverityError
		}
	}
	return printVerdict(screen, script, found, c.JSON)
}

func printVerdict(screen term.Screen, s source.Script, found verdict, asJSON bool) error {
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
			fmt.Fprintln(screen.Out, term.Problem(term.Path(s.Path), p))
		}
	}
	switch {
	case !found.OK:
		return exit.Silent(exit.CodeFailed)
	case !asJSON:
		fmt.Fprintf(screen.Out, "%s: ok\n", term.Path(s.Path))
	}
	return nil
}

// validateAlone checks a script without an engine. It knows the compiled-in connectors and the described ones, so an
// unknown one is a warning.
func validateAlone(ctx context.Context, with storage.Parts, s source.Script, file config.File) (
	verdict, error,
) {
	definition, problems, err := source.Describe(ctx, with, s)
	if err != nil {
		return verdict{}, exit.Failed("", fmt.Errorf("check %s: %w", term.Path(s.Path), err))
	}
	var found verdict
	if definition.Name != "" {
		name := eventlog.WorkflowName(definition.Name)
		found.Workflow = &name
	}
	known, err := file.Known()
	if err != nil {
		return verdict{}, err
	}
	registry, done, err := builtin.Alone(known)
	if err != nil {
		return verdict{}, exit.Misconfigured("", "%v", errors.Join(err, done()))
	}
	_, checked := deploy.Check(deploy.Input{
		Definition: definition, Source: string(s.Text), Found: problems, Catalog: node.NewCatalog(registry),
		UnknownConnector: sandbox.SeverityWarning, Secrets: file.SecretNames(), Vars: file.ScriptVars().Names(),
		Handlers: file.Policies.Script.Handlers, Topics: file.Policies.Script.Topics,
	})
	found.Problems = append([]sandbox.Problem{}, explain.Problems(checked)...) // in JSON an empty list, never null
	found.OK = !deploy.Refused(checked)
	return found, done()
}

// maxFixRounds bounds how often a script is fixed and checked again: one fix may reveal another problem.
const maxFixRounds = 10

// fix makes the changes that the fixes of a verdict ask for, as long as they help, and writes the file if there are
// any. The changed script is checked again, so the verdict that it returns is about the text in the file.
func (c *Validate) fix(screen term.Screen, s *source.Script, found verdict,
	judge func(source.Script) (verdict, error)) (verdict, error) {
	mended, found, made, err := mend(*s, found, judge)
	if err != nil || made == 0 {
		return found, err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(s.Path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.WriteFile(s.Path, mended.Text, mode); err != nil {
		return found, fmt.Errorf("write the mended script: %w", err)
	}
	if !c.JSON {
		fmt.Fprintf(screen.Out, "%s: %d changes made\n", term.Path(s.Path), made)
	}
	*s = mended
	return found, nil
}

// mend applies fixes until none is left that helps. A round after which the script has more errors is undone.
func mend(s source.Script, found verdict, judge func(source.Script) (verdict, error)) (
	mended source.Script, after verdict, made int, err error,
) {
	for range maxFixRounds {
		var edits []sandbox.Edit
		for _, p := range found.Problems {
			if p.Edit != (sandbox.Edit{}) {
				edits = append(edits, p.Edit)
			}
		}
		text, changes := amend.Apply(string(s.Text), edits)
		if changes == 0 || text == string(s.Text) {
			break
		}
		next := s
		next.Text = []byte(text)
		judged, err := judge(next)
		if err != nil {
			return s, found, made, err
		}
		if errorsIn(judged) > errorsIn(found) {
			break
		}
		s, found, made = next, judged, made+changes
	}
	return s, found, made, nil
}

func errorsIn(v verdict) (count int) {
	for _, p := range v.Problems {
		if p.Severity == sandbox.SeverityError {
			count++
		}
	}
	return count
}
