package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// A runner sleeps through a ring that came before it looked at the state, and keeps its moment on a
// manual clock meanwhile: the clock would be moved past it. A ring that came later wakes it.
func TestSleepThroughAnOldRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
		clock := NewManualClock(start)
		w := &aggregate{changed: newBell()}
		r := &runner{engine: &Engine{}, workflow: w}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.changed.ring()
		r.looked = w.changed.rings.Load()
		go r.sleepOn(ctx, clock, decide.Wait{Reason: decide.ReasonBackoff, Until: eventlog.At(start.Add(time.Minute))})
		synctest.Wait()
		if r.quiet() == nil {
			t.Fatal("an old ring has woken it")
		}
		if !clock.step(start.Add(time.Hour)) || !clock.Now().Equal(start.Add(time.Minute)) {
			t.Errorf("the clock went past its moment, to %s", clock.Now())
		}
		synctest.Wait()
		if r.rest.Load() != nil {
			t.Error("it sleeps although its moment has come")
		}

		r.looked = w.changed.rings.Load()
		go r.sleepOn(ctx, clock, decide.Wait{Reason: decide.ReasonIdle})
		synctest.Wait()
		w.changed.ring()
		synctest.Wait()
		if r.rest.Load() != nil {
			t.Error("it sleeps through a ring")
		}
	})
}
