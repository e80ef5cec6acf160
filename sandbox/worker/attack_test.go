package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// attack is a hostile script: what it is run as, and how it may end.
type attack struct {
	name   string
	in     string
	expect []string // codes; `ok` is a good end, `call` a mutation call
	text   string
}

// attacks reads the corpus. A file begins with `// in: PHASE` (the body of that handler, or `describe`
// for a whole script) and `// expect: CODE…`.
func attacks(t testing.TB) []attack {
	t.Helper()
	paths, err := filepath.Glob("testdata/attacks/*.js")
	if err != nil {
		t.Fatal(err)
	}
	var all []attack
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a := attack{name: strings.TrimSuffix(filepath.Base(path), ".js"), text: string(text)}
		lines := strings.SplitN(a.text, "\n", 3)
		in, hasIn := strings.CutPrefix(lines[0], "// in: ")
		expect, hasExpect := strings.CutPrefix(lines[1], "// expect: ")
		if !hasIn || !hasExpect {
			t.Fatalf("%s does not say what it is and how it ends", path)
		}
		a.in, a.expect = in, strings.Fields(expect)
		all = append(all, a)
	}
	return all
}

// maxHeap bounds the engine's heap while it is under attack. It holds frames of what workers answer,
// never what scripts have made of their own memory.
const maxHeap = 256 << 20

// TestAttacks runs the corpus on workers, a harmless workflow beside it. Each attack ends with the
// error that names its limit; the harmless workflow and the engine do not notice.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("lets a hundred scripts reach their limits: left out by -short")
	}
	if againWithoutRace(t) { // with it, filling the memory takes longer than the longest limit of processor time
		return
	}
	all := attacks(t)
	if len(all) < 60 {
		t.Fatalf("only %d attacks", len(all))
	}
	// Real time depends on what else the machine does, and is not to be what ends any of them.
	limits := sandbox.Limits{CPU: 100 * time.Millisecond, Wall: time.Hour}
	p := newPool(t, Config{Size: 3, Limits: limits})
	before := heapAfterCollection()

	ctx, stop := context.WithCancel(t.Context())
	var canary sync.WaitGroup
	var took []time.Duration
	var heap uint64
	canary.Go(func() {
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for ctx.Err() == nil {
			<-pace.C
			elapsed, err := callCanary(t.Context(), p)
			if err != nil {
				t.Error(err)
				return
			}
			took = append(took, elapsed)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
		}
	})

	// Two at a time: one place stays for the harmless workflow.
	two := make(chan struct{}, 2)
	t.Run("corpus", func(t *testing.T) {
		for _, a := range all {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				two <- struct{}{}
				defer func() { <-two }()
				limits := limits
				if !slices.Contains(a.expect, "limit.cpu") || strings.HasPrefix(a.name, "memory-") ||
					strings.HasPrefix(a.name, "stack-") {
					limits.CPU = sandbox.MaxCPU // which is not to be what ends it
				}
				got, elapsed := a.run(t, p, limits)
				t.Logf("ended with %s after %s", got, elapsed)
				if !slices.Contains(a.expect, got) {
					t.Errorf("ended with %s, want one of %v", got, a.expect)
				}
			})
		}
	})
	stop()
	canary.Wait()

	if len(took) == 0 {
		t.Fatal("the harmless workflow never ran")
	}
	p50, p99 := percentiles(took)
	t.Logf("harmless workflow: %d calls, p50 %s, p99 %s; restarts %d; heap at most %d MiB", len(took), p50, p99,
		p.Report().Restarts, heap>>20)
	if heap > maxHeap {
		t.Errorf("the engine's heap had %d MiB", heap>>20)
	}
	if grown := heapAfterCollection() - before; grown > 32<<20 {
		t.Errorf("the engine's heap grew by %d MiB", grown>>20)
	}
}

func heapAfterCollection() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// run runs one attack and answers how it ended, and how long a worker was busy with it.
func (a attack) run(t *testing.T, p *Pool, limits sandbox.Limits) (code string, elapsed time.Duration) {
	t.Helper()
	start := time.Now()
	if a.in == "describe" {
		_, problems, err := p.Describe(t.Context(), sandbox.Source{Filename: a.name + ".js", Code: a.text})
		if err != nil {
			t.Fatalf("describe: %v", err)
		}
		for _, problem := range problems {
			if problem.Severity == sandbox.SeverityError {
				return problem.Code, time.Since(start)
			}
		}
		return "ok", time.Since(start)
	}
	call := invocationOf(sandbox.Phase(a.in), a.text)
	call.Workflow, call.Limits = a.name, limits
	r, err := p.Invoke(t.Context(), call, world)
	elapsed = time.Since(start)
	var e *sandbox.Error
	switch {
	case errors.As(err, &e):
		if e.Message == "" || len(e.Message) > 2*sandbox.MaxMessage || len(e.Stack) > 2*sandbox.MaxStackText {
			t.Errorf("message %q, stack of %d bytes", sandbox.Clip(e.Message, 200), len(e.Stack))
		}
		if strings.HasPrefix(e.Code, "limit.") && !strings.Contains(e.Message, a.name) {
			t.Errorf("the message does not name the workflow: %s", e.Message)
		}
		if strings.HasPrefix(e.Code, "limit.") && e.Fault != sandbox.FaultScript {
			t.Errorf("%s is blamed on %s", e.Code, e.Fault)
		}
		t.Log(sandbox.Clip(e.Error(), 200))
		return e.Code, elapsed
	case err != nil:
		t.Fatalf("not a fault: %v", err)
	case r.Call != nil:
		if string(r.Call.Params) != `{"n":1}` {
			t.Errorf("called with %s", r.Call.Params)
		}
		return "call", elapsed
	}
	return "ok", elapsed
}
