package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/ops"
)

// connection is a client with the place where its address was found.
type connection struct {
	*ops.Client
	app  *app
	json bool
	from string
}

// connect finds the engine: --url or PAWL_URL, the configuration, DATA/http.url, the default address.
func (a *app) connect(flags clientFlags) (*connection, error) {
	file, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	address, from := first(flags.URL, file.URL), "as configured"
	if address == "" {
		path := filepath.Join(first(a.common.Data, file.Data, defaultData), urlFile)
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			address, from = strings.TrimSpace(string(text)), "from "+shown(path)
		case errors.Is(err, fs.ErrNotExist):
			address, from = "http://"+defaultHTTP, "the default address"
		default:
			return nil, failed("", fmt.Errorf("find the engine: %w", err))
		}
	}
	if address, err = engineURL(address, from); err != nil {
		return nil, err
	}
	token, _ := a.env("PAWL_TOKEN")
	actor := first(flags.As, file.As, a.as())
	if err := ops.CheckActor(actor); err != nil {
		return nil, misconfigured("say who you are with --as NAME", "act as %q: %v", oneLine(actor, 80), err)
	}
	return &connection{
		Client: &ops.Client{URL: address, Token: token, Actor: actor},
		app:    a, json: flags.JSON, from: from,
	}, nil
}

// engineURL completes the address of an engine, http unless it says otherwise. No error repeats what
// may be a password.
func engineURL(text, from string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	wrong := func(format string, args ...any) (string, error) {
		return "", misconfigured("write e.g. --url http://127.0.0.1:7070", "the engine's address, "+from+": "+format, args...)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wrong("it is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong("commands reach an engine over http or https, not over %s", u.Scheme)
	case u.User != nil:
		return wrong("a user and a password say nothing to an engine; its token is taken from PAWL_TOKEN")
	case u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return wrong("%q is not host and port", oneLine(text, 200))
	}
	if err := checkPort(u.Port()); err != nil {
		return wrong("%v", err)
	}
	return text, nil
}

// as is the name that the caller claims when nothing else is said.
func (a *app) as() string {
	for _, name := range []string{"PAWL_AS", "USER", "USERNAME"} {
		if value, ok := a.env(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// do carries out an operation.
func (c *connection) do(operation string, params map[string]any, out any) error {
	return c.explain(c.Do(c.app.ctx, operation, params, out))
}

// explain says where an engine that does not answer was looked for.
func (c *connection) explain(err error) error {
	if errors.Is(err, ops.ErrUntrusted) {
		return &failure{code: exitUnreachable, err: err,
			hint: "if the engine's own authority is missing, name it: SSL_CERT_FILE=CA.pem before the command (where the system keeps its own list, add it there)"}
	}
	if errors.Is(err, ops.ErrUnreachable) {
		return &failure{
			code: exitUnreachable, what: fmt.Sprintf("no engine answers at %s (%s)", c.URL, c.from), err: err,
			hint: "start one: pawl up; or say where it is: --url URL, or PAWL_URL",
		}
	}
	return err
}

// answer carries out an operation and prints what it answers: as JSON, or as show does.
func answer[T any](c *connection, operation string, params map[string]any, show func(T) error) error {
	var raw json.RawMessage
	if err := c.do(operation, params, &raw); err != nil {
		return err
	}
	if c.json {
		return c.app.printJSON(raw)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("read the engine's answer to %s: %w", operation, err)
	}
	return show(out)
}
