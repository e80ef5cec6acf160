package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Each limit of a handler call is the policy's, and the run's error names it, its workflow and its
// handler.
func TestLimitsComeFromPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*schedule.Script)
		shop   shop
		ends   string
		code   string
	}{
		"cpu": {
			func(s *schedule.Script) { s.CPU = time.Second }, shop{prepare: `for (;;) {}`},
			"preparing failed:logic none", "limit.cpu",
		},
		"wall": {
			func(s *schedule.Script) { s.CPU, s.Wall = sandbox.MaxCPU, 4*time.Second }, shop{prepare: `for (;;) {}`},
			"preparing failed:logic none", "limit.wall",
		},
		"reads": {
			func(s *schedule.Script) { s.Reads = 1 }, shop{prepare: `await ctx.world.list({});`},
			"preparing paused:transient none", "limit.reads",
		},
		"hostCalls": {
			func(s *schedule.Script) { s.HostCalls = 5 },
			shop{prepare: `for (let i = 0; i < 9; i++) await ctx.peek("orders");`},
			"preparing failed:logic none", "limit.hostCalls",
		},
		"result": {
			func(s *schedule.Script) { s.Result = 200 },
			shop{prepare: `return { reservations: [], data: "x".repeat(300) };`},
			"preparing failed:logic none", "limit.result",
		},
		"stack": {
			func(s *schedule.Script) { s.Stack = 20 },
			shop{prepare: `const down = (n) => n && down(n - 1); down(50); return { reservations: [], data: null };`},
			"preparing failed:logic none", "limit.stack",
		},
		"argument": {
			func(s *schedule.Script) { s.Argument = 200 },
			shop{prepare: `return { reservations: [], data: "x".repeat(300) };`},
			"emitting failed:logic none", "limit.argument",
		},
		"publish": {
			func(s *schedule.Script) { s.Publish = 200 },
			shop{next: `await ctx.publish("letters", { messageId: "l", title: "Letter", payload: "x".repeat(300) });`},
			"emitting failed:logic success", "limit.publish",
		},
		"state": {
			func(s *schedule.Script) { s.State = 200 }, shop{next: `return "x".repeat(300);`},
			"emitting failed:logic success", "limit.state",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "cpu" || name == "wall") {
				t.Skip("left out by -short: it computes for seconds")
			}
			l := live(t, func(p *schedule.Policies) { c.change(&p.Script) })
			l.deploy(c.shop)
			l.push("a")
			l.pastLostWorkers()
			run := l.wantRun(c.ends)
			if run.Error.Code != c.code || !strings.Contains(run.Error.Message, `of consumer "send" of workflow shop`) {
				t.Errorf("the error: %+v", run.Error)
			}
			l.sound()
		})
	}
	t.Run("source", func(t *testing.T) {
		l := live(t, func(p *schedule.Policies) { p.Script.Source = 100 })
		p := l.refused("script.refused", "deployWorkflow", "source", shop{}.source(), "filename", "shop.ts")
		if len(p.Problems) != 1 || p.Problems[0].Code != "limit.source" {
			t.Errorf("the problems: %+v", p.Problems)
		}
		l.sound()
	})
}

// pastLostWorkers tries again while the newest run says that its worker was lost: on a machine that has no
// time for the worker no script is blamed.
func (l *life) pastLostWorkers() {
	l.t.Helper()
	for range 20 {
		if r := l.run("send"); r.Error == nil || r.Error.Code != "worker.lost" {
			return
		}
		l.advance("24h")
	}
}

// hangs holds its worker in one native function, so that only its death ends it.
const hangs = `Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);`

func shortCPU(p *schedule.Policies) { p.Script.CPU = 50 * time.Millisecond }

// F9 for limits: a script that kills its worker each time asks for a repair; the third failure in a
// row holds the workflow. From then on no run and no worker is spent on it.
func TestLimitFailuresEndInAHold(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it computes up to limits")
	}
	l := staffed(t, shortCPU)
	l.deploy(shop{prepare: hangs})
	l.push("a")
	for attempt := 1; attempt <= 3; attempt++ {
		failed := l.wantRun("preparing failed:logic none")
		if failed.Error.Code != "limit.cpu" {
			t.Fatalf("failure %d: %+v", attempt, failed.Error)
		}
		before := l.workers.Report()
		l.advance("24h")
		after := l.workers.Report()
		if runs := len(l.runs("send")); runs != attempt+1 { // and the empty one after the deploy
			t.Fatalf("%d runs after failure %d", runs, attempt)
		}
		// Mutate might have followed in the same call, so prepare has then ended a worker in a call of its own too.
		if before.Deaths["limit.cpu"] != 2*uint64(attempt) || after.Restarts != before.Restarts ||
			calls(after) != calls(before) {
			t.Fatalf("failure %d: workers before a day %+v, after it %+v", attempt, before, after)
		}
		l.wantEvent("a", "pending")
		if attempt < 3 {
			l.wantWorkflow("active maintenance")
			l.repair(shop{prepare: hangs + fmt.Sprintf("/* no better %d */", attempt)})
		}
	}
	l.wantWorkflow("error logic")
	l.wantWhy(decide.ReasonBlocked)
	l.deploy(shop{})
	l.wantEvent("a", "consumed")
	l.wantSent(1)
	l.sound()
}

// calls counts what the workers of a pool have served.
func calls(r worker.Report) (n uint64) {
	for _, w := range r.Workers {
		n += w.Calls
	}
	return n
}

// J2 for limits: with maxAttempts the event that breaks the limits is tried so often and put aside;
// the workflow goes on with the others.
func TestLimitFailuresDiscardTheirEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it computes up to limits")
	}
	l := staffed(t, shortCPU)
	l.deploy(shop{options: "maxAttempts: 2,", mutate: `if (data.order === "a") ` + hangs + call})
	l.push("a", "b")
	l.advance("24h")
	j := l.wantJob("a", "discarded", 3)
	for _, attempt := range j.Attempts {
		if attempt.Error == nil || attempt.Error.Code != "limit.cpu" {
			t.Errorf("attempt %d: %+v", attempt.N, attempt.Error)
		}
	}
	l.wantJob("b", "completed", 1)
	l.wantWorkflow("active")
	if r := l.workers.Report(); r.Deaths["limit.cpu"] != 3 || r.Restarts != 3 {
		t.Errorf("the workers: %+v", r)
	}
	l.wantSent(1)
	l.sound()
}
