package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// A worker sleeps through a nudge that came before it looked at the state, and keeps its moment on a
// manual clock meanwhile: the clock would be moved past it. A nudge that came later wakes it.
func TestSleepThroughAnOldNudge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
		clock := NewManualClock(start)
		w := &worker{engine: &Engine{}, wake: make(chan struct{}, 1), recording: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.nudge()
		w.looked = w.nudges.Load()
		go w.sleepOn(ctx, clock, decide.Wait{Reason: decide.ReasonBackoff, Until: eventlog.At(start.Add(time.Minute))})
		synctest.Wait()
		if w.quiet() == nil {
			t.Fatal("an old nudge has woken it")
		}
		if !clock.step(start.Add(time.Hour)) || !clock.Now().Equal(start.Add(time.Minute)) {
			t.Errorf("the clock went past its moment, to %s", clock.Now())
		}
		synctest.Wait()
		if w.rest.Load() != nil {
			t.Error("it sleeps although its moment has come")
		}

		w.looked = w.nudges.Load()
		go w.sleepOn(ctx, clock, decide.Wait{Reason: decide.ReasonIdle})
		synctest.Wait()
		w.nudge()
		synctest.Wait()
		if w.rest.Load() != nil {
			t.Error("it sleeps through a nudge")
		}
	})
}
