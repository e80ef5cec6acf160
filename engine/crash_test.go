package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
)

// scenario is a life of the orders workflow that a crash is put into.
type scenario struct {
	name   string
	source string
	world  func(*enginetest.World, clock.Clock)
	// effects is how many calls take effect in the end, consumed how many orders are consumed.
	effects, consumed int
}

var orders = []string{"a", "b", "c"}

var scenarios = []scenario{
	{name: "all well", effects: 3, consumed: 3},
	{name: "a definite transient failure first", effects: 3, consumed: 3, world: func(w *enginetest.World, _ clock.Clock) {
		var tried atomic.Bool
		w.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
			if tried.CompareAndSwap(false, true) {
				return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(eventlog.Transient, "world.busy")}
			}
			return w.Apply(call)
		})
	}},
	{name: "applied, but the answer is lost", effects: 3, consumed: 3, world: func(w *enginetest.World, _ clock.Clock) {
		w.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
			w.Apply(call)
			return connector.Outcome{Status: connector.Uncertain}
		})
	}},
	{name: "not applied, the answer is lost, known only later", effects: 3, consumed: 3,
		world: func(w *enginetest.World, _ clock.Clock) {
			var mu sync.Mutex
			lost, asked := map[string]bool{}, map[string]int{}
			w.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
				mu.Lock()
				defer mu.Unlock()
				if len(lost) == 0 {
					lost[call.Key] = true
					return connector.Outcome{Status: connector.Uncertain}
				}
				return w.Apply(call)
			})
			w.OnReconcile(func(call connector.Call) connector.Reconciliation {
				mu.Lock()
				defer mu.Unlock()
				if asked[call.Key]++; asked[call.Key] < 3 {
					return connector.Reconciliation{Verdict: connector.VerdictRetry}
				}
				if w.Effects()[call.Key] > 0 {
					return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: []byte(`{}`)}
				}
				return connector.Reconciliation{Verdict: connector.VerdictFailed}
			})
		}},
	{name: "still at work at a receiver that says failed meanwhile", effects: 3, consumed: 3,
		world: func(w *enginetest.World, its clock.Clock) {
			// For as long after the end of its call as after the deadline of one whose process has died: the timeout is 5s.
			w.Ending.Quiet = 5*time.Second + w.Ending.Unseen
			receiver := &busyReceiver{world: w, clock: its, busy: w.Ending.Quiet}
			w.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
				if receiver.take(call) {
					return connector.Outcome{Status: connector.Uncertain}
				}
				return w.Apply(call)
			})
		}},
}

// busyReceiver is at work on the first call for some time before that takes effect, and says until then that there
// is no trace of it.
type busyReceiver struct {
	world *enginetest.World
	clock clock.Clock
	busy  time.Duration

	mu    sync.Mutex
	first *connector.Call
	until time.Time
	done  bool
	asked int // while it was at work
}

// take reports whether the receiver is at work on the call from now on.
func (b *busyReceiver) take(call connector.Call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first != nil {
		b.finish()
		return false
	}
	b.first, b.until = &call, b.clock.Now().Add(b.busy-time.Millisecond)
	b.world.OnReconcile(b.answer)
	return true
}

func (b *busyReceiver) answer(call connector.Call) connector.Reconciliation {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.finish(); !b.done {
		b.asked++
	}
	if b.world.Effects()[call.Key] > 0 {
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: []byte(`{}`)}
	}
	return connector.Reconciliation{Verdict: connector.VerdictFailed}
}

// finish has the effect once its time has come.
func (b *busyReceiver) finish() {
	if !b.done && !b.clock.Now().Before(b.until) {
		b.done = true
		b.world.Apply(*b.first)
	}
}

// A process that dies before or after any append leaves a log from which the next one reaches
// the same end: each call took effect at most once, each order is consumed, nothing is orphaned,
// and the stored fold is the full one.
func TestCrashAtEveryAppend(t *testing.T) {
	t.Parallel()
	crashAtEveryAppend(t, ordersWorkflow, scenarios)
}

// The same holds of runs beside each other (C1, C5), also while their consumer probes a target that is down (C7).
func TestCrashAtEveryAppendOfAConcurrentConsumer(t *testing.T) {
	t.Parallel()
	down := scenario{name: "the target is down at first", effects: 3, consumed: 3,
		world: func(w *enginetest.World, _ clock.Clock) {
			var calls atomic.Int32
			w.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
				if calls.Add(1) <= 5 {
					return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(eventlog.Transient, "world.down")}
				}
				return w.Apply(call)
			})
		}}
	crashAtEveryAppend(t, sideBySide("concurrency: 2"), append(slices.Clip(scenarios), down))
}

func crashAtEveryAppend(t *testing.T, source string, scenarios []scenario) {
	t.Helper()
	for _, sc := range scenarios {
		sc.source = source
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			whole := runScenario(t, sc, 0, enginetest.BeforeAppend)
			if whole < 8 {
				t.Fatalf("the scenario makes only %d appends", whole)
			}
			step := 1
			if testing.Short() {
				step = 8 // a sample
			}
			for at := 1; at <= whole; at += step {
				for _, point := range []enginetest.CrashPoint{enginetest.BeforeAppend, enginetest.AfterAppend} {
					t.Run(fmt.Sprintf("append %d point %d", at, point), func(t *testing.T) {
						runScenario(t, sc, at, point)
					})
				}
			}
		})
	}
}

