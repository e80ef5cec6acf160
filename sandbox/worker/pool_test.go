package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// TestWorkersAreConfined: on this operating system a worker has everything taken from it, and the
// pool says so.
func TestWorkersAreConfined(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	r := p.Report()
	want := confine.None
	if runtime.GOOS == "linux" {
		want = confine.Full
	}
	if r.Sandbox != string(want) || len(r.Workers) != 1 || r.Workers[0].Sandbox != string(want) ||
		(len(r.Missing) == 0) != (want == confine.Full) {
		t.Errorf("%+v", r)
	}
	t.Logf("an idle worker holds %d MiB", r.Workers[0].Memory>>20)
	if w := r.Workers[0]; w.PID == os.Getpid() || w.State != "idle" || w.Memory > 64<<20 {
		t.Errorf("%+v", w)
	}
}

// TestWorkerWithC: a worker with the C library linked starts again with small thread stacks, and is
// confined and works like any other.
func TestWorkerWithC(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it builds a worker")
	}
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	path, err := built.withC()
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return exec.Command(path) }, Require: confine.Full})
	for range 20 {
		r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare,
			`const [m] = await ctx.mail.search({}); return [...Array(1000).keys()].map(() => m.id).length`), world)
		if err != nil || string(r.Value) != "1000" {
			t.Fatalf("%s, %v", r.Value, err)
		}
	}
	wantMemoryLimited(t, p)
}

// TestRequiredConfinement: a pool whose workers are confined less than required does not start.
func TestRequiredConfinement(t *testing.T) {
	t.Parallel()
	p, err := NewPool(Config{Require: confine.Full, Command: func() *exec.Cmd { return itself(t, "unconfined") }})
	if err == nil {
		t.Fatal("started", p.Close())
	}
	wantContains(t, err.Error(), "none", "full is required")
}

// TestWorkersThatCannotStart are an error that says what they said.
func TestWorkersThatCannotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command func() *exec.Cmd
		memory  int64
		want    string
	}{
		"no program": {func() *exec.Cmd { return exec.Command("/no/such/worker") }, 0, "/no/such/worker"},
		"other program": {func() *exec.Cmd { return exec.Command("/bin/sh", "-c", "echo no worker here >&2; exit 3") },
			0, "no worker here"},
		"chatty": {func() *exec.Cmd { return exec.Command("/bin/echo", "hello, hello, hello, hello") }, 0,
			"malformed frame"},
		"little memory": {nil, 1 << 20, "too few"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := NewPool(Config{Command: c.command, Memory: c.memory})
			if err == nil {
				t.Fatal("started", p.Close())
			}
			wantContains(t, err.Error(), c.want)
		})
	}
}

// killing is a host whose read kills the worker that asked.
func killing(t *testing.T, p **Pool) fakeHost {
	return fakeHost{"mail.search": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		for _, w := range (*p).Report().Workers {
			if w.State == "reading" || w.State == "busy" {
				process, err := os.FindProcess(w.PID)
				if err != nil {
					t.Error(err)
				} else if err := process.Kill(); err != nil {
					t.Error(err)
				}
			}
		}
		return json.RawMessage(`1`), nil
	}}
}

// TestLostWorker: that another process kills a worker is not the call's fault; the call can be made again,
// and another worker takes the place.
func TestLostWorker(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	_, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `await ctx.mail.search({}); for (;;) {}`),
		killing(t, &p))
	e := wantFault(t, err, sandbox.FaultTransient, "worker.lost")
	wantContains(t, e.Message, "killed from outside", "nothing was sent")
	r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `return 1`), world)
	if err != nil || string(r.Value) != "1" {
		t.Errorf("%s, %v", r.Value, err)
	}
	if r := p.Report(); r.Restarts != 1 || r.Deaths["worker.lost"] != 1 {
		t.Errorf("%+v", r)
	}
}

// TestIdleWorkerIsReplaced before a call needs it, or when one does.
func TestIdleWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	w := onlyWorker(p)
	if err := w.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.Exited
	for range 2 {
		if r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `return 1`), world); err != nil ||
			string(r.Value) != "1" {
			t.Errorf("%s, %v", r.Value, err)
		}
	}
	if r := p.Report(); r.Restarts != 1 {
		t.Errorf("%+v", r)
	}
}

