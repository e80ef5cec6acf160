package look

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Mutations struct {
	List listMutations `cmd:"" default:"withargs" help:"List mutations."`
	Show showMutation  `cmd:"" help:"Show a mutation with its parameters and its result."`
}

type listMutations struct {
	listFlags
	ofWorkflow
	Status string `help:"Only those of this status: ${mutation_status}."`
}

type showMutation struct {
	client.Flags
	Mutation string `arg:"" help:"The mutation."`
}

func (c *listMutations) Run(engine *client.Finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Mutations", c.Workflow, map[string]string{"status": c.Status}, []term.Column{
		{Title: "mutation", Field: "id"}, {Title: "workflow", Field: "workflow"}, {Title: "connector", Field: "connector"},
		{Title: "operation", Field: "operation"}, {Title: "status", Field: "status"}, {Title: "title", Field: "uiTitle", Width: 50},
		{Title: "result", Field: "result", Instead: "error.message", Width: 30}, {Title: "started", Field: "startedAt", Show: term.Moment},
	})
}

func (c *showMutation) Run(engine *client.Finder, screen term.Screen) error {
	return show(engine, screen, c.Flags, "getMutation", map[string]any{"mutation": c.Mutation})
}
