package look

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Events is `pawl events`.
type Events struct {
	List eventsList `cmd:"" default:"withargs" help:"List events."`
	Show showEvent  `cmd:"" help:"Show an event."`
}

type eventsList struct {
	listFlags
	ofWorkflow
	Topic  string `help:"Only those of this topic."`
	Status string `choices:"event_status" help:"Only those of this status: ${event_status}."`
	State  string `choices:"job_state" help:"Only those whose job is in this state: ${job_state}."`
	Held   string `choices:"held" help:"Only those that are held for this: ${held}."`
}

type showEvent struct {
	client.Flags
	Name      string `arg:"" name:"workflow" help:"The workflow."`
	Topic     string `arg:"" help:"The topic."`
	MessageID string `arg:"" help:"The event's message id."`
}

func (c *eventsList) Run(engine *client.Finder, screen term.Screen) error {
	filters := map[string]any{"topic": c.Topic, "status": c.Status, "state": c.State, "held": c.Held}
	return list(engine, screen, c.listFlags, "Events", c.ofWorkflow, filters, []term.Column{
		{Title: "topic", Field: "topic", Spare: 3}, {Title: "status", Field: "status"},
		{Title: "message id", Field: "messageId", Width: 40}, {Title: "title", Field: "title", Width: 70, Spare: 2},
		{Title: "published", Field: "publishedAt", Show: term.Moment, Uncut: true, Spare: 4},
		{Title: "held", Field: "held.reason", Spare: 1},
	})
}

func (c *showEvent) params() map[string]any {
	return map[string]any{"workflow": c.Name, "topic": c.Topic, "messageId": c.MessageID}
}

func (c *showEvent) Run(engine *client.Finder, screen term.Screen) error {
	return show(engine, screen, c.Flags, "getEvent", c.params())
}
