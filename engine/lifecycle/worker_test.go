package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// workerPath builds, once, a worker as a release has it: without the C library and without the race
// detector.
var workerPath func() (string, error)

func buildWorker(dir string) (string, error) {
	path := filepath.Join(dir, "worker")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../sandbox/worker/testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a worker: %w\n%s", err, out)
	}
	return path, nil
}

// staffed starts a life whose scripts run in worker processes. A transient failure is tried again
// after more time than a test takes.
func staffed(t *testing.T, change ...func(*schedule.Policies)) *life {
	t.Helper()
	t.Parallel()
	path, err := workerPath()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := worker.NewPool(worker.Config{
		Size: 2, Command: func() *exec.Cmd { return exec.Command(path) },
		Limits: sandbox.Limits{CPU: sandbox.MaxCPU}, // what computes is killed, not ended
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	change = append([]func(*schedule.Policies){func(p *schedule.Policies) {
		p.Transient.Base, p.Transient.Max = time.Hour, time.Hour
		p.Script.CPU = sandbox.MaxCPU
	}}, change...)
	return liveWith(t, newLog(t), pool, change...)
}

// computes holds a handler until its worker is killed, on the first day of its workflow's life.
const computes = `if (ctx.now() < Date.UTC(2026, 2, 1, 8, 30)) for (;;) {}`

// kill sends SIGKILL to the workers that fit, as soon as there is one, and returns once they are gone. One that
// fits later is left alone: it runs what comes after.
func (l *life) kill(fits func(worker.ProcessReport) bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	var killed []int
	for ; ctx.Err() == nil; runtime.Gosched() {
		alive, first := false, len(killed) == 0
		for _, w := range l.workers.Report().Workers {
			switch {
			case slices.Contains(killed, w.PID):
				alive = true
			case first && fits(w):
				process, err := os.FindProcess(w.PID)
				if err == nil {
					err = process.Kill()
				}
				if err != nil {
					l.t.Errorf("kill worker %d: %v", w.PID, err)
					return
				}
				killed, alive = append(killed, w.PID), true
			}
		}
		if len(killed) > 0 && !alive {
			return
		}
	}
	l.t.Errorf("no worker was there to be killed, or it did not go: %+v", l.workers.Report())
}

// killUntil kills every worker that fits until done is closed. One alone would not do: a call that
// its worker had not taken yet is given to another.
func (l *life) killUntil(done <-chan struct{}, fits func(worker.ProcessReport) bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	for ; ctx.Err() == nil; runtime.Gosched() {
		select {
		case <-done:
			return
		default:
		}
		for _, w := range l.workers.Report().Workers {
			if !fits(w) {
				continue
			}
			if process, err := os.FindProcess(w.PID); err == nil {
				_ = process.Kill() // the only error is that it is dead already
			}
		}
	}
	l.t.Errorf("no worker was there to be killed, or nothing came of it: %+v", l.workers.Report())
}

// computing fits the worker that runs this handler.
func computing(handler string) func(worker.ProcessReport) bool {
	return func(w worker.ProcessReport) bool { return w.Handler == handler && w.State == "busy" }
}

// within fits the worker that runs this handler or waits for its read.
func within(handler string) func(worker.ProcessReport) bool {
	return func(w worker.ProcessReport) bool { return w.Handler == handler }
}

// killsDuringRead kills the worker of the handler while its first read is open.
func (l *life) killsDuringRead(handler string) {
	first := true
	l.world.OnRead(func(connector.Call) (json.RawMessage, error) {
		l.mu.Lock()
		kill := first
		first = false
		l.mu.Unlock()
		if kill {
			l.kill(within(handler))
		}
		return json.RawMessage(`[]`), nil
	})
}

// loses makes a handler run by what do does, and kills its worker: while its first read is open, or while
// it computes.
func (l *life) loses(handler string, reads bool, do func()) {
	l.t.Helper()
	if reads {
		l.killsDuringRead(handler)
		do()
	} else {
		failed := l.follow("run.failed")
		do()
		var killing sync.WaitGroup
		defer killing.Wait()
		done := make(chan struct{})
		defer close(done)
		killing.Go(func() { l.killUntil(done, computing(handler)) })
		failed()
	}
	l.rest()
}

// wantLost wants one run to have ended because its worker was killed, and nothing else to have ended
// that way: the workflow is backing off.
func (l *life) wantLost(handler string, phase eventlog.Phase) readmodel.Run {
	l.t.Helper()
	var lost []readmodel.Run
	for _, r := range l.runs(handler) {
		if r.Error != nil {
			lost = append(lost, r)
		}
	}
	if len(lost) != 1 || lost[0].Phase != phase || lost[0].Status != eventlog.RunStatusPausedTransient ||
		lost[0].Error.Code != "worker.lost" || lost[0].EndedAt == 0 {
		l.t.Fatalf("the run whose worker was killed: %+v", lost)
	}
	if r := l.workers.Report(); r.Deaths["worker.lost"] == 0 || len(r.Deaths) != 1 {
		l.t.Errorf("the workers died otherwise: %+v", r)
	}
	l.wantWhy(decide.ReasonBackoff)
	return lost[0]
}

// wantDone wants the order a to be completed in so many attempts by one call, and ends the test.
func (l *life) wantDone(attempts int) {
	l.t.Helper()
	l.wantJob("a", "completed", attempts)
	l.wantReceipt("a", "applied")
	l.wantSent(1)
	l.sound()
}

// A worker that is killed while its producer computes: nothing of the run is visible, and the poll
// is made again.
func TestWorkerKilledInProducer(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it kills real workers")
	}
	for name, body := range map[string]string{"computing": computes, "reading": `await ctx.world.list({});`} {
		t.Run(name, func(t *testing.T) {
			l := staffed(t)
			s := shop{producer: `await ctx.publish("orders", { messageId: "a", title: "Order a" });` + body}
			l.loses(`producer "poll"`, name == "reading", func() {
				l.do("deployWorkflow", nil, "source", s.source(), "filename", "shop.ts", "grants", map[string]any{"*": "allow"})
			})
			l.wantLost("poll", eventlog.PhaseExecuting)
			var events readmodel.Page[readmodel.Event]
			if l.do("listWorkflowEvents", &events); len(events.Items) != 0 {
				t.Fatalf("events of a run that failed are visible: %+v", events.Items)
			}
			l.advance("90m")
			l.wantRun("committed committed success")
			l.wantDone(1)
		})
	}
}

// A worker that is killed before its run has a call in flight: the events are free, and a fresh run
// takes them. One call leaves in all.
func TestWorkerKilledBeforeTheCall(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it kills real workers")
	}
	for name, c := range map[string]struct {
		shop     shop
		handler  string
		reads    bool
		phase    eventlog.Phase
		attempts int
	}{
		"prepare computes": {shop{prepare: computes}, `prepare of consumer "send"`, false, eventlog.PhasePreparing, 1},
		"prepare reads": {shop{prepare: `await ctx.world.list({});`}, `prepare of consumer "send"`, true,
			eventlog.PhasePreparing, 1},
		"mutate computes": {shop{mutate: computes + call}, `mutate of consumer "send"`, false, eventlog.PhaseMutating, 2},
		"mutate reads": {shop{options: `mutateReads: "byId",`, mutate: `await ctx.world.get({ id: data.order });` + call},
			`mutate of consumer "send"`, true, eventlog.PhaseMutating, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := staffed(t)
			l.deploy(c.shop)
			l.loses(c.handler, c.reads, func() { l.pushed("a") })
			failed := l.wantLost("send", c.phase)
			l.wantEvent("a", "pending")
			l.wantWorkflow("active")
			l.wantSent(0)
			l.advance("90m")
			if fresh := l.wantRun("committed committed success"); fresh.RetryOf != nil || fresh.ID == failed.ID {
				t.Fatalf("not a fresh run: %+v", fresh)
			}
			l.wantDone(c.attempts)
		})
	}
}

