package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
)

type (
	whyCmd struct {
		clientFlags
		Name string `arg:"" optional:"" name:"workflow" help:"The workflow; else all."`
	}
	logCmd struct {
		clientFlags
		Follow   bool   `short:"f" help:"Go on with what is recorded from now on."`
		Workflow string `short:"w" placeholder:"NAME" help:"Only this workflow's."`
		From     string `placeholder:"POSITION" help:"Begin at this position; else at the beginning."`
	}
	stateCmd struct {
		clientFlags
		Name string  `arg:"" name:"workflow" help:"The workflow."`
		At   *uint64 `placeholder:"REVISION" help:"As it was at this revision; else now."`
	}
)

// Run explains one workflow, or all.
func (c *whyCmd) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	if c.Name != "" {
		attention := false
		err := answer(connected, "explainWorkflow", map[string]any{"workflow": c.Name}, func(w explain.Why) error { printWhy(screen, w); return nil },
			func(w explain.Why) { attention = w.Attention != nil })
		return needsPerson(err, attention)
	}
	attention := false
	err = answer(connected, "explainAll", nil, func(p struct{ Items []explain.Why }) error {
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
		attention = slices.ContainsFunc(p.Items, func(w explain.Why) bool { return w.Attention != nil })
	})
	return needsPerson(err, attention)
}

// needsPerson makes the exit code of a command that has said what needs attention.
func needsPerson(err error, attention bool) error {
	if err == nil && attention {
		return exit.Silent(exit.CodeNeedsPerson)
	}
	return err
}

func printWhy(screen term.Screen, w explain.Why) {
	reason := "moving"
	if w.Reason != nil {
		reason = string(*w.Reason)
	}
	fmt.Fprintf(screen.Out, "%s: %s\n%s\n", screen.Style(screen.Out).Bold(string(w.Workflow)), reason, term.OneLine(w.Message, 2000))
	for _, command := range w.Commands {
		fmt.Fprintf(screen.Out, "  %s\n", term.OneLine(command, 300))
	}
}

// Run prints one transition per line.
func (c *logCmd) Run(ctx context.Context, engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	last := ""
	for raw, err := range connected.Client.Log(ctx, c.From, c.Workflow, c.Follow) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // interrupted: that is how following ends
		case errors.Is(err, rpc.ErrUnreachable) && last != "":
			return &exit.Failure{Code: exit.CodeUnreachable, What: "the engine has stopped", Hint: "to go on once it runs again: pawl log --follow --from " + last}
		case err != nil:
			return connected.explain(err)
		}
		if last, err = positionAfter(raw); err != nil {
			return err
		}
		if c.JSON {
			var line bytes.Buffer
			if err := term.Indent(&line, raw, false); err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			if _, err := line.WriteTo(screen.Out); err != nil {
				return err
			}
			continue
		}
		line, err := logLine(raw)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(screen.Out, line); err != nil {
			return err
		}
	}
	if last == "" && !c.Follow {
		from := ""
		if c.From != "" {
			from = " from " + term.OneLine(c.From, 100) + " on"
		}
		fmt.Fprintf(screen.Err, "nothing is recorded%s\n", from)
	}
	return nil
}

// positionAfter is where to go on after a transition.
func positionAfter(raw json.RawMessage) (string, error) {
	var t struct{ Partition, Seq uint64 }
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	return fmt.Sprintf("%d:%d", t.Partition, t.Seq+1), nil
}

// logLine renders a transition for people: where, when, who, and its facts by name. Payloads are
// for --json.
func logLine(raw json.RawMessage) (string, error) {
	var t struct {
		Partition, Seq, Revision uint64
		Workflow, Kind, At       string
		Actor                    struct{ Kind, Name string }
		Events                   []struct{ Type string }
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	counted := map[string]int{}
	var order []string
	for _, e := range t.Events {
		if counted[e.Type]++; counted[e.Type] == 1 {
			order = append(order, e.Type)
		}
	}
	for i, name := range order {
		if n := counted[name]; n > 1 {
			order[i] = fmt.Sprintf("%s×%d", name, n)
		}
	}
	return fmt.Sprintf("%d:%d\t%s\t%s %d\t%s\t%s", t.Partition, t.Seq, term.Moment(t.At), t.Workflow, t.Revision,
		actorLabel(t.Actor.Kind, t.Actor.Name), strings.Join(order, " ")), nil
}

// actorLabel names who did something. Anybody may call himself what the engine is called: the engine
// alone stands without a kind.
func actorLabel(kind, name string) string {
	label := term.OneLine(name, 40)
	if kind != eventlog.System.Kind {
		label += " (" + term.OneLine(kind, 20) + ")"
	}
	return label
}

// Run prints the state as JSON: it is a document, with or without --json.
func (c *stateCmd) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name}
	if c.At != nil {
		params["at"] = *c.At
	}
	var raw json.RawMessage
	if err := connected.do("getState", params, &raw); err != nil {
		return err
	}
	return screen.JSON(raw)
}
