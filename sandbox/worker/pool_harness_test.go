package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

var built struct {
	dir string
	// plain is a worker as a release has it: without C and without the race detector.
	plain func() (string, error)
	// withC is one with the C library.
	withC func() (string, error)
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == playing {
		os.Exit(play(os.Args[2], os.Args[3:]))
	}
	dir, err := os.MkdirTemp("", "pawl-worker")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Workers also run as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	built.plain = sync.OnceValues(func() (string, error) { return buildWorker("plain", "CGO_ENABLED=0") })
	built.withC = sync.OnceValues(func() (string, error) { return buildWorker("cgo", "CGO_ENABLED=1") })
	code := m.Run()
	if closeShared != nil {
		closeShared()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func buildWorker(name, cgo string) (string, error) {
	path := filepath.Join(built.dir, name)
	cmd := exec.Command("go", "build", "-o", path, "./testdata/worker")
	cmd.Env = append(os.Environ(), cgo, "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a worker with %s: %w\n%s", cgo, err, out)
	}
	return path, nil
}

// plainWorker is the path of a plain worker.
func plainWorker(t testing.TB) string {
	t.Helper()
	path, err := built.plain()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newPool makes a pool of its own, of plain workers unless it has a command.
func newPool(t testing.TB, config Config) *Pool {
	t.Helper()
	if config.Command == nil {
		path := plainWorker(t)
		config.Command = func() *exec.Cmd { return exec.Command(path) }
	}
	p, err := NewPool(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

var (
	closeShared func()
	sharedPool  = sync.OnceValues(func() (*Pool, error) {
		path, err := built.plain()
		if err != nil {
			return nil, err
		}
		p, err := NewPool(Config{Command: func() *exec.Cmd { return exec.Command(path) }})
		if err == nil {
			closeShared = func() { _ = p.Close() }
		}
		return p, err
	})
)

// onlyWorker is the one process of a pool, while it is idle.
func onlyWorker(p *Pool) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle[0]
}

// wantMemoryLimited wants a script that fills the memory to end for that.
func wantMemoryLimited(t *testing.T, p *Pool) {
	t.Helper()
	call := invocationOf(sandbox.Prepare, `const all = []; for (;;) all.push(new Array(1000).fill(1))`)
	call.Limits.CPU = sandbox.MaxCPU // which collecting garbage takes much of
	_, err := p.Invoke(t.Context(), call, world)
	e := wantFault(t, err, sandbox.FaultScript, "limit.memory")
	if e.Line != 1 || e.Column == 0 {
		t.Errorf("at %d:%d, want the handler's line", e.Line, e.Column)
	}
	wantContains(t, e.Message, "(policies.script.memory)")
}

// twin runs everything twice, in this process and in a worker process, and wants the same from both.
// So every test of behaviour is one of both executors.
type twin struct {
	t       testing.TB
	here    sandbox.Executor
	workers sandbox.Executor
}

func newExecutor(t testing.TB) sandbox.Executor {
	t.Helper()
	p, err := sharedPool()
	if err != nil {
		t.Fatal(err)
	}
	here := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() {
		if err := here.Close(); err != nil {
			t.Error(err)
		}
	})
	return twin{t, here, p}
}

func (x twin) Describe(ctx context.Context, source sandbox.Source) (sandbox.Definition, []sandbox.Problem, error) {
	d1, p1, err1 := x.here.Describe(ctx, source)
	d2, p2, err2 := x.workers.Describe(ctx, source)
	if !reflect.DeepEqual(d1, d2) || !reflect.DeepEqual(p1, p2) || fmt.Sprint(err1) != fmt.Sprint(err2) {
		x.t.Errorf("described differently:\nhere   %+v %+v %v\nworker %+v %+v %v", d1, p1, err1, d2, p2, err2)
	}
	return d2, p2, err2
}

func (x twin) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	r1, err1 := x.here.Invoke(ctx, call, host)
	r2, err2 := x.workers.Invoke(ctx, call, host)
	var e1, e2 *sandbox.Error
	errors.As(err1, &e1)
	errors.As(err2, &e2)
	if (e1 == nil) != (e2 == nil) || e1 != nil && !sameFault(e1, e2) {
		x.t.Errorf("failed differently:\nhere   %+v\nworker %+v", e1, e2)
	}
	s1, s2 := timeless(r1), timeless(r2)
	if e1 != nil {
		s1.Reads, s2.Reads = 0, 0 // how far others came beside the failure is chance
	}
	if m1, m2 := r1.Mutate, r2.Mutate; m1 != nil && m2 != nil {
		if (m1.Failure == nil) != (m2.Failure == nil) || m1.Failure != nil && !sameFault(m1.Failure, m2.Failure) ||
			!reflect.DeepEqual(timeless(m1.Result), timeless(m2.Result)) {
			x.t.Errorf("mutate ended differently:\nhere   %+v %+v\nworker %+v %+v", m1.Result, m1.Failure, m2.Result, m2.Failure)
		}
		s1.Mutate, s2.Mutate = nil, nil
	}
	if !reflect.DeepEqual(s1, s2) {
		x.t.Errorf("answered differently:\nhere   %+v\nworker %+v", s1, s2)
	}
	return r2, err2
}

// sameFault compares all that does not depend on the moment: a script that ran out of time may be
// interrupted at any column or between two of its functions, which is no line, and the stack of a
// panic in Go is that of its goroutine.
func sameFault(a, b *sandbox.Error) bool {
	same := a.Fault == b.Fault && a.Code == b.Code && a.Message == b.Message && a.Cause == b.Cause
	switch {
	case a.Code == "limit.cpu", a.Code == "limit.wall":
		return same && (a.Line == b.Line || a.Line == 0 || b.Line == 0)
	case a.Fault == sandbox.FaultInternal:
		return same && a.Line == b.Line
	}
	return same && a.Line == b.Line && a.Column == b.Column && a.Stack == b.Stack
}

// timeless is a result without what depends on when it was made.
func timeless(r sandbox.Result) sandbox.Result {
	logs := make([]sandbox.LogLine, len(r.Logs))
	for i, l := range r.Logs {
		logs[i] = sandbox.LogLine{Level: l.Level, Text: l.Text, Line: l.Line}
	}
	r.Logs = logs
	return r
}

func (x twin) Close() error { return errors.Join(x.here.Close(), x.workers.Close()) }

// executors are both executors, for tests that count what a host sees.
func executors(t *testing.T) map[string]sandbox.Executor {
	return map[string]sandbox.Executor{"in process": vm.NewExecutor(vm.Config{}),
		"in workers": newPool(t, Config{Size: 2})}
}

// elapse makes time pass for an exchange, as soon as there is one that fits: since it was last
// started or stopped. fits is called with the exchange locked.
func elapse(p *Pool, d time.Duration, fits func(*exchange) bool) {
	for passed := false; !passed; runtime.Gosched() {
		p.mu.Lock()
		exchanges := slices.Collect(maps.Values(p.busy))
		p.mu.Unlock()
		for _, c := range exchanges {
			c.mu.Lock()
			if !passed && !c.since.IsZero() && fits(c) {
				passed, c.since = true, c.since.Add(-d)
			}
			c.mu.Unlock()
		}
	}
}