// Workers that are killed while a call is in flight: the call is none of theirs. It settles, or is
// asked about, as if nothing had been, and its run goes on.
func TestWorkersKilledDuringTheCall(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it kills real workers")
	}
	for name, c := range map[string]struct {
		then outcome
		ends string
	}{"answered": {applied, "applied"}, "answer lost": {lostApplied, "applied reconcile"}} {
		t.Run(name, func(t *testing.T) {
			l := staffed(t)
			l.deploy(shop{})
			before := l.workers.Report().Workers
			l.sends(func(w *enginetest.World, call connector.Call) connector.Outcome {
				l.kill(func(w worker.ProcessReport) bool {
					return slices.ContainsFunc(before, func(b worker.ProcessReport) bool { return b.PID == w.PID })
				})
				return c.then(w, call)
			})
			l.push("a")
			run := l.wantRun("committed committed success")
			if run.RetryOf != nil || run.Error != nil {
				t.Fatalf("the run: %+v", run)
			}
			l.wantMutation(c.ends)
			l.wantDone(1)
		})
	}
}

// A worker that is killed after the call: the events stay held, and a retry run makes next again
// with the same result. Nothing is sent again.
func TestWorkerKilledInNext(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it kills real workers")
	}
	l := staffed(t)
	l.deploy(shop{next: computes})
	l.loses(`next of consumer "send"`, false, func() { l.pushed("a") })
	failed := l.wantLost("send", eventlog.PhaseEmitting)
	l.wantEvent("a", "reserved")
	l.wantWorkflow("active retry")
	l.advance("90m")
	if retry := l.wantRun("committed committed success"); retry.RetryOf == nil || *retry.RetryOf != failed.ID ||
		*retry.Mutation != *failed.Mutation {
		t.Fatalf("the retry run: %+v", retry)
	}
	l.wantDone(1)
}

// A worker that is killed while it reads a definition: the deploy is refused for the moment, nothing
// of it is there, and the next one goes through.
func TestWorkerKilledDuringDeploy(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it kills real workers")
	}
	l := staffed(t)
	answer, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		answer <- l.try("deployWorkflow", nil, "source", "for (;;) {}\n"+shop{}.source(), "filename", "shop.ts")
	}()
	l.killUntil(done, computing(""))
	var p *rpc.Problem
	if err := <-answer; !errors.As(err, &p) || p.Code != "worker.unavailable" ||
		p.Status != http.StatusServiceUnavailable {
		t.Fatalf("the deploy: %v (%+v)", err, p)
	}
	l.refused("workflow.unknown", "getWorkflow")
	l.deploy(shop{})
	l.push("a")
	l.wantEvent("a", "consumed")
	l.sound()
}
