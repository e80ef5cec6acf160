package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// C4, C9: what the consumer remembered while it was plain is given to no run of it.
func TestC4_ASavedStateIsNotGiven(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	source := strings.Replace(ordersWorkflow, "order: event.payload.id }",
		"order: event.payload.id, knows: state?.last ?? null }", 1)
	source = strings.Replace(source, "prepared.data.order ?? null };", `prepared.data.order ?? "empty" };`, 1)
	source = strings.Replace(source, "{ order: prepared.data.order }", "prepared.data", 1)
	e.MustDeploy(source)
	e.Rest("orders") // it has looked around and remembers that
	e.MustPush("orders", "order.in", "a")
	e.Rest("orders")
	e.MustPush("orders", "order.in", "b")
	e.Rest("orders")
	source = strings.Replace(source, `subscribe: ["order.in"],`, `concurrency: 2, subscribe: ["order.in"],`, 1)
	e.MustDeploy(strings.Replace(source, `return { last: prepared.data.order ?? "empty" };`, "", 1))
	e.MustPush("orders", "order.in", "c")
	atEnd(t, b, e, 3)
	var got []string
	for _, params := range b.World.Params() {
		got = append(got, string(params))
	}
	want := []string{`{"order":"a","knows":"empty"}`, `{"order":"b","knows":"empty"}`, `{"order":"c","knows":null}`}
	if !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
}

// C5: a repair is taken while events wait for one, although the workflow is not in maintenance, and lets them go on.
func TestC5_ARepairIsTakenForHeldEvents(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	repaired := sideBySide("concurrency: 2")
	e.MustDeploy(strings.Replace(repaired, "return {\n",
		`if (event.payload.id === "bad") throw new Error("bad");`+"\nreturn {\n", 1))
	repair := engine.RepairRequest{Source: repaired, Filename: "test.ts"}
	if _, err := e.Repair(t.Context(), enginetest.Tester, "orders", repair); err == nil {
		t.Error("a repair is taken although nothing waits for one")
	}
	e.MustPush("orders", "order.in", "bad", "a")
	if s := e.Rest("orders"); s.Maintenance != nil || len(b.World.Effects()) != 1 {
		t.Fatalf("maintenance %+v, effects %v", s.Maintenance, b.World.Effects())
	}
	result, err := e.Repair(t.Context(), enginetest.Tester, "orders", repair)
	if err != nil || result.Version != "1.1" {
		t.Fatalf("repaired to %q: %v", result.Version, err)
	}
	atEnd(t, b, e, 2)
}

// slowLog answers the first append of a kind only after so long.
type slowLog struct {
	eventlog.Log
	kind eventlog.FactType
	by   time.Duration
	done atomic.Bool
}

func (l *slowLog) Append(ctx context.Context, entry eventlog.Entry) (eventlog.Written, error) {
	written, err := l.Log.Append(ctx, entry)
	if entry.Kind == l.kind && l.done.CompareAndSwap(false, true) {
		<-time.After(l.by)
	}
	return written, err
}

// F11, C8: the run whose outcome the log has held up ends, and what is left of it is done a while later.
func TestF11_ASlowLogEndsTheRunThatWaited(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), Policies: schedule.Default()}
	b.Config.Policies.Storage.Wait = 100 * time.Millisecond
	b.Log = &slowLog{Log: b.Log, kind: "run.prepared", by: 150 * time.Millisecond}
	e := b.Start()
	e.MustDeploy(strings.Replace(sideBySide("concurrency: 1"),
		"await ctx.world.send({ order: prepared.data.order });", "", 1))
	e.MustPush("orders", "order.in", "a")
	s := e.Rest("orders")
	full := b.FullFold("orders")
	var codes []string
	for _, run := range full.Runs() {
		if run.Failure != nil {
			codes = append(codes, run.Failure.Code)
		}
	}
	if !slices.Contains(codes, "storage.slow") {
		t.Errorf("failures %v, want storage.slow", codes)
	}
	if event := full.Event("order.in", "a"); event.Status != eventlog.EventStatusConsumed || len(event.Attempts) != 1 {
		t.Errorf("the event: %+v", event)
	}
	if s.Backoff != nil {
		t.Errorf("the workflow backs off: %+v", s.Backoff)
	}
}

