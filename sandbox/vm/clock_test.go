package vm

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// TestScriptClock: the clock stands while the script waits, goes on while its process has no
// processor, and ends the script once, when a limit is reached.
func TestScriptClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var idle atomic.Int64 // during which the process did not compute
		ends := make(chan *sandbox.Error, 2)
		c := newScriptClock(sandbox.Limits{CPU: 2 * time.Second, Wall: 5 * time.Second},
			func() time.Duration { return time.Since(start) - time.Duration(idle.Load()) }, func(e *sandbox.Error) {
				ends <- e
			})
		c.run()
		<-time.After(time.Second)
		c.pause()
		<-time.After(time.Hour)
		c.run()
		idle.Store(int64(time.Hour + 500*time.Millisecond)) // it computes for 500 ms less than the next 1499
		<-time.After(1499 * time.Millisecond)
		if synctest.Wait(); len(ends) != 0 {
			t.Fatalf("%v before it has computed for 2 s", <-ends)
		}
		<-time.After(10 * time.Millisecond)
		c.stop()
		if e := <-ends; e.Fault != sandbox.FaultScript || e.Code != "limit.cpu" {
			t.Errorf("ended with %s %v, want limit.cpu", e.Fault, e)
		}
		<-time.After(time.Hour)
		if synctest.Wait(); len(ends) != 0 {
			t.Fatalf("ended again: %v", <-ends)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan *sandbox.Error, 1)
		start := time.Now()
		c := newScriptClock(sandbox.Limits{CPU: 2 * time.Second, Wall: 5 * time.Second}, func() time.Duration {
			return 0
		}, func(e *sandbox.Error) { ends <- e })
		c.run()
		e := <-ends
		if took := time.Since(start); e.Fault != sandbox.FaultTransient || e.Code != "worker.lost" ||
			took != 5*time.Second {
			t.Errorf("%v after %s", e, took)
		}
	})
}
