package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// Connection is a client with its address, and the source of that address.
type Connection struct {
	*rpc.Client
	Ctx           context.Context
	Screen        term.Screen
	env           func(name string) (value string, ok bool)
	JSON          bool
	Address, from string
	// silence is the message when nothing answers there. open says that the configured port is 0, and that no engine
	// has written down which port it took.
	silence string
	open    bool
	// tokenless says why no token is sent; empty where one is sent, or none exists.
	tokenless string
	// guessed says that the address is only that at which an engine that is started here would listen: there is no data
	// directory here, and no address was named.
	guessed bool
	// Stranger is the error where another program than the engine of the data directory answers at the address.
	Stranger error
}

// Call carries out an operation. Errors are those that a command ends with: *[exit.Failure] or *[rpc.Problem].
func (c *Connection) Call(operation string, params map[string]any, out any) error {
	err := c.Do(c.Ctx, operation, params, out)
	var p *rpc.Problem
	if errors.As(err, &p) && p.Code == "workflow.unknown" {
		return c.near(p, params)
	}
	return c.Explain(err)
}

// near adds the name that was probably meant to the hint of an unknown workflow. The engine lists only workflows that
// the caller may see.
func (c *Connection) near(p *rpc.Problem, params map[string]any) error {
	var page struct{ Items []struct{ Name string } }
	if c.Do(c.Ctx, "listWorkflows", map[string]any{"limit": readmodel.MaxLimit}, &page) != nil {
		return p // what was asked for is answered without it
	}
	var names []string
	for _, w := range page.Items {
		names = append(names, w.Name)
	}
	if meant := similar.Meant(fmt.Sprint(params["workflow"]), names); meant != "" {
		named := *p
		named.Hint = fmt.Sprintf("%s is close to it; %s", meant, p.Hint)
		return &named
	}
	return p
}

// Explain says where an engine that does not answer was looked for.
func (c *Connection) Explain(err error) error {
	if errors.Is(err, rpc.ErrUntrusted) {
		return &exit.Failure{Code: exit.CodeUnreachable, Err: err,
			Hint: "if the engine's own authority is missing, name it: SSL_CERT_FILE=CA.pem before the command (where the " +
				"system keeps its own list, add it there)"}
	}
	if errors.Is(err, rpc.ErrUnreachable) {
		if c.open {
			err = nil // port 0 could never answer, so the error of the attempt says nothing
		}
		return &exit.Failure{
			Code: exit.CodeUnreachable, What: c.silence, Err: c.without(err),
			Hint: c.whereElse(),
		}
	}
	if c.Foreign(err) {
		return exit.Failed("run this in the folder where that engine was started, or name its data directory: --data DIR; "+
			"or start one here: pawl up",
			fmt.Errorf("there is no data directory here, and the engine at %s (%s) asks for a token", c.Address, c.from))
	}
	var p *rpc.Problem
	if errors.As(err, &p) && p.Status == http.StatusUnauthorized && c.tokenless != "" {
		return exit.Failed(p.Hint, fmt.Errorf("%w; %s", err, c.tokenless))
	}
	return err
}

// Foreign says that an engine has refused the caller because it is not an engine of this folder: its address was only
// guessed.
func (c *Connection) Foreign(err error) bool {
	var p *rpc.Problem
	return c.guessed && c.tokenless == "" && errors.As(err, &p) && p.Status == http.StatusUnauthorized
}

// Alone is the message of a command that goes on without an engine. err is the error of the attempt to ask one.
func (c *Connection) Alone(err error) string {
	switch {
	case c.Stranger != nil:
		return "no engine of this data directory answers"
	case c.Foreign(err):
		return "no engine of this folder answers"
	}
	return "no engine answers"
}

func (c *Connection) whereElse() string {
	if c.NATS != nil {
		return "start one: pawl up --nats-listen 127.0.0.1:4222; what to connect with is then in DATA/nats/operator.url"
	}
	return exit.StartOne
}

// Answer carries out an operation and prints its answer, as JSON or by show. In both cases it calls note with the
// answer.
func Answer[T any](c *Connection, operation string, params map[string]any, show func(T) error, note ...func(T)) error {
	var raw json.RawMessage
	if err := c.Call(operation, params, &raw); err != nil {
		return err
	}
	if c.JSON && len(note) == 0 {
		return c.Screen.JSON(raw)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("read the engine's answer to %s: %w", operation, err)
	}
	for _, tell := range note {
		tell(out)
	}
	if c.JSON {
		return c.Screen.JSON(raw)
	}
	return show(out)
}

// shortened is an error with a text that leaves out the part which stands before it already.
type shortened struct {
	error
	text string
}

// Error is the shorter text.
func (s shortened) Error() string { return s.text }

// Unwrap is the whole error.
func (s shortened) Unwrap() error { return s.error }

// without is the error without the words that no engine is reachable at the address.
func (c *Connection) without(err error) error {
	if err == nil {
		return nil
	}
	if text, is := strings.CutPrefix(err.Error(), rpc.ErrUnreachable.Error()+" at "+c.Address+": "); is {
		return shortened{err, text}
	}
	return err
}