// F11, C8: no outcome of the plain run waited where the log was slow to record the start of another run beside it.
func TestF11_ASlowStartEndsNoOtherRun(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), Policies: schedule.Default()}
	b.Config.Policies.Storage.Wait = 100 * time.Millisecond
	// The first transition of this kind is the retry of a, which begins by itself.
	slow := &slowLog{Log: b.Log, kind: "run.started", by: 150 * time.Millisecond}
	b.Log = slow
	reading, read := make(chan struct{}), make(chan struct{})
	b.World.OnRead(func(connector.Call) (json.RawMessage, error) {
		close(reading)
		<-read
		return json.RawMessage(`{}`), nil
	})
	failed := false
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if !failed {
			failed = true
			return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(eventlog.Transient, "world.down")}
		}
		close(read)
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(strings.Replace(strings.Replace(sideBySide("concurrency: 1"), `topics: {`,
		`topics: { "other.in": {},`, 1), "consumers: {", `consumers: {
    plain: {
      subscribe: ["other.in"],
      async prepare(ctx) {
        const [event] = await ctx.peek("other.in");
        if (!event) return { reservations: [] };
        await ctx.world.get({});
        return { reservations: [{ topic: "other.in", ids: [event.messageId] }] };
      },
    },`, 1))
	e.MustPush("orders", "other.in", "p")
	<-reading
	e.MustPush("orders", "order.in", "a")
	e.Rest("orders")
	for _, run := range b.FullFold("orders").Runs() {
		if run.Handler == "plain" && run.Failure != nil {
			t.Errorf("the plain run: %+v", run.Failure)
		}
	}
	if !slow.done.Load() {
		t.Error("no run began by itself")
	}
}

// C3, O6: calls that were approved while all places were taken may be more than one transition holds; all of them leave
// after a resume, each once.
func TestC3_LargeCallsComeBackInTurn(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	ended := make(chan struct{})
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		<-ended
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(strings.Replace(sideBySide("concurrency: 6"), "{ order: prepared.data.order }",
		`{ order: prepared.data.order, file: "x".repeat(900000) }`, 1))
	operate := func(cmd decide.Command) {
		t.Helper()
		if err := e.Operate(t.Context(), enginetest.Tester, "orders", cmd, "test"); err != nil {
			t.Fatal(err)
		}
	}
	ask := eventlog.GrantAsk
	operate(decide.ChangeGrants{Changes: map[string]*eventlog.Grant{"world.send": &ask}})
	var orders []string
	for i := range 12 {
		orders = append(orders, fmt.Sprint("o", i))
	}
	e.MustPush("orders", "order.in", orders...)
	for _, m := range e.Rest("orders").Mutations() {
		operate(decide.Approve{Mutation: m.ID, ParamsHash: m.Call.ParamsHash})
	}
	operate(decide.Pause{}) // six have a place
	close(ended)
	e.Rest("orders")
	if got := len(b.World.Effects()); got != 6 {
		t.Fatalf("%d calls have left before the pause, want 6", got)
	}
	operate(decide.Resume{})
	atEnd(t, b, e, 12)
}

// barriers notes of the transitions that start mutations how many each starts, and how many are no barrier of the log.
type barriers struct {
	eventlog.Log
	mu      sync.Mutex
	started []int
	passed  int
}

func (l *barriers) Append(ctx context.Context, entry eventlog.Entry) (eventlog.Written, error) {
	t, err := eventlog.Decode(entry.Stored)
	n := 0
	for _, f := range t.Facts {
		if _, ok := f.(*eventlog.MutationStarted); ok {
			n++
		}
	}
	l.mu.Lock()
	if n > 0 {
		l.started = append(l.started, n)
		if !entry.Barrier {
			l.passed++
		}
	}
	l.mu.Unlock()
	if err != nil {
		return eventlog.Written{}, err
	}
	return l.Log.Append(ctx, entry)
}

// C3, F6: approved calls that get their places in one transition, here that of a deploy, all leave, and it is a barrier
// of the log.
func TestC3_SeveralCallsOfOneTransitionLeave(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	log := &barriers{Log: b.Log}
	b.Log = log
	g := newGates(b.World)
	e := b.Start()
	operate := func(cmd decide.Command) {
		t.Helper()
		if err := e.Operate(t.Context(), enginetest.Tester, "orders", cmd, "test"); err != nil {
			t.Fatal(err)
		}
	}
	e.MustDeploy(sideBySide("concurrency: 1"))
	ask := eventlog.GrantAsk
	operate(decide.ChangeGrants{Changes: map[string]*eventlog.Grant{"world.send": &ask}})
	e.MustPush("orders", "order.in", "a", "b", "c")
	s := e.Rest("orders")
	for _, m := range s.Mutations() {
		operate(decide.Approve{Mutation: m.ID, ParamsHash: m.Call.ParamsHash})
	}
	g.in(t, 1)
	e.MustDeploy(sideBySide("concurrency: 3"))
	g.in(t, 2)
	g.apply("a", "b", "c")
	atEnd(t, b, e, 3)
	if !slices.Equal(log.started, []int{1, 2}) || log.passed > 0 {
		t.Errorf("transitions started %v mutations, %d of them were no barrier; want 1, then 2 at once, all barriers",
			log.started, log.passed)
	}
}
