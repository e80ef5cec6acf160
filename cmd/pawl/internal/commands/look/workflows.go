package look

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// Workflows is `pawl workflows`.
type Workflows struct {
	List   workflowsList `cmd:"" default:"withargs" help:"List workflows."`
	Show   showWorkflow  `cmd:"" help:"Show a workflow and its handlers."`
	Source showSource    `cmd:"" help:"Print a workflow's script."`
}

type workflowsList struct {
	listFlags
	Status string `choices:"workflow_status" help:"Only those of this status: ${workflow_status}."`
}

type showWorkflow struct {
	client.Flags
	Name string `arg:"" help:"The workflow."`
}

type showSource struct {
	client.Flags
	Name    string `arg:"" help:"The workflow."`
	Version string `placeholder:"MAJOR.MINOR" help:"A former version; else the current one."`
	Out     string `type:"path" placeholder:"FILE" help:"Write it to this file, which is replaced as a whole; else to standard output."`
}

func (c *workflowsList) Run(engine *client.Finder, screen term.Screen) error {
	filters := map[string]any{"status": c.Status}
	return listWith(engine, screen, c.listFlags, "Workflows", ofWorkflow{}, filters, []term.Column{
		{Title: "workflow", Field: "name"}, {Title: "version", Field: "version", Spare: 1},
		{Title: "status", Field: "status"}, {Title: "revision", Field: "revision", Spare: 2},
		{Title: "held", Field: "held"}, {Title: "because", Field: "because", Whole: true},
	}, addHolds)
}

func (c *showWorkflow) Run(engine *client.Finder, screen term.Screen) error {
	if err := show(engine, screen, c.Flags, "getWorkflow", map[string]any{"workflow": c.Name}); err != nil || c.JSON {
		return err
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "listWorkflowHandlers", map[string]any{"workflow": c.Name}, func(p term.Page) error {
		fmt.Fprintln(screen.Out)
		screen.Table(p, []term.Column{
			{Title: "handler", Field: "name"}, {Title: "type", Field: "type"},
			{Title: "next run", Field: "nextRunAt", Show: term.Moment, Uncut: true, Spare: 1},
			{Title: "wakes", Field: "wakeAt", Show: term.Moment, Uncut: true, Spare: 2},
			{Title: "at once", Field: "concurrency", Spare: 3}, {Title: "key", Field: "key", Spare: 5},
			{Title: "held", Field: "held", Spare: 4},
		}, "no handlers")
		return nil
	})
}

func (c *showSource) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name}
	if c.Version != "" {
		params["version"] = c.Version
	}
	return client.Answer(connected, "getSource", params, func(script struct{ Source string }) error {
		if c.Out != "" {
			return writeSource(c.Out, script.Source)
		}
		_, err := io.WriteString(screen.Out, script.Source)
		return err
	})
}

// writeSource replaces the file as a whole: a running `pawl up` that follows it never finds half of it. A link is
// followed. Only its owner can read a new file; a file that exists keeps its mode.
func writeSource(path, text string) error {
	at := path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		at = target
	}
	info, err := os.Stat(at)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return exit.Misconfigured("name a file, or leave out --out", "%s is no regular file", term.Path(path))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return exit.Failed("", fmt.Errorf("look at %s: %w", term.Path(path), err))
	}
	if err := durable.WriteFile(at, []byte(text)); err != nil {
		return exit.Failed("", fmt.Errorf("write %s: %w", term.Path(path), err))
	}
	if info == nil {
		return nil
	}
	if err := os.Chmod(at, info.Mode().Perm()); err != nil {
		return exit.Failed("", fmt.Errorf("set the mode of %s: %w", term.Path(path), err))
	}
	return nil
}
