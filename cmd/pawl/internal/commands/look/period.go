package look

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ofWorkflow narrows a list of what happened: to one workflow, and to a time.
type ofWorkflow struct {
	Workflow string `short:"w" placeholder:"NAME" help:"Only those of this workflow."`
	Since    moment `placeholder:"TIME" help:"Only what happened then or later: a time as lists show it, a day, one as in RFC 3339, or how long ago, such as 90m, 12h or 7d."`
	Until    moment `placeholder:"TIME" help:"Only what happened before then, written as for --since."`
}

// moment is a time on the command line; zero is none.
type moment struct{ time.Time }

// momentForms are the ways to write one, beside a duration: as RFC 3339 has it, as lists show it, and shorter.
var momentForms = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// UnmarshalText reads a time, or how long ago it is by this machine's clock.
func (m *moment) UnmarshalText(text []byte) error { return m.read(string(text), time.Now()) }

func (m *moment) read(text string, now time.Time) error {
	for _, form := range momentForms {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			m.Time = t
			return nil
		}
	}
	ago, err := time.ParseDuration(text)
	if days, is := strings.CutSuffix(text, "d"); is {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return fmt.Errorf("%q is no time; write it like 2026-01-31T08:00:00Z, 2026-01-31 or 12h", text)
	}
	m.Time = now.Add(-ago)
	return nil
}

// narrow adds the period to an operation's parameters.
func (o ofWorkflow) narrow(params map[string]any) {
	for name, m := range map[string]moment{"since": o.Since, "until": o.Until} {
		if !m.IsZero() {
			params[name] = m.UTC().Format(time.RFC3339Nano)
		}
	}
}
