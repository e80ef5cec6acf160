package worker

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// dying is a pool with one place whose first workers are no workers: each reads so many bytes of its
// first request (all of it if the number is negative) and ends as how says. Those after them are real.
func dying(t *testing.T, how string, bytes ...int) *Pool {
	t.Helper()
	path := plainWorker(t)
	var started atomic.Int64
	return newPool(t, Config{Size: 1, Command: func() *exec.Cmd {
		if i := int(started.Add(1)) - 1; i < len(bytes) {
			return itself(t, "dying", how, strconv.Itoa(bytes[i]))
		}
		return exec.Command(path)
	}})
}

func init() { programs["dying"] = dyingWorker }

// dyingWorker is the program of the pool above.
func dyingWorker(arguments []string) error {
	bytes, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	in, err := handshakeUnconfined()
	if err != nil {
		return err
	}
	// The request must be there before this ends, or it could never have been read. A signal, as the
	// Go runtime sends itself to preempt, is none.
	err = unix.EINTR
	for err == unix.EINTR {
		_, err = unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, -1)
	}
	if err != nil {
		return err
	}
	if bytes < 0 {
		_, err = in.next(maxFromEngine)
	} else {
		_, err = io.CopyN(io.Discard, os.Stdin, int64(bytes))
	}
	if err != nil {
		return err
	}
	switch arguments[0] {
	case "killed":
		err = unix.Kill(os.Getpid(), unix.SIGKILL)
	case "faulted":
		err = unix.Kill(os.Getpid(), unix.SIGSEGV)
	case "terminated":
		err = unix.Kill(os.Getpid(), unix.SIGTERM)
	case "left":
		os.Exit(confine.ExitMemory)
	case "crashed":
		panic("as a mistake in the interpreter would")
	case "gave up":
		os.Exit(1) // as for a frame that it cannot read
	}
	if err != nil {
		return err
	}
	for {
		_ = unix.Pause()
	}
}

// counting counts the reads that reach a host.
func counting(reads *atomic.Int64) fakeHost {
	return fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
		reads.Add(1)
		return json.RawMessage(`[1]`), nil
	}}
}

// TestUntakenCallGoesToAnotherWorker: a worker that ends before it has read all of a call has run
// nothing of it, however it ended. Another one is given the call, and only the report mentions it.
func TestUntakenCallGoesToAnotherWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how   string
		bytes int
		state int // in bytes; one of a megabyte does not fit into the pipe at once
	}{
		"nothing read":            {"killed", 0, 1},
		"a part read":             {"killed", 100, 1},
		"a part written":          {"killed", 0, 1 << 20},
		"a part written and read": {"killed", 300 << 10, 1 << 20},
		"faulted":                 {"faulted", 10, 1},
		"left":                    {"left", 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dying(t, c.how, c.bytes)
			var reads atomic.Int64
			call := invocationOf(sandbox.Prepare, `const [x] = await ctx.mail.search({}); return a.length + x`)
			call.State = json.RawMessage(`"` + strings.Repeat("x", c.state) + `"`)
			r, err := p.Invoke(t.Context(), call, counting(&reads))
			if err != nil || string(r.Value) != strconv.Itoa(c.state+1) || r.Reads != 1 || reads.Load() != 1 {
				t.Errorf("%s, %v; %d reads", r.Value, err, reads.Load())
			}
			if r := p.Report(); r.Restarts != 1 || r.Deaths["worker.lost"] != 1 || len(r.Deaths) != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("description", func(t *testing.T) {
		t.Parallel()
		p := dying(t, "killed", 10)
		if d, problems, err := p.Describe(t.Context(), handlerSource(sandbox.Prepare, "")); err != nil ||
			d.Name != "w" {
			t.Errorf("%+v, %v, %v", d, problems, err)
		}
	})
	t.Run("mutate", func(t *testing.T) {
		t.Parallel()
		p := dying(t, "killed", 10)
		r, err := p.Invoke(t.Context(), invocationOf(sandbox.Mutate, `ctx.mail.send({n: 1})`), world)
		if err != nil || r.Call == nil || string(r.Call.Params) != `{"n":1}` {
			t.Errorf("%+v, %v", r.Call, err)
		}
	})
}

// TestTakenCallIsNotGivenAgain: a worker that has read all of a call may have run any of it. How it
// ended says whose fault that is, and no other worker is asked.
func TestTakenCallIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct {
		fault sandbox.Fault
		code  string
	}{"killed": {sandbox.FaultTransient, "worker.lost"}, "faulted": {sandbox.FaultScript, "limit.memory"},
		"terminated": {sandbox.FaultTransient, "worker.lost"}, "left": {sandbox.FaultScript, "limit.memory"},
		"crashed": {sandbox.FaultScript, "script.crashed"}, "gave up": {sandbox.FaultTransient, "worker.lost"}} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := dying(t, how, -1)
			_, err := p.Invoke(t.Context(), invocationOf(sandbox.Mutate, `ctx.mail.send({n: 1})`), world)
			wantFault(t, err, want.fault, want.code)
			if r := p.Report(); r.Restarts != 1 || r.Deaths[want.code] != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestCallIsGivenToTwoWorkersAtMost: a call that kills each worker that takes it ends with the second.
func TestCallIsGivenToTwoWorkersAtMost(t *testing.T) {
	t.Parallel()
	p := dying(t, "killed", 0, 0, 0)
	_, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `return 1`), world)
	wantContains(t, wantFault(t, err, sandbox.FaultTransient, "worker.lost").Message, "signal: killed",
		"before it took the call")
	if r := p.Report(); r.Deaths["worker.lost"] != 2 {
		t.Errorf("%+v", r)
	}
}

