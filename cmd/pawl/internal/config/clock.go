package config

import (
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// The clocks that an engine can follow.
const (
	clockSystem = "system"
	clockManual = "manual"
)

// clockSettings say which clock schedules, wakeAt, backoffs, reconcile waits and recorded deadlines
// follow. The zero value is the machine's clock.
type clockSettings struct {
	Manual bool
	// Start is the time at which a manual clock starts on empty data; zero means the machine's time.
	Start time.Time
}

func parseClock(kind, start string) (clockSettings, error) {
	c := clockSettings{Manual: kind == clockManual}
	switch {
	case kind != clockSystem && kind != clockManual:
		return c, exit.Misconfigured("write system or manual", "clock: %q is neither system nor manual", kind)
	case start == "":
		return c, nil
	case !c.Manual:
		return c, exit.Misconfigured("add --clock=manual, or leave it out", "clock-start: the machine's clock cannot be set")
	}
	var err error
	if c.Start, err = time.Parse(time.RFC3339, start); err != nil || c.Start.Year() < 1970 {
		return c, exit.Misconfigured("write e.g. 2026-03-01T08:00:00Z",
			"clock-start: %q is no time in RFC 3339, or one before 1970", start)
	}
	return c, nil
}
