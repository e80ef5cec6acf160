package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// deployAll deploys every file. A file that is refused is named with its problems and noted in
// d.refused, and keeps no other file from running.
func (d deployer) deployAll(ctx context.Context, sources []source.Script) error {
	if err := d.checkNames(ctx, sources); err != nil {
		return err
	}
	deploy := func(s source.Script) error {
		ok, err := d.deploy(ctx, s)
		if err != nil {
			return fmt.Errorf("deploy %s: %w", term.Path(s.Path), err)
		}
		if !ok {
			d.refuse(s.Path)
		}
		return nil
	}
	var later []source.Script // scripts that wait for their tools do not delay the others
	for _, s := range sources {
		if err := s.CheckText(); err != nil {
			exit.Complain(ctx, d.screen.Err, err)
			d.refuse(s.Path)
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

// sayOthers names the workflows that run although none of the files is theirs.
func (d deployer) sayOthers(sources []source.Script) {
	given := map[eventlog.WorkflowName]bool{}
	for _, s := range sources {
		given[d.known.Files[s.Path].Workflow] = true
	}
	var others []string
	for _, s := range d.in.Engine.States() {
		if !given[s.Name] && !s.Archived && s.Version != "" {
			others = append(others, fmt.Sprintf("%s %s", s.Name, s.Version))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(d.screen.Out, "pawl: also running, deployed earlier: %s\n", strings.Join(others, ", "))
	}
}

// checkNames refuses two files with one workflow: each would replace the other at every start.
func (d deployer) checkNames(ctx context.Context, sources []source.Script) error {
	if len(sources) < 2 {
		return nil
	}
	first := map[eventlog.WorkflowName]source.Script{}
	for _, s := range sources {
		name := d.known.Files[s.Path].Workflow
		if !d.unchanged(s) {
			definition, _, err := d.in.Scripts.Describe(ctx, sandbox.Source{Filename: s.Name(), Code: string(s.Text)})
			if err != nil || definition.Name == "" {
				continue // the deploy reports what is wrong
			}
			name = eventlog.WorkflowName(definition.Name)
		}
		if other, twice := first[name]; twice {
			return twins(other.Path, s.Path, name)
		}
		first[name] = s
	}
	return nil
}
