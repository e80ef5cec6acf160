package look

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// callConnector calls one operation outside of any workflow.
type callConnector struct {
	client.Flags
	Capability string `arg:"" name:"connector.operation" help:"The operation, e.g. files.list."`
	Params     string `arg:"" optional:"" help:"Its parameters, a JSON object."`
	Yes        bool   `short:"y" help:"Allow the call of a mutation: it changes the outside, and no workflow's log knows of it."`
}

// Run prints the result as JSON.
func (c *callConnector) Run(engine *client.Finder, screen term.Screen) error {
	name, operation, ok := strings.Cut(c.Capability, ".")
	if !ok || name == "" || operation == "" {
		return exit.Misconfigured("write e.g. files.list", "%q is no connector.operation", c.Capability)
	}
	params := map[string]any{"connector": name, "operation": operation, "mutate": c.Yes}
	if c.Params != "" {
		if !json.Valid([]byte(c.Params)) {
			return exit.Misconfigured(`quote it for your shell: '{"path": "a.txt"}'`, "the parameters are no JSON")
		}
		params["params"] = json.RawMessage(c.Params)
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := connected.Call("callConnector", params, &raw); err != nil {
		return err
	}
	var done struct {
		Outcome string
		Result  json.RawMessage
		Error   *struct{ Class, Code, Message string }
		Key     string `json:"idempotencyKey"`
	}
	if err := json.Unmarshal(raw, &done); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	if c.JSON {
		if err := screen.JSON(raw); err != nil {
			return err
		}
	} else if done.Outcome == "applied" {
		return screen.JSON(done.Result)
	}
	if done.Outcome == "applied" {
		return nil
	}
	if c.JSON {
		return exit.Silent(exit.CodeFailed)
	}
	hint, why := "", done.Outcome
	if done.Error != nil {
		why = fmt.Sprintf("%s: %s (%s, %s)", done.Outcome, done.Error.Message, done.Error.Class, done.Error.Code)
	}
	if done.Outcome == "uncertain" {
		hint = "it may or may not have happened; look at the other side before you call again (idempotency key " + done.Key +
			")"
	}
	return exit.Failed(hint, fmt.Errorf("call %s: %w", c.Capability, errors.New(why)))
}
