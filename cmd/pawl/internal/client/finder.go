package client

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Finder finds the engine that a command talks to.
type Finder struct {
	Ctx    context.Context
	Screen term.Screen
	Conf   config.Reader
	// ends close connections once the command is done.
	ends []func()
}

// Close ends the connections that were found.
func (f *Finder) Close() {
	for _, end := range f.ends {
		end()
	}
}

// Connect finds the engine, and refuses one that the caller has not named and that is not the engine of the
// data directory.
func (f *Finder) Connect(flags Flags) (*Connection, error) {
	c, err := f.Find(flags)
	if err == nil && c.Stranger != nil {
		return nil, c.Stranger
	}
	return c, err
}

// Find finds the engine: by --url or --nats, by their variables, by the configuration, and then as findHTTP does. It
// fails when these contradict each other or cannot be read.
func (f *Finder) Find(flags Flags) (*Connection, error) {
	file, err := f.Conf.ReadConfig()
	if err != nil {
		return nil, err
	}
	return f.FindAs(flags, file)
}

// FindAs is Find with this configuration.
func (f *Finder) FindAs(flags Flags, file config.File) (_ *Connection, err error) {
	actor := cmp.Or(flags.As, file.As, f.Conf.As())
	if err := rpc.CheckActor(actor); err != nil {
		return nil, exit.Misconfigured("give your name with --as NAME", "act as %q: %v", term.OneLine(actor, 80), err)
	}
	c := &Connection{
		Client: &rpc.Client{Operations: ops.Table(), Actor: actor},
		Ctx:    f.Ctx, Screen: f.Screen, env: f.Conf.Env, JSON: flags.JSON,
	}
	if flags.URL != "" && flags.NATS != "" {
		return nil, exit.Misconfigured("name one of them: --url URL or --nats URL", "both url and nats are set")
	}
	named := flags.Named()
	if !named {
		flags.URL, flags.NATS = file.URL, file.NATS
	}
	if flags.NATS != "" {
		if c.NATS, err = NATSLine(flags.NATS); err != nil {
			return nil, err
		}
		if err := c.authenticateNATS(named); err != nil {
			return nil, err
		}
		f.ends = append(f.ends, c.NATS.Close)
		c.Address = c.NATS.Address()
		c.silence = fmt.Sprintf("no engine answers at %s (as configured)", c.Address)
		return c, nil
	}
	place, err := findHTTP(f.Conf, named, flags.URL, file)
	if err != nil {
		return nil, err
	}
	c.URL, c.Address, c.from, c.silence = place.address, place.address, place.from, place.silence()
	c.open = place.open()
	c.guessed = place.home == "" && !place.named && !place.configured
	if c.Stranger = c.recognize(place); c.Stranger != nil {
		return c, nil // the other program is sent no request and no token
	}
	return c, c.authenticate(place)
}

// Named says that the caller has said where the engine is.
func (f Flags) Named() bool { return f.URL != "" || f.NATS != "" }

// NATSLine is the way to an engine over NATS: a URL, or @ and the file that holds it. No error repeats a part that may
// be a password.
func NATSLine(text string) (*rpc.NATSLine, error) {
	wrong := func(format string, args ...any) (*rpc.NATSLine, error) {
		return nil, exit.Misconfigured("write e.g. --nats @.pawl/nats/operator.url", "the URL of the NATS server: "+format,
			args...)
	}
	var options []nats.Option
	if path, is := strings.CutPrefix(text, "@"); is {
		content, err := os.ReadFile(path)
		if err != nil {
			return wrong("%v", err)
		}
		text = strings.TrimSpace(string(content))
		if options, err = Pinned(filepath.Dir(path)); err != nil {
			return wrong("%v", err)
		}
	}
	if !strings.Contains(text, "://") {
		text = "nats://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wrong("it is no URL")
	case u.Scheme != "nats" && u.Scheme != "tls":
		return wrong("it begins with nats or tls, not with %s", term.OneLine(u.Scheme, 40))
	case u.Hostname() == "" || u.User != nil && u.User.Username() == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "":
		return wrong("it is not user, password, host and port")
	}
	if err := config.CheckPort(u.Port()); err != nil {
		return wrong("%v", err)
	}
	return rpc.NewNATSLine(u.String(), options...)
}
