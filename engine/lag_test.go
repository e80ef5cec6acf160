package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Who brings more in waits while the store lags behind, and is refused while it cannot be written.
func TestLagHoldsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l lag
		if l.grow(flushBytes-1) || !l.grow(1) {
			t.Error("a flush is due at flushBytes, and not before")
		}
		if err := l.wait(t.Context()); err != nil {
			t.Errorf("with little to write: %v", err)
		}
		l.grow(mostLag)
		waited := make(chan error, 1)
		wait := func(ctx context.Context) {
			go func() { waited <- l.wait(ctx) }()
			synctest.Wait()
		}
		wait(t.Context())
		l.begin()
		l.grow(mostLag)
		l.end(nil)
		synctest.Wait()
		if len(waited) != 0 {
			t.Error("a push went on while the store lacks too much still")
		}
		if l.stuck() != nil {
			t.Error("a store that is only slow stops nothing")
		}
		l.begin()
		l.end(nil)
		if err := <-waited; err != nil {
			t.Errorf("once the store was written: %v", err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		l.grow(mostLag)
		wait(ctx)
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that hangs up: %v", err)
		}

		wait(t.Context())
		l.begin()
		broken := errors.New("broken")
		l.end(broken)
		if err := <-waited; !errors.Is(err, broken) || !errors.Is(l.stuck(), errLag) {
			t.Errorf("a store that cannot be written: %v, %v", err, l.stuck())
		}
		l.begin()
		l.end(nil)
		if err := errors.Join(l.wait(t.Context()), l.stuck()); err != nil {
			t.Errorf("a store that can be written again: %v", err)
		}
	})
}