// TestACallWaitsForTheEndOfAProcess that died as its last call ended, while the others wait for reads: it counts until
// its end is known, and then the call starts another one.
func TestACallWaitsForTheEndOfAProcess(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, MaxWorkers: 2})
	acquire := func(key string) *process {
		w, _ := p.acquire(t.Context(), key, 0, false)
		return w
	}
	reading := acquire("reading")
	p.release("reading", 0) // its slot: it waits for a read
	dying := acquire("dying")
	started := make(chan *process, 1)
	go func() { started <- acquire("waiting") }()
	for waits := 0; waits == 0; runtime.Gosched() {
		p.mu.Lock()
		waits = p.scheduler.waiting()
		p.mu.Unlock()
	}
	p.mu.Lock() // so that its end is known only after its last call gave it back
	dying.Kill()
	<-dying.Exited
	now := time.Now()
	p.scheduler.returnSlot("dying", 0, now)
	p.scheduler.returnProcess("dying", 0, now)
	p.put(dying, now)
	p.dispatch()
	p.mu.Unlock()
	give := func(key string, w *process, slot bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if slot {
			p.scheduler.returnSlot(key, 0, now)
		}
		p.scheduler.returnProcess(key, 0, now)
		p.put(w, now)
	}
	select {
	case w := <-started:
		give("waiting", w, true)
	case <-time.After(time.Minute):
		t.Fatal("the call was given no process")
	}
	give("reading", reading, false)
}

// TestReadsLeaveTheirPlace: scripts that wait for a connector keep no other from computing.
func TestReadsLeaveTheirPlace(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	var reading sync.WaitGroup
	answer := make(chan struct{})
	host := fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
		reading.Done()
		<-answer
		return json.RawMessage(`[1]`), nil
	}}
	var calls sync.WaitGroup
	const waiting = 5
	reading.Add(waiting)
	for i := range waiting {
		calls.Go(func() {
			r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare,
				fmt.Sprintf(`const [x] = await ctx.mail.search({}); return x + %d`, i)), host)
			if err != nil || string(r.Value) != fmt.Sprint(i+1) {
				t.Errorf("%d: %s, %v", i, r.Value, err)
			}
		})
	}
	reading.Wait()
	if r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `return 7`), world); err != nil ||
		string(r.Value) != "7" {
		t.Errorf("%s, %v", r.Value, err)
	}
	if r := p.Report(); len(r.Workers) < waiting {
		t.Errorf("%+v", r)
	}
	close(answer)
	calls.Wait()
}

// TestSlowReadersLeaveProcesses: workflows whose reads take long wait for each other's processes, each
// gets its turn, and one that reads quickly finds a process all the while.
func TestSlowReadersLeaveProcesses(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, MaxWorkers: 3})
	var calls sync.WaitGroup
	defer calls.Wait()
	// slow is a call of a workflow whose read says that it is open, and lasts until it is answered.
	type slow struct {
		opened, ended chan struct{}
		answer        func()
	}
	read := func(workflow string) slow {
		answered := make(chan struct{})
		r := slow{opened: make(chan struct{}), ended: make(chan struct{}), answer: sync.OnceFunc(func() {
			close(answered)
		})}
		host := fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			close(r.opened)
			<-answered
			return json.RawMessage(`[1]`), nil
		}}
		call := invocationOf(sandbox.Prepare, `await ctx.mail.search({})`)
		call.Workflow = workflow
		calls.Go(func() {
			defer close(r.ended)
			if _, err := p.Invoke(t.Context(), call, host); err != nil {
				t.Errorf("%s: %v", workflow, err)
			}
		})
		return r
	}
	for _, workflow := range []string{"a", "b", "c"} {
		r := read(workflow)
		elapse(p, time.Minute, func(c *exchange) bool { return !c.running })
		r.answer()
		<-r.ended
	}

	a, b := read("a"), read("b")
	defer a.answer()
	defer b.answer()
	<-a.opened
	<-b.opened
	c := read("c")
	defer c.answer()
	// It either waits or has a process too: whichever it is, it is seen.
	for p.Report().Waiting == 0 {
		select {
		case <-c.opened:
			t.Fatal("three slow workflows hold all processes")
		default:
			runtime.Gosched()
		}
	}
	if _, err := callCanary(t.Context(), p); err != nil {
		t.Error(err)
	}
	select {
	case <-c.opened:
		t.Error("three slow workflows hold all processes")
	default:
	}
	b.answer()
	<-c.opened
}

