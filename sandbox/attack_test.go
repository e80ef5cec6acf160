package sandbox

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
func attacks(t *testing.T) []attack {
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

// TestAttacks runs the corpus on workers, a harmless workflow beside it. Each attack ends within its
// limits with the error that names them; the harmless workflow and the engine do not notice.
func TestAttacks(t *testing.T) {
	all := attacks(t)
	if len(all) < 60 {
		t.Fatalf("only %d attacks", len(all))
	}
	// Real time depends on what else the machine does, and is not to be what ends any of them.
	limits := Limits{CPU: 100 * time.Millisecond, Wall: time.Minute}
	p := newPool(t, PoolConfig{Size: 3, Limits: limits})
	before := heapAfterCollection()

	ctx, stop := context.WithCancel(t.Context())
	var canary sync.WaitGroup
	var took []time.Duration
	canary.Go(func() {
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for ctx.Err() == nil {
			<-pace.C
			start := time.Now()
			call := invocationOf(Prepare, `const [m] = await ctx.mail.search({}); return m.id`)
			call.Workflow = "canary"
			r, err := p.Invoke(t.Context(), call, world)
			if err != nil || string(r.Value) != `"m1"` {
				t.Errorf("the harmless workflow: %s, %v", r.Value, err)
				return
			}
			took = append(took, time.Since(start))
		}
	})

	// Two at a time, so that none waits for a worker and the time of each is its own.
	two := make(chan struct{}, 2)
	t.Run("corpus", func(t *testing.T) {
		for _, a := range all {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				two <- struct{}{}
				defer func() { <-two }()
				limits := limits
				if !slices.Contains(a.expect, "limit.cpu") || strings.HasPrefix(a.name, "memory-") || strings.HasPrefix(a.name, "stack-") {
					limits.CPU = 10 * time.Second // which is not to be what ends it
				}
				if got := a.run(t, p, limits); !slices.Contains(a.expect, got) {
					t.Errorf("ended with %s, want one of %v", got, a.expect)
				}
			})
		}
	})
	stop()
	canary.Wait()

	slices.Sort(took)
	if len(took) < 20 {
		t.Fatalf("the harmless workflow ran %d times", len(took))
	}
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("harmless workflow: %d calls, median %s, worst %s; restarts %d", len(took), median, worst, p.Report().Restarts)
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

// run runs one attack and answers how it ended.
func (a attack) run(t *testing.T, p *Pool, limits Limits) string {
	t.Helper()
	if a.in == "describe" {
		_, problems, err := p.Describe(t.Context(), Source{Filename: a.name + ".js", Code: a.text})
		if err != nil {
			t.Fatalf("describe: %v", err)
		}
		for _, problem := range problems {
			if problem.Severity == SeverityError {
				return problem.Code
			}
		}
		return "ok"
	}
	call := invocationOf(Phase(a.in), a.text)
	call.Workflow, call.Limits = a.name, limits
	r, err := p.Invoke(t.Context(), call, world)
	var e *Error
	switch {
	case errors.As(err, &e):
		if e.Message == "" || len(e.Message) > 2*maxMessage || len(e.Stack) > 2*maxStack {
			t.Errorf("message %q, stack of %d bytes", clip(e.Message, 200), len(e.Stack))
		}
		if strings.HasPrefix(e.Code, "limit.") && !strings.Contains(e.Message, a.name) {
			t.Errorf("the message does not name the workflow: %s", e.Message)
		}
		if strings.HasPrefix(e.Code, "limit.") && e.Fault != FaultScript {
			t.Errorf("%s is blamed on %s", e.Code, e.Fault)
		}
		t.Log(e)
		return e.Code
	case err != nil:
		t.Fatalf("not a fault: %v", err)
	case r.Call != nil:
		if string(r.Call.Params) != `{"n":1}` {
			t.Errorf("called with %s", r.Call.Params)
		}
		return "call"
	}
	return "ok"
}
