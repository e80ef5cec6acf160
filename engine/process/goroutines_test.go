package process_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pawl-run/pawl/engine/process"
)

// TestGoroutines: what runs on a goroutine waits for nothing else, one that is done takes the next work, a bounded
// number waits, and none outlives the engine: a bubble with one left over fails.
func TestGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		before, g := runtime.NumGoroutine(), process.NewGoroutines()
		var at sync.WaitGroup
		letGo := make(chan struct{})
		for range 100 {
			at.Add(1)
			g.Go(life, func() { at.Done(); <-letGo })
		}
		at.Wait() // all at once
		close(letGo)
		synctest.Wait()
		waiting := runtime.NumGoroutine() - before
		if waiting == 0 || waiting > 64 {
			t.Errorf("%d goroutines wait for work", waiting)
		}
		for range waiting {
			done := make(chan struct{})
			g.Go(life, func() { close(done) })
			<-done
			synctest.Wait()
		}
		if now := runtime.NumGoroutine() - before; now != waiting {
			t.Errorf("%d goroutines wait for work, %d did before", now, waiting)
		}
		end()
	})
}