// TestCancelledInNativeCode: a call that cannot be interrupted ends all the same, with its worker.
func TestCancelledInNativeCode(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("lease lost")
	host := fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
		time.AfterFunc(20*time.Millisecond, func() { cancel(reason) })
		return json.RawMessage(`1`), nil
	}}
	call := invocationOf(sandbox.Prepare, `await ctx.mail.search({}); Array.prototype.includes.call({ length: 2 ** `+
		`53 - 1 }, 1)`)
	call.Limits.CPU = sandbox.MaxCPU // which would name another reason
	_, err := p.Invoke(ctx, call, host)
	if e := wantFault(t, err, sandbox.FaultTransient, "script.cancelled"); !errors.Is(e, reason) {
		t.Errorf("cause %v", e.Cause)
	}
}

// TestBusyMachine: scripts that compute too long while others take the processors are ended by their
// own workers, which know the line and live on.
func TestBusyMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it keeps all processors busy")
	}
	t.Parallel()
	many := 4 * runtime.NumCPU()
	p := newPool(t, Config{Size: many})
	var calls sync.WaitGroup
	for i := range many {
		calls.Go(func() {
			call := invocationOf(sandbox.Prepare, "\nfor (;;) { Math.abs(1) }")
			call.Workflow, call.Limits.CPU = fmt.Sprint("w", i), 300*time.Millisecond
			_, err := p.Invoke(t.Context(), call, world)
			var e *sandbox.Error
			if !errors.As(err, &e) || e.Code != "limit.cpu" || e.Line != 2 {
				t.Errorf("ended with %+v", err)
			}
		})
	}
	calls.Wait()
	if r := p.Report(); r.Restarts != 0 {
		t.Errorf("%d workers were killed: %v", r.Restarts, r.Deaths)
	}
}

// TestSourcesComeAndGo: a worker keeps so many scripts and no more, and none is taken for another.
func TestSourcesComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: hundreds of sources")
	}
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	for round := range 2 {
		for i := range maxLoaded + 10 {
			r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, fmt.Sprint("return ", i)), world)
			if err != nil || string(r.Value) != fmt.Sprint(i) {
				t.Fatalf("round %d, %d: %s, %v", round, i, r.Value, err)
			}
		}
	}
	if w := p.Report().Workers[0]; w.Scripts != maxLoaded || w.Calls != 2*(maxLoaded+10) {
		t.Errorf("%+v", w)
	}
	large := strings.Repeat("x", 200<<10)
	for i := range 20 {
		r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, fmt.Sprintf("return %d // %s", i, large)), world)
		if err != nil || string(r.Value) != fmt.Sprint(i) {
			t.Fatalf("%d: %s, %v", i, r.Value, err)
		}
	}
	if w := p.Report().Workers[0]; w.Scripts > 6 {
		t.Errorf("keeps %d large scripts", w.Scripts)
	}
}

// TestMemoryIsGivenBack: what one call used does not count against the next.
func TestMemoryIsGivenBack(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it takes 3 s")
	}
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	call := invocationOf(sandbox.Prepare, `let n = 0; for (let i = 0; i < 8; i++) n += "x".repeat(3 << 20).length + `+
		`i; return n`)
	for i := range 30 {
		if _, err := p.Invoke(t.Context(), call, world); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if r := p.Report(); r.Restarts != 0 {
		t.Errorf("%+v", r)
	}
}

// TestTooLargeArguments end before they reach a worker, and so does an answer to a read.
func TestTooLargeArguments(t *testing.T) {
	t.Parallel()
	call := invocationOf(sandbox.Prepare, `return 1`)
	call.Workflow, call.Limits.Argument = "w", 1000
	call.State = json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)
	_, err := newExecutor(t).Invoke(t.Context(), call, world)
	wantContains(t, wantFault(t, err, sandbox.FaultScript, "limit.argument").Message, "1000",
		`prepare of consumer "h" of workflow w`)
	call = invocationOf(sandbox.Prepare, "\ntry { await ctx.mail.search({}) } catch {}")
	call.Limits.Argument = 1000
	_, err = newExecutor(t).Invoke(t.Context(), call,
		fakeHost{"mail.search": answers(`"` + strings.Repeat("x", 2000) + `"`)})
	if e := wantFault(t, err, sandbox.FaultScript, "limit.argument"); e.Line != 2 {
		t.Errorf("line %d", e.Line)
	}
}

// TestCallsWaitForWorkersThatAreBeingStarted: calls that come with the pool take the workers that it is
// starting anyway, and do not start more.
func TestCallsWaitForWorkersThatAreBeingStarted(t *testing.T) {
	t.Parallel()
	const size = 4
	p := newPool(t, Config{Size: size})
	var calls sync.WaitGroup
	for range 4 * size {
		calls.Go(func() {
			if _, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, "return 1"), world); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(p.Report().Workers); n > size {
		t.Errorf("%d workers were started for a pool of %d", n, size)
	}
}
