package look

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/hook"
)

// Hooks is `pawl hooks`: list the addresses that other systems post to, and try them.
type Hooks struct {
	List hooksList `cmd:"" default:"withargs" help:"List the addresses that other systems post to, and whether their requests can be verified."`
	Test testHook  `cmd:"" help:"Send a sample to a hook, signed as its sender would, and show the event."`
}

type hooksList struct {
	client.Flags
	Workflow string `short:"w" placeholder:"NAME" help:"Only the hooks of this workflow, each with a signed command that sends a sample."`
}

type testHook struct {
	client.Flags
	Workflow string `arg:"" help:"The workflow."`
	Hook     string `arg:"" help:"The hook."`
	Body     string `arg:"" optional:"" name:"body|@file|-" help:"The body of the request; without one it is made up. @FILE reads it from a file, - from standard input."`
	Type     string `name:"content-type" placeholder:"TYPE" help:"The type of the body (application/json)."`
	Print    bool   `help:"Print a signed command that sends the sample, and send nothing."`
}

type listedHook struct{ Workflow, Name, URL, Topic, Verify, Secret, State string }

// Run lists one hook per line, or those of one workflow with a command that tries each.
func (c *hooksList) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{}
	if c.Workflow != "" {
		params["workflow"] = c.Workflow
	}
	return client.Answer(connected, "listHooks", params, func(list struct{ Items []listedHook }) error {
		page := term.Page{}
		for _, h := range list.Items {
			page.Items = append([]map[string]any{{"hook": h.Workflow + "/" + h.Name, "topic": h.Topic,
				"verify": strings.TrimSpace(h.Verify + " " + h.Secret), "url": h.URL}}, page.Items...)
		}
		screen.Table(page, []term.Column{
			{Title: "hook", Field: "hook"}, {Title: "topic", Field: "topic"}, {Title: "verified by", Field: "verify"},
			{Title: "url", Field: "url", Whole: true},
		}, "no workflow that runs has a hook: a script declares one with hooks: { name: Pawl.hook({ … }) }")
		for _, h := range list.Items {
			sayUnready(screen, h)
		}
		if c.Workflow == "" {
			return nil
		}
		for _, h := range list.Items {
			if h.State != "ready" {
				continue
			}
			var sample struct{ Curl, Variable string }
			named := map[string]any{"workflow": h.Workflow, "hook": h.Name}
			if err := connected.Call("testHook", named, &sample); err != nil {
				return err
			}
			fmt.Fprintf(screen.Out, "\n# %s\n", h.Name)
			sayVariable(screen.Out, h.Workflow, h.Name, sample.Variable)
			fmt.Fprintln(screen.Out, shown(sample.Curl))
		}
		return nil
	})
}

// sayVariable prints, as a comment of a shell, where a command takes the token from; nothing for one without a token.
func sayVariable(out io.Writer, workflow, hook, variable string) {
	if variable != "" {
		fmt.Fprintf(out, "# put the value of the secret %s into the environment variable %s first; without it: "+
			"pawl hooks test %s %s\n", term.OneLine(variable, 100), term.OneLine(variable, 100), term.OneLine(workflow, 100),
			term.OneLine(hook, 100))
	}
}

// sayUnready prints why a hook refuses all requests.
func sayUnready(screen term.Screen, h listedHook) {
	name := term.OneLine(h.Workflow+"/"+h.Name, 200)
	switch h.State {
	case "secretUnknown":
		fmt.Fprintf(screen.Err, "%s refuses all requests: the secret %s is not configured; add it under secrets: in "+
			"pawl.yaml and start the engine again\n", name, term.OneLine(h.Secret, 100))
	case "secretUnusable":
		fmt.Fprintf(screen.Err, "%s refuses all requests: the value of the secret %s is not written as the scheme wants; "+
			"correct it and start the engine again\n", name, term.OneLine(h.Secret, 100))
	case "secretNotGranted":
		fmt.Fprintf(screen.Err, "%s refuses all requests until it may use its secret: pawl grants %s secret.%s=allow\n", name,
			term.OneLine(h.Workflow, 100), term.OneLine(h.Secret, 100))
	}
}

// shown is a command of several lines without characters that control a terminal. A command that has none of them keeps
// its bytes, which are signed.
func shown(command string) string {
	if !strings.ContainsFunc(command, func(r rune) bool {
		return r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}) {
		return command
	}
	lines := strings.Split(command, "\n")
	for i := range lines {
		lines[i] = term.OneLine(lines[i], hook.MaxBody)
	}
	return strings.Join(lines, "\n")
}

// Run sends a sample and shows the event that it became.
func (c *testHook) Run(engine *client.Finder, screen term.Screen) error {
	params := map[string]any{"workflow": c.Workflow, "hook": c.Hook, "send": !c.Print, "contentType": c.Type}
	if c.Body != "" {
		body, err := c.read(screen)
		if err != nil {
			return err
		}
		if !utf8.Valid(body) {
			return exit.Misconfigured("send bytes with the command that --print shows, from a file", "the body is not UTF-8")
		}
		params["body"] = string(body)
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := connected.Call("testHook", params, &raw); err != nil {
		return err
	}
	var sample struct {
		URL, Curl, Variable string
		Sent                *struct {
			Status    int
			Body      string
			Topic     string
			MessageID *string
		}
	}
	if err := json.Unmarshal(raw, &sample); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	if c.JSON {
		if err := screen.JSON(raw); err != nil {
			return err
		}
	}
	switch {
	case c.Print && !c.JSON:
		sayVariable(screen.Err, c.Workflow, c.Hook, sample.Variable)
		fmt.Fprintf(screen.Out, "%s\n", shown(sample.Curl))
		return nil
	case sample.Sent == nil:
		return nil
	case !c.JSON:
		fmt.Fprintf(screen.Out, "%s answered %d %s\n", term.OneLine(sample.URL, 300), sample.Sent.Status,
			term.OneLine(sample.Sent.Body, 2000))
	}
	if sample.Sent.Status >= 300 {
		return exit.Silent(exit.CodeFailed)
	}
	if sample.Sent.MessageID == nil || c.JSON {
		return nil // a challenge is no event
	}
	var event struct {
		Title   string
		Status  string
		Payload json.RawMessage
	}
	if err := connected.Call("getEvent", map[string]any{"workflow": c.Workflow, "topic": sample.Sent.Topic,
		"messageId": *sample.Sent.MessageID}, &event); err != nil {
		return err
	}
	fmt.Fprintf(screen.Out, "topic    %s\nid       %s\ntitle    %s\nstatus   %s\npayload  %s\n",
		term.OneLine(sample.Sent.Topic, 200), term.OneLine(*sample.Sent.MessageID, 600), term.OneLine(event.Title, 300),
		event.Status, term.OneLine(string(event.Payload), 4000))
	return nil
}

// read reads the body that the command line names.
func (c *testHook) read(screen term.Screen) ([]byte, error) {
	path, named := strings.CutPrefix(c.Body, "@")
	var from io.Reader = strings.NewReader(c.Body)
	switch {
	case c.Body == "-":
		from = screen.In
	case named:
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.Misconfigured("", "read the body: %v", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(io.LimitReader(from, hook.MaxBody+1)); err != nil {
		return nil, exit.Misconfigured("", "read the body: %v", err)
	}
	if body.Len() > hook.MaxBody {
		return nil, exit.Misconfigured("send less", "the body has more than %d bytes", hook.MaxBody)
	}
	return body.Bytes(), nil
}
