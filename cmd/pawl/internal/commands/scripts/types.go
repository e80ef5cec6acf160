package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/typings"
	"github.com/pawl-run/pawl/engine/connector/openapi"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Types is `pawl types`: it writes the declarations of scripts, and of what they can call, for editors.
type Types struct {
	client.Flags
	Dir string `arg:"" optional:"" name:"dir" type:"path" help:"Write pawl.d.ts into this folder, and a tsconfig.json if it has none. Without it the types are printed."`
}

// Run asks a running engine for its connectors, tools included, and adds those that are built in.
func (c *Types) Run(ctx context.Context, engine *client.Finder, screen term.Screen) error {
	file, err := engine.Conf.ReadConfig()
	if err != nil {
		return err
	}
	connected, err := engine.FindAs(c.Flags, file)
	if err != nil {
		return err
	}
	var known struct{ Items []typings.Connector }
	if err = connected.Stranger; err == nil {
		err = connected.Do(ctx, "listConnectors", nil, &known)
	}
	var described map[string]openapi.Config
	switch {
	case connected.Stranger != nil, connected.Foreign(err), errors.Is(err, rpc.ErrUnreachable) && !c.Named():
		described = file.Described()
		fmt.Fprintf(screen.Err, "%s: %s are written; the tools on NATS are added when an engine runs "+
			"that knows them\n", connected.Alone(err), knownAlone(file))
		sayServers(screen, file)
	case err != nil:
		return connected.Explain(err)
	}
	declarations, err := builtin.Declare(known.Items, described)
	if err != nil {
		return exit.Failed("", err)
	}
	return c.print(screen, declarations)
}

// print writes the declarations into the folder, or prints them.
func (c *Types) print(screen term.Screen, declarations string) error {
	if c.Dir == "" {
		if c.JSON {
			document, err := json.Marshal(map[string]string{typings.File: declarations})
			if err != nil {
				return fmt.Errorf("print the types: %w", err)
			}
			return screen.JSON(document)
		}
		_, err := io.WriteString(screen.Out, declarations)
		return err
	}
	written, err := typings.Write(c.Dir, declarations)
	var foreign *typings.ForeignError
	switch {
	case errors.As(err, &foreign):
		return exit.Failed("move or rename it, then run the command again", err)
	case errors.Is(err, fs.ErrNotExist):
		return exit.Misconfigured("name a folder that is there, e.g. pawl types .", "%v", err)
	case err != nil:
		return exit.Failed("", err)
	}
	if c.JSON {
		document, err := json.Marshal(map[string][]string{"written": written})
		if err != nil {
			return fmt.Errorf("print what was written: %w", err)
		}
		return screen.JSON(document)
	}
	for _, path := range written {
		fmt.Fprintf(screen.Out, "%s\n", term.Path(path))
	}
	return nil
}
