package look

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Inputs is `pawl inputs`.
type Inputs struct {
	List inputsList `cmd:"" default:"withargs" help:"List inputs."`
	Show showInput  `cmd:"" help:"Show an input with the mutations that came of it."`
}

type inputsList struct {
	listFlags
	ofWorkflow
	Status string `choices:"input_status" help:"Only those of this status: ${input_status}."`
}

type showInput struct {
	client.Flags
	Name  string `arg:"" name:"workflow" help:"The workflow."`
	Input string `arg:"" help:"The input, as pawl inputs list shows it."`
}

func (c *inputsList) Run(engine *client.Finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Inputs", c.ofWorkflow, map[string]any{"status": c.Status}, []term.Column{
		{Title: "input", Field: "id"}, {Title: "source", Field: "source", Spare: 5},
		{Title: "type", Field: "type", Spare: 3}, {Title: "status", Field: "status"},
		{Title: "outputs", Field: "outputs", Show: term.Length, Spare: 4},
		{Title: "title", Field: "title", Width: 70, Spare: 2},
		{Title: "received", Field: "receivedAt", Show: term.Moment, Uncut: true},
	})
}

func (c *showInput) Run(engine *client.Finder, screen term.Screen) error {
	return show(engine, screen, c.Flags, "getInput", map[string]any{"workflow": c.Name, "input": c.Input})
}