// TestDeadWorkerIsChosen: a call that gets a worker that has ended unnoticed goes to another.
func TestDeadWorkerIsChosen(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	w := onlyWorker(p)
	p.mu.Lock()
	p.idle = nil // so that it does not end as an idle one
	p.mu.Unlock()
	if err := w.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for known := true; known; runtime.Gosched() {
		p.mu.Lock()
		known = slices.Contains(p.all, w)
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.idle = append([]*process{w}, p.idle...)
	p.mu.Unlock()
	r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `return 1`), world)
	if err != nil || string(r.Value) != "1" {
		t.Errorf("%s, %v", r.Value, err)
	}
	if r := p.Report(); r.Deaths["worker.lost"] != 1 {
		t.Errorf("%+v", r)
	}
}

// halt stops the only worker of a pool, and returns once none of its threads goes on.
func halt(p *Pool) error {
	pid := p.Report().Workers[0].PID
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return err
	}
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil); err != unix.EINTR {
			return err
		}
	}
}

// TestCancelledCallIsNotGivenAgain: its answer is not waited for any more.
func TestCancelledCallIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	w := onlyWorker(p)
	if err := halt(p); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := p.Invoke(ctx, invocationOf(sandbox.Prepare, `return 1`), world)
		ended <- err
	}()
	for unread(w.In) == 0 {
		runtime.Gosched()
	}
	cancel()
	wantFault(t, <-ended, sandbox.FaultTransient, "script.cancelled")
	if r := p.Report(); r.Restarts != 1 || r.Deaths["script.cancelled"] != 1 {
		t.Errorf("%+v", r)
	}
}

// TestStoppedWorker: a worker that is stopped from outside until its time is over is the machine's
// fault. A call that it has not taken goes to another worker; one that it has taken can run again.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	stopsIn := func(p *Pool) sandbox.Host {
		return fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`1`), halt(p)
		}}
	}
	call := invocationOf(sandbox.Prepare, `return await ctx.mail.search({})`)
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, Config{Size: 1})
		if err := halt(p); err != nil {
			t.Fatal(err)
		}
		go elapse(p, time.Hour, func(c *exchange) bool { return c.running })
		var reads atomic.Int64
		r, err := p.Invoke(t.Context(), call, counting(&reads))
		if err != nil || string(r.Value) != "[1]" || reads.Load() != 1 {
			t.Errorf("%s, %v", r.Value, err)
		}
		if r := p.Report(); r.Deaths["worker.lost"] != 1 || len(r.Deaths) != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("in a call", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, Config{Size: 1})
		go elapse(p, time.Hour, func(c *exchange) bool { return c.running && c.sent > 0 })
		_, err := p.Invoke(t.Context(), call, stopsIn(p))
		wantContains(t, wantFault(t, err, sandbox.FaultTransient, "worker.lost").Message, "stopped", "nothing was sent")
		if r := p.Report(); r.Deaths["worker.lost"] != 1 || len(r.Deaths) != 1 {
			t.Errorf("%+v", r)
		}
	})
}
