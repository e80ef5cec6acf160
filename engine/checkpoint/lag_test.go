package checkpoint

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A caller with more work waits while the store lags behind, and is refused while it cannot be written.
func TestLagHoldsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lag
		if l.Grow(flushBytes-1) || !l.Grow(1) {
			t.Error("a flush is due at flushBytes, and not before")
		}
		if err := l.Wait(t.Context()); err != nil {
			t.Errorf("with little to write: %v", err)
		}
		l.Grow(maxLag)
		waited := make(chan error, 1)
		wait := func(ctx context.Context) {
			go func() { waited <- l.Wait(ctx) }()
			synctest.Wait()
		}
		wait(t.Context())
		l.Begin()
		l.Grow(maxLag)
		l.End(nil)
		synctest.Wait()
		if len(waited) != 0 {
			t.Error("a push went on while the store lacks too much still")
		}
		if l.Stuck() != nil {
			t.Error("a store that is only slow stops nothing")
		}
		l.Begin()
		l.End(nil)
		if err := <-waited; err != nil {
			t.Errorf("once the store was written: %v", err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		l.Grow(maxLag)
		wait(ctx)
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that hangs up: %v", err)
		}

		wait(t.Context())
		l.Begin()
		broken := errors.New("broken")
		l.End(broken)
		if err := <-waited; !errors.Is(err, broken) || !errors.Is(l.Stuck(), ErrLag) {
			t.Errorf("a store that cannot be written: %v, %v", err, l.Stuck())
		}
		l.Begin()
		l.End(nil)
		if err := errors.Join(l.Wait(t.Context()), l.Stuck()); err != nil {
			t.Errorf("a store that can be written again: %v", err)
		}
	})
}
