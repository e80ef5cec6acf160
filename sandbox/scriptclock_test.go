package sandbox

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestExceeded: who computes too long, or long enough of the time that passes, is to blame; whose
// process was not given the processor is not. Seen from outside a worker has a while more.
func TestExceeded(t *testing.T) {
	t.Parallel()
	usual := Limits{CPU: 2 * time.Second, Wall: 30 * time.Second}
	patient := Limits{CPU: 10 * time.Second, Wall: 4 * time.Second}
	for _, c := range []struct {
		limits           Limits
		wall, cpu, while time.Duration
		fault            Fault
		code             string
	}{
		{usual, 2 * time.Second, 2 * time.Second, 0, FaultScript, "limit.cpu"},
		{usual, 29 * time.Second, 1999 * time.Millisecond, 0, "", ""},
		{usual, 1999 * time.Millisecond, 3 * time.Second, 0, "", ""}, // with two threads
		{usual, 30 * time.Second, 1999 * time.Millisecond, 0, FaultTransient, "worker.lost"},
		{patient, 3999 * time.Millisecond, 3999 * time.Millisecond, 0, "", ""},
		{patient, 4 * time.Second, 4 * time.Second, 0, FaultScript, "limit.wall"},
		{patient, 4 * time.Second, 400 * time.Millisecond, 0, FaultScript, "limit.wall"},
		{patient, 4 * time.Second, 399 * time.Millisecond, 0, FaultTransient, "worker.lost"},
		{patient, 4 * time.Second, 0, 0, FaultTransient, "worker.lost"},

		{usual, 2 * time.Second, 2 * time.Second, killAfter, "", ""},
		{usual, 5 * time.Second, 2 * time.Second, killAfter, "", ""},
		{usual, 2249 * time.Millisecond, 3 * time.Second, killAfter, "", ""},
		{usual, 2250 * time.Millisecond, 2250 * time.Millisecond, killAfter, FaultScript, "limit.cpu"},
		{usual, 30 * time.Second, time.Second, killAfter, "", ""},
		{usual, 30250 * time.Millisecond, time.Second, killAfter, FaultTransient, "worker.lost"},
		{patient, 4250 * time.Millisecond, 4250 * time.Millisecond, killAfter, FaultScript, "limit.wall"},
		{patient, 4250 * time.Millisecond, 424 * time.Millisecond, killAfter, FaultTransient, "worker.lost"},
	} {
		var fault Fault
		code := ""
		if e := c.limits.exceeded(c.wall, c.cpu, c.while); e != nil {
			fault, code = e.Fault, e.Code
		}
		if fault != c.fault || code != c.code {
			t.Errorf("after %s, %s of them computing, and %s more: %s %q, want %s %q", c.wall, c.cpu, c.while, fault, code, c.fault, c.code)
		}
	}
}

// TestScriptClock: the clock stands while the script waits, goes on while its process has no
// processor, and ends the script once, when a limit is reached.
func TestScriptClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var idle atomic.Int64 // during which the process did not compute
		ends := make(chan *Error, 2)
		c := newScriptClock(Limits{CPU: 2 * time.Second, Wall: 5 * time.Second},
			func() time.Duration { return time.Since(start) - time.Duration(idle.Load()) }, func(e *Error) { ends <- e })
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
		wantFault(t, <-ends, FaultScript, "limit.cpu")
		<-time.After(time.Hour)
		if synctest.Wait(); len(ends) != 0 {
			t.Fatalf("ended again: %v", <-ends)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan *Error, 1)
		start := time.Now()
		c := newScriptClock(Limits{CPU: 2 * time.Second, Wall: 5 * time.Second}, func() time.Duration { return 0 }, func(e *Error) { ends <- e })
		c.run()
		e := wantFault(t, <-ends, FaultTransient, "worker.lost")
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("%v after %s", e, took)
		}
	})
}
