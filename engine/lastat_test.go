package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// A manual clock goes on from the newest transition that can be read, also where the checkpoint's own cannot.
func TestManualClockResumesBeforeAnUnreadableRecord(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	log := &readerLog{Log: memlog.New(memlog.Config{})}
	b := enginetest.NewOn(t, log)
	b.Config.Clock = clock.NewManual(start)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	last, err := log.Last(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	log.change = func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
		if r.Position.Seq == last {
			// Its bytes, and so its hash, are what they were: a version that cannot read them.
			r.At, r.Facts, err = 0, nil, errors.Join(err, fmt.Errorf("%w: unknown", eventlog.ErrUnreadable))
		}
		return r, err, true
	}
	manual := clock.NewManual(start.Add(-24 * time.Hour))
	b.Config.Clock = manual
	e = b.Start()
	if now := manual.Now(); now.Before(start) {
		t.Errorf("the clock begins again at %s, want %s or later", now, start)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
}
