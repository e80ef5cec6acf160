package rest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Clock is `pawl clock`: read an engine's clock, or move a manual one.
type Clock struct {
	Show    showClock    `cmd:"" help:"Print the time that schedules and waits follow."`
	Advance advanceClock `cmd:"" help:"Move a manual clock, stopping at each moment at which something is due."`
}

type showClock struct {
	client.Flags
}

type advanceClock struct {
	client.Flags
	By string `arg:"" name:"duration" help:"How far, e.g. 90s, 5m, 24h; 0s waits until everything has come to rest."`
}

// Run prints the engine's time.
func (c *showClock) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "getClock", nil, func(clock struct {
		Now    json.RawMessage
		Manual bool
	}) error {
		now, err := instant(clock.Now)
		if err != nil {
			return err
		}
		kind := "the machine's clock"
		if clock.Manual {
			kind = "a manual clock: pawl clock advance DURATION moves it"
		}
		fmt.Fprintf(screen.Out, "it is %s (%s)\n", now, kind)
		return nil
	})
}

// instant renders a time of the engine in UTC, as scripts and logs show it.
func instant(answered json.RawMessage) (string, error) {
	var at time.Time
	if err := json.Unmarshal(answered, &at); err != nil {
		return "", fmt.Errorf("read the engine's answer: %w", err)
	}
	return at.UTC().Format(time.RFC3339), nil
}

// Run moves the clock, and returns once everything that became due is done.
func (c *advanceClock) Run(engine *client.Finder, screen term.Screen) error {
	if _, err := time.ParseDuration(c.By); err != nil {
		return exit.Misconfigured("write e.g. 5m", "%q is no duration", c.By)
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "advanceClock", map[string]any{"by": c.By},
		func(moved struct{ Now json.RawMessage }) error {
			now, err := instant(moved.Now)
			if err != nil {
				return err
			}
			fmt.Fprintf(screen.Out, "it is now %s\n", now)
			return nil
		})
}
