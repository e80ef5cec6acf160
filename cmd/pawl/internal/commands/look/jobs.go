package look

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Jobs is `pawl jobs`.
type Jobs struct {
	List jobsList `cmd:"" default:"withargs" help:"List jobs."`
	Show showJob  `cmd:"" help:"Show a job with its attempts."`
}

type jobsList struct {
	listFlags
	ofWorkflow
	Topic string `help:"Only those of this topic."`
	State string `choices:"job_state" help:"Only those in this state: ${job_state}."`
	Held  string `choices:"held" help:"Only those whose event is held for this: ${held}."`
}

type showJob struct{ showEvent }

func (c *jobsList) Run(engine *client.Finder, screen term.Screen) error {
	filters := map[string]any{"topic": c.Topic, "state": c.State, "held": c.Held}
	return listWith(engine, screen, c.listFlags, "Jobs", c.ofWorkflow, filters, []term.Column{
		{Title: "topic", Field: "topic", Spare: 2}, {Title: "state", Field: "state"},
		{Title: "attempt", Field: "attemptOf", Spare: 4},
		{Title: "due", Field: "scheduledAt", Show: term.Moment, Uncut: true, Spare: 6},
		{Title: "message id", Field: "messageId", Width: 40}, {Title: "title", Field: "title", Width: 70, Spare: 3},
		{Title: "published", Field: "publishedAt", Show: term.Moment, Uncut: true, Spare: 5},
		{Title: "ended", Field: "finalizedAt", Show: term.Moment, Uncut: true, Spare: 1},
		{Title: "error", Field: "error.message", Whole: true}, {Title: "held", Field: "held.reason", Spare: 2},
	}, addAttempts)
}

// addAttempts adds to each job the number of its present attempt, as in "2 of 4".
func addAttempts(_ *client.Connection, p term.Page) {
	for _, job := range p.Items {
		job["attemptOf"] = term.Plain(job["attempt"])
		if job["maxAttempts"] != nil {
			job["attemptOf"] = fmt.Sprintf("%s of %d", term.Plain(job["attempt"]), term.Int(job["maxAttempts"])+1)
		}
	}
}

func (c *showJob) Run(engine *client.Finder, screen term.Screen) error {
	return show(engine, screen, c.Flags, "getJob", c.params())
}
