package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
)

// clock makes the engine's clock. A manual one goes on at the time of the last transition, so that
// the log's time never runs back; where it starts counts only while the log is empty.
func (in *installation) clock(ctx context.Context) (engine.Clock, error) {
	if !in.settings.Clock.Manual {
		return engine.SystemClock{}, nil
	}
	newest, empty, err := newestTime(ctx, in.log)
	if err != nil {
		return nil, fmt.Errorf("read where the manual clock stopped: %w", err)
	}
	start := newest
	if empty {
		if start = in.settings.Clock.Start; start.IsZero() {
			start = time.Now()
		}
	}
	return engine.NewManualClock(start), nil
}

// newestTime is the time of the newest transition that can be read.
func newestTime(ctx context.Context, log eventlog.Log) (newest time.Time, empty bool, err error) {
	empty = true
	for p := range log.Partitions() {
		last, err := log.Last(ctx, p)
		if err != nil {
			return newest, empty, err
		}
		empty = empty && last == 0
		at, err := timeBefore(ctx, log, p, last)
		if err != nil {
			return newest, empty, err
		}
		if at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() {
		newest = time.UnixMilli(1) // before anything that could still be read
	}
	return newest, empty, nil
}

// timeBefore is the time of the transition at seq, or of the one before it that can be read.
func timeBefore(ctx context.Context, log eventlog.Log, partition int, seq uint64) (time.Time, error) {
	for ; seq > 0; seq-- {
		for r, err := range log.Read(ctx, partition, seq) {
			switch {
			case errors.Is(err, eventlog.ErrUnreadable), errors.Is(err, eventlog.ErrDamaged):
				continue // its workflow stops, or the engine does; neither is the clock's affair
			case err != nil:
				return time.Time{}, err
			}
			return r.At.Time(), nil
		}
	}
	return time.Time{}, nil
}

type (
	clockCmd struct {
		Show    showClock    `cmd:"" help:"Print the time that schedules and waits follow."`
		Advance advanceClock `cmd:"" help:"Move a manual clock, stopping at each moment at which something is due."`
	}
	showClock struct {
		clientFlags
	}
	advanceClock struct {
		clientFlags
		By string `arg:"" name:"duration" help:"How far, e.g. 90s, 5m, 24h; 0s waits until everything has come to rest."`
	}
)

// Run prints the engine's time.
func (c *showClock) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	return answer(connected, "getClock", nil, func(clock struct {
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

// instant renders a time of the engine. Scripts and logs of one with a manual clock say the same in UTC.
func instant(answered json.RawMessage) (string, error) {
	var at time.Time
	if err := json.Unmarshal(answered, &at); err != nil {
		return "", fmt.Errorf("read the engine's answer: %w", err)
	}
	return at.UTC().Format(time.RFC3339), nil
}

// Run answers once everything that became due has come to rest.
func (c *advanceClock) Run(engine *finder, screen term.Screen) error {
	if _, err := time.ParseDuration(c.By); err != nil {
		return exit.Misconfigured("write e.g. 5m", "%q is no duration", c.By)
	}
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	return answer(connected, "advanceClock", map[string]any{"by": c.By}, func(moved struct{ Now json.RawMessage }) error {
		now, err := instant(moved.Now)
		if err != nil {
			return err
		}
		fmt.Fprintf(screen.Out, "it is now %s\n", now)
		return nil
	})
}
