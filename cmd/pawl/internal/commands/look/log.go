package look

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Log is `pawl log`: print transitions, one per line.
type Log struct {
	client.Flags
	Follow   bool   `short:"f" help:"Go on with what is recorded from now on."`
	Workflow string `short:"w" placeholder:"NAME" help:"Only this workflow's."`
	Type     string `placeholder:"FACT,…" help:"Only transitions that hold a fact of one of these types, e.g. run.failed, or run.* for all of runs."`
	Tail     int    `placeholder:"N" help:"Begin with the newest N (20, unless --from is given)."`
	From     string `placeholder:"POSITION" help:"Begin at this position; 0 is the beginning."`
}

// tail is how many transitions are printed by default.
const tail = 20

// Run prints one transition per line.
func (c *Log) Run(ctx context.Context, engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	query := rpc.LogQuery{From: c.From, Workflow: c.Workflow, Type: c.Type, Tail: c.Tail, Follow: c.Follow}
	if query.From == "" && query.Tail == 0 {
		query.Tail = tail
	}
	rows := screen.Rows(logColumns...)
	last := ""
	for raw, err := range connected.Client.Log(ctx, query) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // the interrupt is the normal end of following
		case errors.Is(err, rpc.ErrUnreachable) && last != "":
			return &exit.Failure{Code: exit.CodeUnreachable, What: "the engine has stopped",
				Hint: "to go on once it runs again: pawl log --follow --from " + last}
		case err != nil:
			return connected.Explain(err)
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
		cells, err := logCells(raw)
		if err != nil {
			return err
		}
		if err := rows.Print(cells...); err != nil {
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

// positionAfter is the position behind a transition.
func positionAfter(raw json.RawMessage) (string, error) {
	var t struct{ Partition, Seq uint64 }
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	return fmt.Sprintf("%d:%d", t.Partition, t.Seq+1), nil
}

// logColumns are the columns of the log: position, time, workflow with its revision, actor, and facts.
var logColumns = []term.Column{
	{Title: "position"}, {Title: "time", Uncut: true, Spare: 2}, {Title: "workflow", Spare: 1}, {Title: "by", Spare: 3},
	{Title: "facts", Whole: true},
}

// logCells renders a transition for people, its facts by name. Payloads are for --json.
func logCells(raw json.RawMessage) ([]string, error) {
	var t struct {
		Partition, Seq, Revision uint64
		Workflow, Kind, At       string
		Actor                    struct{ Kind, Name string }
		Events                   []struct{ Type string }
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
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
	return []string{fmt.Sprintf("%d:%d", t.Partition, t.Seq), term.Moment(t.At),
		fmt.Sprintf("%s %d", t.Workflow, t.Revision), actorLabel(t.Actor.Kind, t.Actor.Name),
		strings.Join(order, " ")}, nil
}

// actorLabel names the actor of a transition. A person may have the same name as the engine, so every other actor has
// its kind behind the name.
func actorLabel(kind, name string) string {
	label := term.OneLine(name, 40)
	if kind != eventlog.System.Kind {
		label += " (" + term.OneLine(kind, 20) + ")"
	}
	return label
}
