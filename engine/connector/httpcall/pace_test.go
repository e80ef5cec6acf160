package httpcall

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// However many calls find no turn before their deadline, no turn is lost to those that ask later, and the refused ones
// are told to come again one after the other.
func TestRefusedCallsTakeNoTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, err := newTurns("a.example", 0, "1/s")
		if err != nil {
			t.Fatal(err)
		}
		ask := func(timeout time.Duration) *eventlog.Failure {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, failure := turns.take(ctx, connector.Call{}, false)
			return failure
		}
		var calls sync.WaitGroup
		refused := make(chan time.Duration, 200)
		for range 200 {
			calls.Go(func() {
				if failure := ask(3500 * time.Millisecond); failure != nil {
					refused <- failure.RetryAfter
				}
			})
		}
		calls.Wait()
		close(refused)
		times := map[time.Duration]bool{}
		for again := range refused {
			times[again] = true
		}
		if len(times) != 196 {
			t.Errorf("calls are told to come again at %d different times, want 196 after 4 turns", len(times))
		}
		if failure := ask(time.Second); failure != nil {
			t.Errorf("the next turn is gone: %v", failure.Message)
		}
	})
}
