package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// finder finds the engine that a command talks to.
type finder struct {
	ctx    context.Context
	screen term.Screen
	conf   reader
	// ends are what is to be closed once the command is done.
	ends []func()
}

// close ends the connections that were found.
func (f *finder) close() {
	for _, end := range f.ends {
		end()
	}
}

// connection is a client with its address, and the place where that was found.
type connection struct {
	*rpc.Client
	ctx           context.Context
	screen        term.Screen
	env           func(name string) (value string, ok bool)
	json          bool
	address, from string
	// silence says that nothing answers there; open that it is no address.
	silence string
	open    bool
	// tokenless says why no token is sent, if there is something to say.
	tokenless string
	// stranger says that what answers at the address is not the engine of the data directory, if that is so.
	stranger error
}

// connect finds the engine, and refuses one that the caller has not named and that is not the engine of the
// data directory.
func (f *finder) connect(flags clientFlags) (*connection, error) {
	c, err := f.find(flags)
	if err == nil && c.stranger != nil {
		return nil, c.stranger
	}
	return c, err
}

// find finds the engine: --url or --nats, their variables, the configuration's, and then as findHTTP does.
func (f *finder) find(flags clientFlags) (*connection, error) {
	file, err := f.conf.readConfig()
	if err != nil {
		return nil, err
	}
	return f.findAs(flags, file)
}

// findAs is find with this configuration.
func (f *finder) findAs(flags clientFlags, file config) (_ *connection, err error) {
	actor := first(flags.As, file.As, f.conf.as())
	if err := rpc.CheckActor(actor); err != nil {
		return nil, exit.Misconfigured("say who you are with --as NAME", "act as %q: %v", term.OneLine(actor, 80), err)
	}
	c := &connection{
		Client: &rpc.Client{Operations: ops.Table(), Actor: actor},
		ctx:    f.ctx, screen: f.screen, env: f.conf.Env, json: flags.JSON,
	}
	if flags.URL != "" && flags.NATS != "" {
		return nil, exit.Misconfigured("name one of them: --url URL or --nats URL", "both url and nats are set")
	}
	named := flags.named()
	if !named {
		flags.URL, flags.NATS = file.URL, file.NATS
	}
	if flags.NATS != "" {
		if c.NATS, err = natsLine(flags.NATS); err != nil {
			return nil, err
		}
		if err := c.authenticateNATS(named); err != nil {
			return nil, err
		}
		f.ends = append(f.ends, c.NATS.Close)
		c.address = c.NATS.Address()
		c.silence = fmt.Sprintf("no engine answers at %s (as configured)", c.address)
		return c, nil
	}
	place, err := f.conf.findHTTP(named, flags.URL, file)
	if err != nil {
		return nil, err
	}
	c.URL, c.address, c.from, c.silence = place.address, place.address, place.from, place.silence()
	c.open = place.open()
	if c.stranger = c.recognize(place); c.stranger != nil {
		return c, nil // it is asked nothing, and told nothing
	}
	return c, c.authenticate(place)
}

// named says that the caller has said where the engine is.
func (f clientFlags) named() bool { return f.URL != "" || f.NATS != "" }

// natsLine is the way to an engine over NATS: a URL, or @ and the file that holds it. No error repeats what
// may be a password.
func natsLine(text string) (*rpc.NATSLine, error) {
	wrong := func(format string, args ...any) (*rpc.NATSLine, error) {
		return nil, exit.Misconfigured("write e.g. --nats @.pawl/nats/operator.url", "the URL of the NATS server: "+format, args...)
	}
	var options []nats.Option
	if path, is := strings.CutPrefix(text, "@"); is {
		content, err := os.ReadFile(path)
		if err != nil {
			return wrong("%v", err)
		}
		text = strings.TrimSpace(string(content))
		if options, err = pinned(filepath.Dir(path)); err != nil {
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
	case u.Hostname() == "" || u.User != nil && u.User.Username() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return wrong("it is not user, password, host and port")
	}
	if err := checkPort(u.Port()); err != nil {
		return wrong("%v", err)
	}
	return rpc.NewNATSLine(u.String(), options...)
}

// do carries out an operation.
func (c *connection) do(operation string, params map[string]any, out any) error {
	return c.explain(c.Do(c.ctx, operation, params, out))
}

// explain says where an engine that does not answer was looked for.
func (c *connection) explain(err error) error {
	if errors.Is(err, rpc.ErrUntrusted) {
		return &exit.Failure{Code: exit.CodeUnreachable, Err: err,
			Hint: "if the engine's own authority is missing, name it: SSL_CERT_FILE=CA.pem before the command (where the system keeps its own list, add it there)"}
	}
	if errors.Is(err, rpc.ErrUnreachable) {
		if c.open {
			err = nil // it was never worth a try
		}
		return &exit.Failure{
			Code: exit.CodeUnreachable, What: c.silence, Err: err,
			Hint: c.whereElse(),
		}
	}
	var p *rpc.Problem
	if errors.As(err, &p) && p.Status == http.StatusUnauthorized && c.tokenless != "" {
		return exit.Failed(p.Hint, fmt.Errorf("%w; %s", err, c.tokenless))
	}
	return err
}

// alone says, for commands that can do without an engine, that they do.
func (c *connection) alone() string {
	if c.stranger != nil {
		return "no engine of this data directory answers"
	}
	return "no engine answers"
}

func (c *connection) whereElse() string {
	if c.NATS != nil {
		return "start one: pawl up --nats-listen 127.0.0.1:4222; what to connect with is then in DATA/nats/operator.url"
	}
	return "start one: pawl up; or say where it is: --url URL, or PAWL_URL"
}

// answer carries out an operation and prints what it answers: as JSON, or as show does. Either way note
// is told of it.
func answer[T any](c *connection, operation string, params map[string]any, show func(T) error, note ...func(T)) error {
	var raw json.RawMessage
	if err := c.do(operation, params, &raw); err != nil {
		return err
	}
	if c.json && len(note) == 0 {
		return c.screen.JSON(raw)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("read the engine's answer to %s: %w", operation, err)
	}
	for _, tell := range note {
		tell(out)
	}
	if c.json {
		return c.screen.JSON(raw)
	}
	return show(out)
}
