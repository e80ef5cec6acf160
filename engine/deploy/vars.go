package deploy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// setting refuses a plain setting that is not configured: the handler that reads it would fail each time.
func (c *check) setting(use sandbox.OperationUse) {
	if slices.Contains(c.in.Vars, use.Operation) {
		return
	}
	name := eventlog.ClipName(use.Operation)
	fix := fmt.Sprintf("configure it: vars: { %s: … }", name)
	if near := similar.Names(use.Operation, c.in.Vars, 1); len(near) > 0 {
		fix = fmt.Sprintf("did you mean ctx.vars.%s? Otherwise: %s", eventlog.ClipName(near[0]), fix)
	}
	c.add(cmp.Or(c.in.UnknownConnector, sandbox.SeverityError), CodeVars, fix,
		"ctx.vars.%s is read, and the configuration has no such var", name)
	at := sandbox.Place{Line: use.Line, Column: use.Column}
	c.at(at)
	if near := similar.Names(use.Operation, c.in.Vars, 1); len(near) > 0 {
		c.edit(c.amend().Swap(at, "ctx.vars."+use.Operation, "ctx.vars."+near[0]))
	}
}
