package decide

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// atRate is C12: the next run begins so long after the last one. A start that lies ahead was recorded by a clock that
// has been set back: it keeps nothing waiting.
func atRate(c eventlog.Consumer, h *projections.Handler, now eventlog.Instant) bool {
	spacing := c.Spacing()
	return spacing == 0 || h.StartedAt == 0 || h.StartedAt > now || now >= h.StartedAt.Add(spacing)
}
