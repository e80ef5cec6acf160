package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

// workflowAction is an operator's action on a workflow.
type workflowAction struct {
	clientFlags
	Name string `arg:"" name:"workflow" help:"The workflow."`
}

type (
	pauseCmd   struct{ workflowAction }
	resumeCmd  struct{ workflowAction }
	archiveCmd struct {
		workflowAction
		Yes bool `short:"y" help:"Do not ask at a terminal before the workflow is stopped for good."`
	}
)

// Help says what a pause does not stop: nobody should think that nothing leaves any more.
func (*pauseCmd) Help() string {
	return "No further run begins, and no call is approved. A run that has already begun goes on to its end, also one " +
		"that is still choosing its events: it may yet make its one call, then it publishes. What became of a call that has " +
		"left is still found out. To stop a run before its call, skip its event (pawl skip), or archive the workflow for good."
}

func (c *pauseCmd) Run(engine *finder, screen term.Screen) error {
	return c.act(engine, screen, "pauseWorkflow")
}
func (c *resumeCmd) Run(engine *finder, screen term.Screen) error {
	return c.act(engine, screen, "resumeWorkflow")
}

// Run asks a person first: nothing brings an archived workflow back. A program that says so has meant it.
func (c *archiveCmd) Run(engine *finder, screen term.Screen) error {
	if !c.Yes && term.IsTerminal(screen.In) {
		if err := confirm(screen, fmt.Sprintf("archive %s for good (its history stays, its name cannot be used again)?", c.Name)); err != nil {
			return err
		}
	}
	return c.act(engine, screen, "archiveWorkflow")
}

func (c *workflowAction) act(engine *finder, screen term.Screen, operation string) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	return answer(connected, operation, map[string]any{"workflow": c.Name}, func(w standing) error {
		fmt.Fprintln(screen.Out, w)
		return nil
	})
}

// standing is how a workflow stands.
type standing struct {
	Name, Status string
	UserPaused   bool
	Blocked      *struct{ Reason, Message string }
	Maintenance  bool
}

func (w standing) String() string {
	text := w.Name + " is " + w.Status
	if w.Blocked != nil {
		text += fmt.Sprintf(", held (%s): %s", w.Blocked.Reason, term.OneLine(w.Blocked.Message, 300))
	}
	if w.Maintenance && w.Status == "active" { // nothing but a script ends that (F9)
		text += fmt.Sprintf(", but stays in maintenance: nothing of it runs until its script is repaired (pawl repair %s FILE) or deployed, also unchanged (pawl deploy FILE)", w.Name)
	}
	return text
}

// grantsCmd shows or changes grants. Named capabilities are changed, the others stay.
type grantsCmd struct {
	clientFlags
	Name   string   `arg:"" name:"workflow" help:"The workflow."`
	Change []string `arg:"" optional:"" name:"capability=grant" help:"Changes, e.g. csv.appendRow=allow, http.post@api.example.com=allow, http.*=ask, *=deny; CAPABILITY= takes one out."`
}

// Run shows the grants, after changing those that are named.
func (c *grantsCmd) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	show := func(g grants) error { printGrants(screen, g); return nil }
	if len(c.Change) == 0 {
		return answer(connected, "getGrants", map[string]any{"workflow": c.Name}, show)
	}
	changes := map[string]*eventlog.Grant{}
	for _, change := range c.Change {
		capability, text, ok := strings.Cut(change, "=")
		if !ok || capability == "" {
			return exit.Misconfigured("write e.g. csv.appendRow=allow", "%q is no change of a grant", change)
		}
		changes[capability] = nil
		if grant := eventlog.Grant(text); grant != "" {
			changes[capability] = &grant
		}
	}
	return answer(connected, "changeGrants", map[string]any{"workflow": c.Name, "grants": changes}, show)
}

type grants struct {
	Grants     map[string]eventlog.Grant
	Operations []grantedOperation
}

type grantedOperation struct {
	Capability, Kind string
	Grant            eventlog.Grant
}

func printGrants(screen term.Screen, g grants) {
	p := term.Page{}
	for _, capability := range slices.Backward(slices.Sorted(maps.Keys(g.Grants))) {
		if strings.Contains(capability, "@") && !slices.Contains(g.unused(), capability) {
			p.Items = append(p.Items, map[string]any{"capability": capability, "kind": "", "grant": string(g.Grants[capability])})
		}
	}
	for i := len(g.Operations) - 1; i >= 0; i-- {
		o := g.Operations[i]
		p.Items = append(p.Items, map[string]any{"capability": o.Capability, "kind": o.Kind, "grant": string(o.Grant)})
	}
	screen.Table(p, []term.Column{{Title: "operation", Field: "capability"}, {Title: "kind", Field: "kind"}, {Title: "grant", Field: "grant"}},
		"the script uses no connector")
	for _, capability := range g.unused() {
		fmt.Fprintf(screen.Err, "%s=%s concerns no operation that the script uses; to take it out: %s=\n", capability, g.Grants[capability], capability)
	}
}

