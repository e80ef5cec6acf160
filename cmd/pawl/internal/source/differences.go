package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/effectdiff"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// differences is what an engine answers.
type differences struct {
	Version  eventlog.Version
	Runs     int
	Counts   map[effectdiff.Kind]int
	Items    []effectdiff.Effect
	Warnings []sandbox.Problem
	// NotCompared names what was not compared.
	NotCompared string
}

// PrintDifferences shows a person what the engine has answered to diffWorkflow.
func PrintDifferences(screen term.Screen, script Script, workflow string, answer json.RawMessage) error {
	var found differences
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	Print(screen, script, found.Warnings)
	found.print(screen, workflow)
	return nil
}

// print shows a person what is different, the newest at the bottom.
func (d *differences) print(screen term.Screen, workflow string) {
	for _, e := range slices.Backward(d.Items) {
		about := ": " + string(e.Handler)
		if call := e.After; call != nil {
			about = ": " + call.Operation + titled(call)
		} else if call := e.Before; call != nil {
			about = ": " + call.Operation + titled(call)
		}
		switch e.Kind {
		case effectdiff.Fails, effectdiff.NotReplayed:
			about = ": " + e.Error
			if e.Line > 0 {
				about += fmt.Sprintf(", at line %d", e.Line)
			}
		}
		fmt.Fprintf(screen.Out, "%s %s%s\n", said(e.Kind), e.Run, about)
		if e.Before != nil && e.After != nil && e.Before.Operation != e.After.Operation {
			fmt.Fprintf(screen.Out, "    the call: now %s, before %s\n", e.After.Operation, e.Before.Operation)
		}
		for _, field := range e.Fields {
			fmt.Fprintf(screen.Out, "    %s\n", term.Difference(field, "before", "now"))
		}
	}
	var counts []string
	for _, kind := range []effectdiff.Kind{effectdiff.Same, effectdiff.Changed, effectdiff.New, effectdiff.Gone,
		effectdiff.Fails, effectdiff.NotReplayed} {
		if n := d.Counts[kind]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, said(kind)))
		}
	}
	if d.Runs == 0 {
		fmt.Fprintf(screen.Out, "no run of %s is recorded yet\n", workflow)
		return
	}
	fmt.Fprintf(screen.Out, "%s of %s %s: %s\n", eventlog.Count(d.Runs, "recorded run"), workflow, d.Version,
		strings.Join(counts, ", "))
	if d.NotCompared != "" {
		fmt.Fprintln(screen.Out, d.NotCompared)
	}
}

func titled(call *effectdiff.Call) string {
	if call.Title == "" {
		return ""
	}
	return " (" + call.Title + ")"
}

// said is a kind of difference in words.
func said(kind effectdiff.Kind) string {
	if kind == effectdiff.NotReplayed {
		return "not replayed"
	}
	return string(kind)
}
