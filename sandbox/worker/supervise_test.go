package worker

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// TestExceeded: a script that computes too long, or long enough of the time that passes, is to blame; one
// whose process was not given the processor is not. Seen from outside a worker has a while more.
func TestExceeded(t *testing.T) {
	t.Parallel()
	usual := sandbox.Limits{CPU: 2 * time.Second, Wall: 30 * time.Second}
	patient := sandbox.Limits{CPU: 10 * time.Second, Wall: 4 * time.Second}
	for _, c := range []struct {
		limits           sandbox.Limits
		wall, cpu, while time.Duration
		fault            sandbox.Fault
		code             string
	}{
		{usual, 2 * time.Second, 2 * time.Second, 0, sandbox.FaultScript, "limit.cpu"},
		{usual, 29 * time.Second, 1999 * time.Millisecond, 0, "", ""},
		{usual, 1999 * time.Millisecond, 3 * time.Second, 0, "", ""}, // with two threads
		{usual, 30 * time.Second, 1999 * time.Millisecond, 0, sandbox.FaultTransient, "worker.lost"},
		{patient, 3999 * time.Millisecond, 3999 * time.Millisecond, 0, "", ""},
		{patient, 4 * time.Second, 4 * time.Second, 0, sandbox.FaultScript, "limit.wall"},
		{patient, 4 * time.Second, 400 * time.Millisecond, 0, sandbox.FaultScript, "limit.wall"},
		{patient, 4 * time.Second, 399 * time.Millisecond, 0, sandbox.FaultTransient, "worker.lost"},
		{patient, 4 * time.Second, 0, 0, sandbox.FaultTransient, "worker.lost"},

		{usual, 2 * time.Second, 2 * time.Second, killAfter, "", ""},
		{usual, 5 * time.Second, 2 * time.Second, killAfter, "", ""},
		{usual, 2249 * time.Millisecond, 3 * time.Second, killAfter, "", ""},
		{usual, 2250 * time.Millisecond, 2250 * time.Millisecond, killAfter, sandbox.FaultScript, "limit.cpu"},
		{usual, 30 * time.Second, time.Second, killAfter, "", ""},
		{usual, 30250 * time.Millisecond, time.Second, killAfter, sandbox.FaultTransient, "worker.lost"},
		{patient, 4250 * time.Millisecond, 4250 * time.Millisecond, killAfter, sandbox.FaultScript, "limit.wall"},
		{patient, 4250 * time.Millisecond, 424 * time.Millisecond, killAfter, sandbox.FaultTransient, "worker.lost"},
	} {
		var fault sandbox.Fault
		code := ""
		if e := c.limits.Exceeded(c.wall, c.cpu, c.while); e != nil {
			fault, code = e.Fault, e.Code
		}
		if fault != c.fault || code != c.code {
			t.Errorf("after %s, %s of them computing, and %s more: %s %q, want %s %q", c.wall, c.cpu, c.while, fault,
				code, c.fault, c.code)
		}
	}
}

// The processor time of a call is read at the first look at it, also while it waits for a read: a script that runs only
// between the looks would not be charged for what it computes until one of them finds it running.
func TestTheFirstLookReadsTheProcessorTime(t *testing.T) {
	t.Parallel()
	self, err := os.FindProcess(os.Getpid()) // which stands for the worker
	if err != nil {
		t.Fatal(err)
	}
	before, known := cputime.Of(self.Pid)
	if !known {
		t.Skip("the processor time of another process is not known here")
	}
	for name, c := range map[string]struct {
		running bool
		counts  time.Duration
	}{"it waits": {false, 4 * time.Millisecond}, "it runs": {true, superviseEvery}} {
		x := &exchange{pool: &Pool{config: Config{Memory: 1 << 40}}, running: c.running, spent: 4 * time.Millisecond,
			request: request{limits: sandbox.DefaultLimits},
			w:       &process{Process: &confine.Process{Cmd: &exec.Cmd{Process: self}}}}
		now := time.Now()
		x.since = now.Add(-time.Second) // the look is late
		if e := x.excess(now); e != nil {
			t.Errorf("%s: %v", name, e)
		}
		after, _ := cputime.Of(self.Pid)
		if began := x.cpuBegan + c.counts; !x.cpuKnown || began < before || began > after {
			t.Errorf("%s: at %s to %s of processor time it began at %s", name, before, after, x.cpuBegan)
		}
		first := x.cpuBegan
		if x.excess(now); x.cpuBegan != first {
			t.Errorf("%s: a later look takes %s for the beginning, not %s", name, x.cpuBegan, first)
		}
	}
}
