package scripts

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Diff is `pawl diff`: say what a new script would have done differently in recorded runs.
type Diff struct {
	client.Flags
	Name  string `arg:"" name:"workflow" help:"The workflow, whose runs are recorded (recordings in pawl.yaml)."`
	File  string `arg:"" type:"path" help:"The new script."`
	Last  int    `placeholder:"N" help:"Only the newest N recorded runs."`
	Since string `placeholder:"TIME" help:"Only runs of that time or later: a time as lists show it, a day, one as in RFC 3339, or how long ago, such as 90m, 12h or 7d."`
}

// Run asks the engine. The exit code is 0 also where something would be different.
func (c *Diff) Run(ctx context.Context, engine *client.Finder, screen term.Screen, with storage.Parts) error {
	script, err := source.Read(c.File)
	if err != nil {
		return err
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name, "source": string(script.Text), "filename": filepath.Base(c.File)}
	if c.Last > 0 {
		params["last"] = c.Last
	}
	if c.Since != "" {
		since, err := term.ReadMoment(c.Since, time.Now())
		if err != nil {
			return exit.Misconfigured("write e.g. --since 7d", "%v", err)
		}
		params["since"] = since.UTC().Format(time.RFC3339Nano)
	}
	var raw json.RawMessage
	if err := connected.Call("diffWorkflow", params, &raw); err != nil {
		return source.Refused(ctx, screen, with, script, err, connected.JSON)
	}
	if connected.JSON {
		return screen.JSON(raw)
	}
	return source.PrintDifferences(screen, script, c.Name, raw)
}