// A process that dies inside the call, before or after its effect, never causes a second one. Neither does one whose
// call is still open at a receiver that is at work on it and says meanwhile that it failed.
func TestCrashInsideCall(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"no effect", "effect", "still at work"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			b := enginetest.New(t)
			clock := enginetest.NewJumpClock(time.Hour)
			b.Config = engine.Config{Clock: clock, DrainTimeout: time.Nanosecond}
			below := b.Log
			log := enginetest.NewCrashLog(below, 0, enginetest.BeforeAppend)
			b.Log = log
			const timeout = 5 * time.Second // that of send
			receiver := &busyReceiver{world: b.World, clock: clock, busy: timeout + b.World.Ending.Unseen}
			b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
				switch c {
				case "effect":
					b.World.Apply(call)
				case "still at work":
					receiver.take(call)
				}
				log.Kill()
				return connector.Outcome{Status: connector.Applied}
			})
			e := b.Start()
			e.MustDeploy(ordersWorkflow)
			e.MustPush("orders", "order.in", "a")
			if err := e.Wait(); !errors.Is(err, eventlog.ErrClosed) {
				t.Fatalf("the process did not die: %v", err)
			}
			b.Log = below
			b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
				if c != "no effect" {
					t.Errorf("%s was sent, and the first call has its effect", call.Key)
				}
				return b.World.Apply(call)
			})
			s := b.Start().Rest("orders")
			if len(b.World.Effects()) != 1 || len(b.World.Twice()) > 0 {
				t.Fatalf("effects %v", b.World.Effects())
			}
			if c == "still at work" && receiver.asked == 0 {
				t.Error("the receiver was not asked while it was at work")
			}
			if s.Blocked != nil || len(decide.Orphans(s)) > 0 {
				t.Fatalf("blocked %+v orphans %v", s.Blocked, decide.Orphans(s))
			}
		})
	}
}

func runScenario(t *testing.T, sc scenario, at int, point enginetest.CrashPoint) (appends int) {
	t.Helper()
	b := enginetest.NewOn(t, memlog.New(memlog.Config{}))
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), DrainTimeout: time.Nanosecond}
	if sc.world != nil {
		sc.world(b.World, b.Config.Clock)
	}
	below := b.Log
	log := enginetest.NewCrashLog(below, at, point)
	b.Log = log
	e := b.Start()
	deployed := false
	done := 0
	drive := func(e *enginetest.Engine) {
		if !deployed {
			_, err := e.Deploy(t.Context(), enginetest.Tester,
				engine.DeployRequest{Source: sc.source, Filename: "orders.ts", GrantUsed: true})
			if err != nil {
				return
			}
			deployed = true
		}
		for ; done < len(orders); done++ {
			item := decide.PushItem{MessageID: eventlog.MessageID(orders[done]), Title: "Order",
				Payload: []byte(`{"id":"` + orders[done] + `"}`)}
			if _, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in", []decide.PushItem{item}); err != nil {
				return
			}
		}
	}
	drive(e)
	if at != 0 {
		// It dies in its own work, or comes to rest a few appends earlier than the whole run did:
		// how many there are depends on how pushes and runs fall together.
		_ = e.RestOrDie()
		_ = e.Stop()
		b.Log = below
		e = b.Start()
		drive(e) // pushes that were not acknowledged are made again
	}
	s := e.Rest("orders")
	check(t, b, sc, s)
	_ = e.Stop()
	b.MustAgree("orders")
	return log.Appends()
}

func check(t *testing.T, b *enginetest.Harness, sc scenario, s *projections.State) {
	t.Helper()
	if twice := b.World.Twice(); len(twice) > 0 {
		t.Fatalf("took effect twice: %v", twice)
	}
	if got := len(b.World.Effects()); got != sc.effects {
		t.Fatalf("%d effects, want %d: %v", got, sc.effects, b.Kinds("orders"))
	}
	for run := range s.OpenRuns() {
		t.Fatalf("run %s is not over: %+v\n%v", run.ID, run, b.Kinds("orders"))
	}
	if s.Blocked != nil || s.Maintenance != nil || s.CurrentRun() != nil || s.PendingRetry != "" ||
		len(decide.Orphans(s)) > 0 {
		t.Fatalf("not at rest: %+v orphans %v\n%v", s.Workflow, decide.Orphans(s), b.Kinds("orders"))
	}
	full := b.FullFold("orders")
	consumed := 0
	for _, e := range full.Events() {
		if e.Topic == "order.in" && e.Status == eventlog.EventStatusConsumed {
			consumed++
		}
	}
	if consumed != sc.consumed {
		t.Fatalf("%d consumed, want %d", consumed, sc.consumed)
	}
}
