package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/ops"
)

// connection is a client with its address, and the place where that was found.
type connection struct {
	*ops.Client
	app           *app
	json          bool
	address, from string
	// tokenless says why no token is sent, if there is something to say.
	tokenless string
}

// connect finds the engine: --url or --nats, their variables, the configuration, DATA/http.url, the
// default address.
func (a *app) connect(flags clientFlags) (*connection, error) {
	file, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	actor := first(flags.As, file.As, a.as())
	if err := ops.CheckActor(actor); err != nil {
		return nil, misconfigured("say who you are with --as NAME", "act as %q: %v", oneLine(actor, 80), err)
	}
	c := &connection{Client: &ops.Client{Actor: actor}, app: a, json: flags.JSON, from: "as configured"}
	if flags.URL != "" && flags.NATS != "" {
		return nil, misconfigured("name one of them: --url URL or --nats URL", "both url and nats are set")
	}
	named := flags.named()
	if !named {
		flags.URL, flags.NATS = file.URL, file.NATS
	}
	if flags.NATS != "" {
		if c.NATS, err = natsLine(flags.NATS); err != nil {
			return nil, err
		}
		if err := c.authenticateNATS(flags.NATS, named); err != nil {
			return nil, err
		}
		a.atEnd(c.NATS.Close)
		c.address = c.NATS.Address()
		return c, nil
	}
	place, err := a.findHTTP(named, flags.URL, file)
	if err != nil {
		return nil, err
	}
	c.URL, c.address, c.from = place.address, place.address, place.from
	return c, c.authenticate(place)
}

// named says that the caller has said where the engine is.
func (f clientFlags) named() bool { return f.URL != "" || f.NATS != "" }

// httpPlace is where an engine answers over HTTP, and how that is known.
type httpPlace struct {
	address, from string
	url           *url.URL
	// named says that the caller has named the address, by a flag or a variable.
	named bool
	// data is the data directory of the engine that has written the address down, empty if none has.
	data string
}

// findHTTP is the address over HTTP, the one that was given or the one that an engine has written down.
func (a *app) findHTTP(named bool, address string, file config) (httpPlace, error) {
	place := httpPlace{named: named, address: address, from: "as configured"}
	data, written, err := a.writtenDown(file)
	if err != nil {
		return place, err
	}
	switch {
	case address == "" && written == "":
		place.address, place.from = "http://"+defaultHTTP, "the default address"
	case address == "":
		place.address, place.from, place.data = written, "from "+shown(filepath.Join(data, urlFile)), data
	}
	if place.address, err = engineURL(place.address, place.from); err != nil {
		return place, err
	}
	if place.url, err = url.Parse(place.address); err != nil {
		return place, err // engineURL has parsed it
	}
	if written != "" && strings.TrimSuffix(place.address, "/") == strings.TrimSuffix(written, "/") {
		place.data = data
	}
	return place, nil
}

// writtenDown is the address that an engine has written into its data directory, and the directory:
// the one that is configured, the one here, or that of an engine that serves in the background.
func (a *app) writtenDown(file config) (data, address string, err error) {
	data = first(a.common.Data, file.Data, defaultData)
	if _, err := os.Stat(data); data == defaultData && errors.Is(err, fs.ErrNotExist) {
		data = stateHome(a.env)
	}
	text, err := os.ReadFile(filepath.Join(data, urlFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return data, "", nil
	case err != nil:
		return data, "", failed("", fmt.Errorf("find the engine: %w", err))
	}
	return data, strings.TrimSpace(string(text)), nil
}

// natsLine is the way to an engine over NATS: a URL, or @ and the file that holds it. No error repeats what
// may be a password.
func natsLine(text string) (*ops.NATSLine, error) {
	wrong := func(format string, args ...any) (*ops.NATSLine, error) {
		return nil, misconfigured("write e.g. --nats @.pawl/nats/operator.url", "the URL of the NATS server: "+format, args...)
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
		return wrong("it begins with nats or tls, not with %s", oneLine(u.Scheme, 40))
	case u.Hostname() == "" || u.User != nil && u.User.Username() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return wrong("it is not user, password, host and port")
	}
	if err := checkPort(u.Port()); err != nil {
		return wrong("%v", err)
	}
	return ops.NewNATSLine(u.String(), options...)
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
	case u.Scheme == "nats" || u.Scheme == "tls":
		return "", misconfigured("write it as --nats URL", "the engine's address, %s: --url is for http or https, not for %s", from, u.Scheme)
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong("commands reach an engine over http or https, not over %s", u.Scheme)
	case u.User != nil:
		return wrong("a user and a password say nothing to an engine; its token is taken from PAWL_TOKEN, or from the engine's data directory")
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
			code: exitUnreachable, what: fmt.Sprintf("no engine answers at %s (%s)", c.address, c.from), err: err,
			hint: c.whereElse(),
		}
	}
	var p *ops.Problem
	if errors.As(err, &p) && p.Status == http.StatusUnauthorized && c.tokenless != "" {
		return failed(p.Hint, fmt.Errorf("%w; %s", err, c.tokenless))
	}
	return err
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
		return c.app.printJSON(raw)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("read the engine's answer to %s: %w", operation, err)
	}
	for _, tell := range note {
		tell(out)
	}
	if c.json {
		return c.app.printJSON(raw)
	}
	return show(out)
}
