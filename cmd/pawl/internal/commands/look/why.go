package look

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/explain"
)

// Why is `pawl why`: say what workflows wait for and which command ends it.
type Why struct {
	client.Flags
	Name string `arg:"" optional:"" name:"workflow" help:"The workflow; else all."`
}

// Run explains one workflow, or all.
func (c *Why) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	if c.Name != "" {
		person := false
		err := client.Answer(connected, "explainWorkflow", map[string]any{"workflow": c.Name},
			func(w explain.Why) error { printWhy(screen, w); return nil },
			func(w explain.Why) { person = w.NeedsPerson })
		return needsPerson(err, person)
	}
	person := false
	err = client.Answer(connected, "explainAll", nil, func(p struct{ Items []explain.Why }) error {
		for i, w := range p.Items {
			if i > 0 {
				fmt.Fprintln(screen.Out)
			}
			printWhy(screen, w)
		}
		if len(p.Items) == 0 {
			fmt.Fprintln(screen.Out, "there are no workflows; deploy one: pawl deploy FILE")
		}
		return nil
	}, func(p struct{ Items []explain.Why }) {
		person = slices.ContainsFunc(p.Items, func(w explain.Why) bool { return w.NeedsPerson })
	})
	return needsPerson(err, person)
}

// needsPerson sets the exit code of a command that has printed what needs a person.
func needsPerson(err error, person bool) error {
	if err == nil && person {
		return exit.Silent(exit.CodeNeedsPerson)
	}
	return err
}

func printWhy(screen term.Screen, w explain.Why) {
	reason := "moving"
	if w.Reason != nil {
		reason = string(*w.Reason)
	}
	fmt.Fprintf(screen.Out, "%s: %s\n", screen.Style(screen.Out).Bold(string(w.Workflow)), reason)
	parts := w.Parts
	if len(parts) == 0 {
		parts = []explain.Paragraph{{Message: w.Message, Commands: w.Commands}}
	}
	for _, part := range parts {
		if part.Message != "" {
			for _, line := range screen.Sentences(part.Message) {
				fmt.Fprintln(screen.Out, line)
			}
		}
		for _, command := range part.Commands {
			fmt.Fprintf(screen.Out, "  %s\n", term.OneLine(command, 300))
		}
	}
}
