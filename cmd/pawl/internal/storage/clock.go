package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/eventlog"
)

// NewClock makes the engine's clock. A manual clock goes on at the time of the last transition, so that the log's time
// never runs back; its configured start counts only while the log is empty.
func NewClock(ctx context.Context, s config.Settings, log eventlog.Log) (clock.Clock, error) {
	if !s.Clock.Manual {
		return clock.System{}, nil
	}
	newest, empty, err := newestTime(ctx, log)
	if err != nil {
		return nil, fmt.Errorf("read where the manual clock stopped: %w", err)
	}
	start := newest
	if empty {
		if start = s.Clock.Start; start.IsZero() {
			start = time.Now()
		}
	}
	return clock.NewManual(start), nil
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
				continue // a record that cannot be read stops its workflow or the engine, which is handled elsewhere
			case err != nil:
				return time.Time{}, err
			}
			return r.At.Time(), nil
		}
	}
	return time.Time{}, nil
}
