package look

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Sessions is `pawl sessions`.
type Sessions struct {
	List sessionsList `cmd:"" default:"withargs" help:"List sessions."`
	Show showSession  `cmd:"" help:"Show a session."`
}

type sessionsList struct {
	listFlags
	ofWorkflow
	Status string `name:"result" aliases:"status" choices:"session_result" help:"Only those with this result: ${session_result}."`
}

type showSession struct {
	client.Flags
	Name    string `arg:"" name:"workflow" help:"The workflow."`
	Session string `arg:"" help:"The session, as pawl sessions list shows it."`
}

func (c *sessionsList) Run(engine *client.Finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Sessions", c.ofWorkflow, map[string]any{"status": c.Status},
		[]term.Column{
			{Title: "session", Field: "id"}, {Title: "result", Field: "result"}, {Title: "runs", Field: "runs", Spare: 2},
			{Title: "started", Field: "startedAt", Show: term.Moment, Uncut: true, Spare: 1},
			{Title: "ended", Field: "endedAt", Show: term.Moment, Uncut: true, Spare: 3},
		})
}

func (c *showSession) Run(engine *client.Finder, screen term.Screen) error {
	return show(engine, screen, c.Flags, "getSession", map[string]any{"workflow": c.Name, "session": c.Session})
}
