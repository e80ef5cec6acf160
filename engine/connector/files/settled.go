package files

import (
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// repeated answers a key that was there before: the first answer again, and no second effect.
func (c *Connector) repeated(mark, name, code string) (connector.Outcome, bool) {
	known, first, err := c.marks.read(mark)
	switch {
	case err != nil:
		return connector.FailedWith(c.dir.Failure("read the mark of", name, err)), true
	case known == done:
		return connector.Outcome{Status: connector.Applied, Result: first}, true
	case known == barred:
		return connector.FailedWith(c.notDone(code, name, "an earlier check settled this call as failed, so it is not "+
			"carried out")), true
	case known == begun:
		return connector.UncertainWith(c.dir.Fail(eventlog.Transient, "begun",
			"%s: a call with the same key was begun before", name)), true
	}
	return connector.Outcome{}, false
}

// The codes of calls that were not carried out, behind "files.".
const (
	codeNotWritten = "notWritten"
	codeNotMoved   = "notMoved"
)

// notDone is the failure of a write or move, by its code, that was not carried out.
func (c *Connector) notDone(code, name, why string) *eventlog.Failure {
	what := map[string]string{codeNotWritten: "written", codeNotMoved: "moved"}[code]
	return c.dir.Fail(eventlog.Transient, code, "%s was not %s: %s", name, what, why)
}