// unused are the grants that concern no operation of the script: misspelt, or for a version to come.
func (g grants) unused() []string {
	var list []string
	for _, capability := range slices.Sorted(maps.Keys(g.Grants)) {
		operation, _, _ := strings.Cut(capability, "@")
		connector, all := strings.CutSuffix(operation, ".*")
		if capability != "*" && !slices.ContainsFunc(g.Operations, func(o grantedOperation) bool {
			return o.Capability == operation || all && strings.HasPrefix(o.Capability, connector+".")
		}) {
			list = append(list, capability)
		}
	}
	return list
}

type (
	connectorsCmd struct {
		List   listConnectors  `cmd:"" default:"withargs" help:"List connectors and their operations."`
		Show   showConnector   `cmd:"" help:"Show a connector's operations with the schemas of their parameters."`
		Call   callConnector   `cmd:"" help:"Call one operation, outside of any workflow."`
		Check  checkConnector  `cmd:"" help:"Try whether a tool on NATS keeps what safe mutations rest on."`
		Add    addConnector    `cmd:"" help:"Give a tool on NATS a user of its own and print its URL: no other tool gets its requests."`
		Remove removeConnector `cmd:"" help:"Take a tool's own user away and end its connections."`
	}
	listConnectors struct{ clientFlags }
	showConnector  struct {
		clientFlags
		Name string `arg:"" help:"The connector."`
	}
	offered struct {
		Name       string
		Operations []struct {
			Name, Kind, Summary string
			Reconciles          bool
			TimeoutMS           int64
			Schema              json.RawMessage
		}
	}
	refusedService struct{ Service, Endpoint, Reason string }
	toolUser       struct {
		Connector   string
		Connections int
	}
)

// Run lists one operation per line.
func (c *listConnectors) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	return answer(connected, "listConnectors", nil, func(list struct {
		Items   []offered
		Refused []refusedService
		Users   []toolUser
	}) error {
		p := term.Page{}
		for _, connector := range list.Items {
			for _, op := range connector.Operations {
				p.Items = append([]map[string]any{{"name": connector.Name + "." + op.Name, "kind": op.Kind, "summary": op.Summary}}, p.Items...)
			}
		}
		none := "no connector is configured: start the engine with a folder for one (--maildir, --files or --csv DIR), or name hosts for http in pawl.yaml"
		if len(list.Users) > 0 {
			none = "no connector is there now: a tool has a user and is not connected"
		}
		screen.Table(p, []term.Column{{Title: "operation", Field: "name"}, {Title: "kind", Field: "kind"}, {Title: "what it does", Field: "summary", Width: 110}},
			none)
		printRefused(screen, list.Refused, "")
		for _, u := range list.Users {
			fmt.Fprintf(screen.Err, "user: %s has a user of its own, with %s now\n", term.OneLine(u.Connector, 200), term.Plural(u.Connections, "connection"))
		}
		return nil
	})
}

// printRefused says on standard error why services are not offered to scripts; of all, or of one.
func printRefused(screen term.Screen, refused []refusedService, name string) {
	for _, r := range refused {
		if name != "" && r.Service != name {
			continue
		}
		what := "service " + r.Service
		if r.Endpoint != "" {
			what = r.Service + "." + r.Endpoint
		}
		fmt.Fprintf(screen.Err, "refused: %s is not used: %s\n", term.OneLine(what, 200), term.OneLine(r.Reason, 1000))
	}
}

// Run shows one connector.
func (c *showConnector) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	var list struct {
		Items   []json.RawMessage
		Refused []refusedService
	}
	if err := connected.do("listConnectors", nil, &list); err != nil {
		return err
	}
	printRefused(screen, list.Refused, c.Name)
	for _, raw := range list.Items {
		var connector offered
		if err := json.Unmarshal(raw, &connector); err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		if connector.Name != c.Name {
			continue
		}
		if c.JSON {
			return screen.JSON(raw)
		}
		for _, op := range connector.Operations {
			fmt.Fprintf(screen.Out, "%s.%s  %s\n  %s\n  parameters: %s\n", connector.Name, op.Name, op.Kind, op.Summary, term.OneLine(string(op.Schema), 4000))
		}
		return nil
	}
	hint := "pawl connectors list shows those there are"
	if advice, ok := compiledIn[c.Name]; ok {
		hint = advice + ", and start the engine again"
	}
	return exit.Failed(hint, fmt.Errorf("there is no connector %q now", c.Name))
}
