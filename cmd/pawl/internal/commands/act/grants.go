package act

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

// Grants shows or changes grants. Named capabilities are changed, the others stay.
type Grants struct {
	client.Flags
	Name   string   `arg:"" name:"workflow" help:"The workflow."`
	Change []string `arg:"" optional:"" name:"capability=grant" help:"Changes, e.g. csv.appendRow=allow, http.post@api.example.com=allow, http.*=ask, *=deny; CAPABILITY= takes one out."`
}

// Run shows the grants, after changing those that are named.
func (c *Grants) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	show := func(g client.Grants) error { printGrants(screen, g); return nil }
	if len(c.Change) == 0 {
		return client.Answer(connected, "getGrants", map[string]any{"workflow": c.Name}, show)
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
	return client.Answer(connected, "changeGrants", map[string]any{"workflow": c.Name, "grants": changes}, show)
}

func printGrants(screen term.Screen, g client.Grants) {
	p := term.Page{}
	for _, capability := range slices.Backward(slices.Sorted(maps.Keys(g.Grants))) {
		kind := ""
		switch _, secret := eventlog.SecretOf(capability); {
		case secret && !g.Uses(capability):
			kind = "secret"
		case !strings.Contains(capability, "@") || slices.Contains(g.Unused(), capability):
			continue
		}
		p.Items = append(p.Items, map[string]any{"capability": capability, "kind": kind,
			"grant": string(g.Grants[capability])})
	}
	for i := len(g.Operations) - 1; i >= 0; i-- {
		o := g.Operations[i]
		p.Items = append(p.Items, map[string]any{"capability": o.Capability, "kind": o.Kind, "grant": string(o.Grant)})
	}
	screen.Table(p, []term.Column{{Title: "operation", Field: "capability"}, {Title: "kind", Field: "kind"},
		{Title: "grant", Field: "grant"}},
		"the script uses no connector")
	for _, capability := range g.Unused() {
		fmt.Fprintf(screen.Err, "%s=%s concerns no operation that the script uses; to take it out: %s=\n", capability,
			g.Grants[capability], capability)
	}
}
