package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/tools"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/ops"
)

// addConnector gives a tool a user of its own on the data directory's NATS listener.
type addConnector struct {
	Name string `arg:"" help:"The connector, which is the name of the tool's service on NATS."`
}

// admitTime bounds how long a running engine may take to admit a new tool.
const admitTime = 10 * time.Second

// Run prints the URL, alone, so that a program can read it.
func (c *addConnector) Run(ctx context.Context, engine *client.Finder, screen term.Screen, conf config.Reader) error {
	if err := connector.ValidateName(c.Name); err != nil {
		return exit.Misconfigured("", "%v", err)
	}
	if _, ours := builtin.Advice(c.Name); ours {
		return exit.Misconfigured("give the tool another name", "%s is a connector of this program, which no tool replaces",
			c.Name)
	}
	dir, err := client.NATSFolder(conf)
	if err != nil {
		return err
	}
	address, err := natsListener(conf, dir)
	if err != nil {
		return err
	}
	text, err := embeddednats.AddTool(dir, c.Name, address)
	switch file := term.Path(embeddednats.ToolURLFile(dir, c.Name)); {
	case errors.Is(err, embeddednats.ErrToolExists):
		return exit.Failed("its URL is in "+file+"; for another password: pawl connectors remove "+
			c.Name+", then add it again", err)
	case err != nil:
		return exit.Failed("", err)
	default:
		fmt.Fprintf(screen.Err, "pawl: the tool %s connects with the URL in %s, which holds its password\n", c.Name, file)
	}
	if _, err := os.Stat(filepath.Join(dir, datadir.NATSCaller+".url")); err != nil {
		fmt.Fprintln(screen.Err,
			"pawl: no engine with a NATS listener runs on this data directory now; the next one lets the tool in: "+
				"pawl up --nats-listen 127.0.0.1:4222")
	} else if err := admitted(ctx, engine, conf, c.Name); err != nil {
		fmt.Fprintf(screen.Err, "pawl: warning: the engine does not say that it lets the tool in yet: %v\n", err)
	}
	fmt.Fprintln(screen.Out, text)
	return nil
}

// natsListener is the address of the NATS listener: the one that an engine has written down, or the one that the
// configuration names.
func natsListener(conf config.Reader, dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, embeddednats.Connector+".url"))
	if err == nil {
		if u, err := url.Parse(strings.TrimSpace(string(text))); err == nil {
			u.User = nil
			return u.String(), nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", exit.Failed("", err)
	}
	file, err := conf.ReadConfig()
	if err != nil {
		return "", err
	}
	listen, _ := conf.Env("PAWL_NATS_LISTEN")
	if _, port, err := net.SplitHostPort(cmp.Or(listen, file.NATSListen)); err == nil && port != "0" {
		return "nats://127.0.0.1:" + port, nil // the engine puts the whole address there when it starts
	}
	return "", exit.Failed("start an engine on this data directory once with a NATS listener: "+
		"pawl up --nats-listen 127.0.0.1:4222",
		errors.New("no engine has listened for NATS here, so there is no address to connect to"))
}

// admitted waits until the running engine admits the tool. It asks the engine and does not try the connection, since a
// connection that comes too early is an error in the engine's log.
func admitted(ctx context.Context, engine *client.Finder, conf config.Reader, name string) error {
	file, err := conf.ReadConfig()
	if err != nil {
		return err
	}
	// The engine of the data directory is asked, also where other commands ask another one.
	file.URL, file.NATS = "", ""
	connected, err := engine.FindAs(client.Flags{}, file)
	if err != nil {
		return err
	}
	if connected.Stranger != nil {
		return connected.Stranger
	}
	ctx, cancel := context.WithTimeout(ctx, admitTime)
	defer cancel()
	for {
		var known struct{ Users []ops.ToolUser }
		if err := connected.Do(ctx, "listConnectors", nil, &known); err != nil {
			return connected.Explain(err)
		}
		if slices.ContainsFunc(known.Users, func(u ops.ToolUser) bool { return u.Connector == name }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not within %s", admitTime)
		case <-time.After(tools.Interval / 10):
		}
	}
}

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
