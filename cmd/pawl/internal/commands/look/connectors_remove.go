package look

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/embeddednats"
)

// removeConnector takes a tool's own user away.
type removeConnector struct {
	Name string `arg:"" help:"The connector."`
}

// Run removes the user; after that, a tool with the shared user may serve the name again.
func (c *removeConnector) Run(screen term.Screen, conf config.Reader) error {
	dir, err := client.NATSFolder(conf)
	if err != nil {
		return err
	}
	err = embeddednats.RemoveTool(dir, c.Name)
	if errors.Is(err, embeddednats.ErrNoTool) {
		return exit.Failed("pawl connectors list shows those there are", err)
	}
	if err != nil {
		return exit.Failed("", err)
	}
	fmt.Fprintf(screen.Out, "%s has no user of its own any more\n", c.Name)
	return nil
}
