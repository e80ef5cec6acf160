package look

import (
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// ofWorkflow narrows a list of what happened: to one workflow, and to a time.
type ofWorkflow struct {
	Workflow string `short:"w" placeholder:"NAME" help:"Only those of this workflow."`
	Since    moment `placeholder:"TIME" help:"Only what happened then or later: a time as lists show it, a day, one as in RFC 3339, or how long ago, such as 90m, 12h or 7d."`
	Until    moment `placeholder:"TIME" help:"Only what happened before then, written as for --since."`
}

// moment is a time on the command line; zero is none.
type moment struct{ time.Time }

// UnmarshalText reads a time, or how long ago it is by this machine's clock.
func (m *moment) UnmarshalText(text []byte) error { return m.read(string(text), time.Now()) }

func (m *moment) read(text string, now time.Time) (err error) {
	m.Time, err = term.ReadMoment(text, now)
	return err
}

// narrow adds the period to an operation's parameters.
func (o ofWorkflow) narrow(params map[string]any) {
	for name, m := range map[string]moment{"since": o.Since, "until": o.Until} {
		if !m.IsZero() {
			params[name] = m.UTC().Format(time.RFC3339Nano)
		}
	}
}
