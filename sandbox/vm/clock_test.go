package vm

import (
	"sync"
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

// stretches runs the clock of a script with 2 s of processor time in stretches of a length, with waits between them,
// until it ends or has run for so long. computed tells what its process has computed after so much running. It returns
// how long the script has run, how often the processor time was read, and what ended it.
func stretches(t *testing.T, length, most time.Duration,
	computed func(ran time.Duration) time.Duration) (ran time.Duration, reads int, end *sandbox.Error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // held for all that the function of the processor time uses
		var since time.Time
		running := func() time.Duration {
			if since.IsZero() {
				return ran
			}
			return ran + time.Since(since)
		}
		ends := make(chan *sandbox.Error, 1)
		c := newScriptClock(sandbox.Limits{CPU: 2 * time.Second, Wall: 30 * time.Second},
			func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				reads++
				return computed(running())
			}, func(e *sandbox.Error) { ends <- e })
		for end == nil && ran < most {
			mu.Lock()
			since = time.Now()
			mu.Unlock()
			c.run()
			select {
			case end = <-ends:
			case <-time.After(min(length, most-ran)):
			}
			c.pause()
			mu.Lock()
			ran, since = running(), time.Time{}
			mu.Unlock()
			<-time.After(time.Hour) // of waiting for a read
		}
		c.stop()
	})
	return ran, reads, end
}

// The processor time of a short call is never read: that would take a share of each call. A script that runs in many
// short stretches is read as well as one that runs in a long one, and both end at their limit.
func TestShortCallsAreNotRead(t *testing.T) {
	t.Parallel()
	all := func(ran time.Duration) time.Duration { return ran }
	if _, reads, end := stretches(t, 5*time.Millisecond, 19*time.Millisecond, all); reads != 0 || end != nil {
		t.Errorf("a script of 19 ms was read %d times, and ended with %v", reads, end)
	}
	for _, length := range []time.Duration{time.Minute, 30 * time.Millisecond, 7 * time.Millisecond} {
		ran, _, end := stretches(t, length, 3*time.Second, all)
		if end == nil || end.Code != "limit.cpu" || ran != 2*time.Second {
			t.Errorf("in stretches of %s it ended after %s, with %v", length, ran, end)
		}
	}
}

// A script that has run for long enough in stretches is read when the next begins: that may end before a timer fires.
func TestTheShortestStretchIsRead(t *testing.T) {
	t.Parallel()
	reads := 0
	c := newScriptClock(sandbox.Limits{CPU: 2 * time.Second, Wall: 30 * time.Second}, func() time.Duration {
		reads++
		return time.Hour
	}, nil)
	c.spent = 20 * time.Millisecond
	c.run()
	c.pause()
	if got := c.computed(c.spent); reads != 2 || got != 20*time.Millisecond {
		t.Errorf("it was read %d times, and has computed for %s", reads, got)
	}
}

// A script that did not get the processor until its time was read first is ended by a hundredth of its limit too early
// at most, however late the reading was.
func TestWhatWasNotReadCountsForLittle(t *testing.T) {
	t.Parallel()
	const idle = time.Second // at the start
	ran, _, end := stretches(t, time.Minute, 20*time.Second, func(ran time.Duration) time.Duration {
		return max(ran-idle, 0)
	})
	if end == nil || end.Code != "limit.cpu" || ran < idle+1980*time.Millisecond || ran > idle+2*time.Second {
		t.Errorf("it ended after %s, with %v", ran, end)
	}
	c := newScriptClock(sandbox.Limits{CPU: 2 * time.Second}, func() time.Duration { return time.Hour }, nil)
	c.first(time.Minute)
	if got := c.computed(time.Minute); got != 20*time.Millisecond {
		t.Errorf("a first reading after a minute counts as %s", got)
	}
}
