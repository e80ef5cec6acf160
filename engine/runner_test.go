package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/signal"
	"github.com/pawl-run/pawl/eventlog"
)

// A runner sleeps through a ring that came before it looked at the state, and keeps its moment on a
// manual clock meanwhile: the clock would be moved past it. A ring that came later wakes it.
func TestSleepThroughAnOldRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
		manual := clock.NewManual(start)
		w := &aggregate{changed: signal.NewBell()}
		r := &runner{engine: &process.Process{Config: process.Config{Clock: manual}}, workflow: w}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.changed.Ring()
		r.seenRings = w.changed.Rings()
		go r.sleep(ctx, []decide.Wait{{Reason: decide.ReasonBackoff, Until: eventlog.At(start.Add(time.Minute))}})
		synctest.Wait()
		if r.quiet() == nil {
			t.Fatal("an old ring has woken it")
		}
		if !manual.Step(start.Add(time.Hour)) || !manual.Now().Equal(start.Add(time.Minute)) {
			t.Errorf("the clock went past its moment, to %s", manual.Now())
		}
		synctest.Wait()
		if r.rest.Load() != nil {
			t.Error("it sleeps although its moment has come")
		}

		r.seenRings = w.changed.Rings()
		go r.sleep(ctx, []decide.Wait{{Reason: decide.ReasonIdle}})
		synctest.Wait()
		w.changed.Ring()
		synctest.Wait()
		if r.rest.Load() != nil {
			t.Error("it sleeps through a ring")
		}
	})
}
