package look

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

// Mutations is `pawl mutations`.
type Mutations struct {
	List mutationsList `cmd:"" default:"withargs" help:"List mutations."`
	Show showMutation  `cmd:"" help:"Show a mutation with its parameters and its result."`
}

type mutationsList struct {
	listFlags
	ofWorkflow
	Status string `choices:"mutation_status" help:"Only those of this status: ${mutation_status}."`
	Held   string `choices:"mutation_held" help:"Only those that keep their run waiting for this: ${mutation_held}."`
}

type showMutation struct {
	client.Flags
	Mutation string `arg:"" help:"The mutation."`
}

func (c *mutationsList) Run(engine *client.Finder, screen term.Screen) error {
	filters := map[string]any{"status": c.Status, "held": c.Held}
	return listWith(engine, screen, c.listFlags, "Mutations", c.ofWorkflow, filters,
		[]term.Column{
			{Title: "mutation", Field: "id"}, {Title: "workflow", Field: "workflow", Spare: 3},
			{Title: "connector", Field: "connector", Spare: 4}, {Title: "operation", Field: "operation", Spare: 2},
			{Title: "status", Field: "status"}, {Title: "title", Field: "uiTitle", Width: 50, Spare: 1},
			{Title: "result", Field: "outcome", Whole: true},
			{Title: "started", Field: "startedAt", Instead: "requestedAt", Show: term.Moment, Uncut: true, Spare: 5},
			{Title: "about", Field: "about", Width: 50, Spare: 6},
		}, func(c *client.Connection, p term.Page) { addOutcome(c, p); addAbout(c, p) })
}

// maxResult bounds how much of a mutation's result a list shows, in characters. The text of a failure is never cut.
const maxResult = 400

// addOutcome adds the outcome to each mutation: its result, or why there is none.
func addOutcome(_ *client.Connection, p term.Page) {
	for _, m := range p.Items {
		m["outcome"] = term.At(m, "error.message")
		switch how, _ := m["resolvedBy"].(string); {
		case m["result"] != nil:
			m["outcome"] = term.OneLine(term.Plain(m["result"]), maxResult)
		case how == eventlog.ResolvedByUserReject && m["error"] != nil: // withdrawn by an archive: its error says so
		case ended[how] != "":
			m["outcome"] = ended[how] + decidedBy(m)
		}
	}
}

// ended says how a person has ended a mutation that was not applied.
var ended = map[string]string{
	eventlog.ResolvedByUserReject: "rejected", eventlog.ResolvedByUserSkip: "skipped",
	eventlog.ResolvedByUserFailed: "said not to have happened",
}

// decidedBy names the person who has commented on the decision. Without a comment it is " by a person": only the log
// has the name then.
func decidedBy(m map[string]any) string {
	text, _ := term.At(m, "comment.text").(string)
	if text == "" || term.At(m, "comment.at") != m["settledAt"] {
		return " by a person"
	}
	by, _ := term.At(m, "comment.by.name").(string)
	return " by " + by + ": " + term.OneLine(text, maxResult)
}

func (c *showMutation) Run(engine *client.Finder, screen term.Screen) error {
	return show(engine, screen, c.Flags, "getMutation", map[string]any{"mutation": c.Mutation})
}

// addAbout adds the events to each run or mutation: the first by its title, and how many more there are.
func addAbout(_ *client.Connection, p term.Page) {
	for _, run := range p.Items {
		events, _ := run["events"].([]any)
		if len(events) == 0 {
			continue
		}
		id := term.Plain(term.At(events[0], "messageId"))
		about := term.Plain(term.At(events[0], "topic")) + " " + id
		if title := term.Plain(term.At(events[0], "title")); title != id && title != term.None {
			about += " (" + title + ")"
		}
		if n := term.Int(run["eventCount"]); n > 1 {
			about += fmt.Sprintf(" and %d more", n-1)
		}
		run["about"] = about
	}
}
