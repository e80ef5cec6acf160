package deploy

import (
	"cmp"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// setting refuses a plain setting that is not configured: the handler that reads it would fail each time.
func (c *check) setting(use sandbox.OperationUse) {
	for _, name := range c.in.Vars {
		if name == use.Operation {
			return
		}
	}
	name := eventlog.ClipName(use.Operation)
	fix := fmt.Sprintf("configure it: vars: { %s: … }", name)
	if close := similar.Names(use.Operation, c.in.Vars, 1); len(close) > 0 {
		fix = fmt.Sprintf("did you mean ctx.vars.%s? Otherwise: %s", eventlog.ClipName(close[0]), fix)
	}
	c.add(cmp.Or(c.in.UnknownConnector, sandbox.SeverityError), CodeVars, fix,
		"ctx.vars.%s is read, and the configuration has no such var", name)
	c.at(sandbox.Place{Line: use.Line, Column: use.Column})
}
