package look

import (
	"encoding/json"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// State is `pawl state`: print the state of a workflow, now or at a revision.
type State struct {
	client.Flags
	Name string  `arg:"" name:"workflow" help:"The workflow."`
	At   *uint64 `placeholder:"REVISION" help:"As it was at this revision; else now."`
}

// Run prints the state as JSON: it is a document, with or without --json.
func (c *State) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name}
	if c.At != nil {
		params["at"] = *c.At
	}
	var raw json.RawMessage
	if err := connected.Call("getState", params, &raw); err != nil {
		return err
	}
	return screen.JSON(raw)
}
