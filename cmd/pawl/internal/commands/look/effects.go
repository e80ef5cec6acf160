package look

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

// Effects is `pawl effects`: what versions of a script have changed outside.
type Effects struct {
	client.Flags
	Name    string `arg:"" name:"workflow" help:"The workflow."`
	Version string `placeholder:"A|A..B" help:"Only what these versions have done: one, such as 3.1, or a range, such as 3.1..3.4, ..3.4 or 3.1.. ."`
	Since   moment `placeholder:"TIME" help:"Only what was asked for then or later: a time as lists show it, a day, one as in RFC 3339, or how long ago, such as 90m, 12h or 7d."`
	Until   moment `placeholder:"TIME" help:"Only what was asked for before then, written as for --since."`
	Between string `placeholder:"TIME..TIME" help:"The same as --since and --until."`
}

// effect is a mutation, as far as it is counted.
type effect struct {
	Version, Connector, Operation, Status string
}

// Run counts the mutations and lists the newest.
func (c *Effects) Run(engine *client.Finder, screen term.Screen) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	var all []json.RawMessage
	counts := map[effect]int{}
	for {
		var page struct {
			Items []json.RawMessage
			Next  *string
		}
		if err := connected.Call("listWorkflowMutations", params, &page); err != nil {
			return err
		}
		for _, raw := range page.Items {
			var one effect
			if err := json.Unmarshal(raw, &one); err != nil {
				return fmt.Errorf("read the engine's answer: %w", err)
			}
			counts[one]++
		}
		all = append(all, page.Items...)
		if page.Next == nil {
			break
		}
		params["cursor"] = *page.Next
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b effect) int {
		if order := eventlog.Version(a.Version).Compare(eventlog.Version(b.Version)); order != 0 {
			return order
		}
		return strings.Compare(a.Connector+"."+a.Operation+" "+a.Status, b.Connector+"."+b.Operation+" "+b.Status)
	})
	if connected.JSON {
		return c.document(screen, kinds, counts, all)
	}
	var rows term.Page
	for _, kind := range kinds {
		rows.Items = append(rows.Items, map[string]any{"version": kind.Version,
			"operation": kind.Connector + "." + kind.Operation, "status": kind.Status, "count": fmt.Sprint(counts[kind])})
	}
	slices.Reverse(rows.Items) // a table shows the last row first
	screen.Table(rows, []term.Column{{Title: "version", Field: "version"}, {Title: "operation", Field: "operation"},
		{Title: "status", Field: "status"}, {Title: "calls", Field: "count"}}, "no calls")
	if len(all) > 0 {
		fmt.Fprintf(screen.Err, "%s; each one: pawl effects %s --json, or pawl mutations list -w %s\n",
			eventlog.Count(len(all), "call"), c.Name, c.Name)
	}
	return nil
}

// document prints the counts and every mutation.
func (c *Effects) document(screen term.Screen, kinds []effect, counts map[effect]int, all []json.RawMessage) error {
	type count struct {
		Version   string `json:"version"`
		Operation string `json:"operation"`
		Status    string `json:"status"`
		Calls     int    `json:"calls"`
	}
	found := struct {
		Counts    []count           `json:"counts"`
		Mutations []json.RawMessage `json:"mutations"`
	}{[]count{}, append([]json.RawMessage{}, all...)}
	for _, kind := range kinds {
		found.Counts = append(found.Counts, count{kind.Version, kind.Connector + "." + kind.Operation, kind.Status,
			counts[kind]})
	}
	document, err := json.Marshal(found)
	if err != nil {
		return exit.Failed("", fmt.Errorf("print the effects: %w", err))
	}
	return screen.JSON(document)
}

// params are the parameters of the list, which begins with the oldest.
func (c *Effects) params() (map[string]any, error) {
	params := map[string]any{"workflow": c.Name, "limit": 1000}
	if c.Between != "" {
		from, to, ok := strings.Cut(c.Between, "..")
		if !ok || !c.Since.IsZero() || !c.Until.IsZero() {
			return nil, exit.Misconfigured("write --between 2026-03-01..2026-03-02, without --since and --until",
				"%q are no two times", c.Between)
		}
		for text, m := range map[string]*moment{from: &c.Since, to: &c.Until} {
			if text == "" {
				continue
			}
			if err := m.UnmarshalText([]byte(text)); err != nil {
				return nil, exit.Misconfigured("write --between 2026-03-01..2026-03-02", "%v", err)
			}
		}
	}
	ofWorkflow{Since: c.Since, Until: c.Until}.narrow(params)
	if c.Version == "" {
		return params, nil
	}
	from, to, isRange := strings.Cut(c.Version, "..")
	if !isRange {
		to = from
	}
	for name, version := range map[string]string{"fromVersion": from, "toVersion": to} {
		if version == "" {
			continue
		}
		if eventlog.Version(version).Compare("0.0") < 0 {
			return nil, exit.Misconfigured("write --version 3.1 or --version 3.1..3.4", "%q is no version", version)
		}
		params[name] = version
	}
	return params, nil
}
