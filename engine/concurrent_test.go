package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// sideBySide is ordersWorkflow whose consumer has the members too, and no state.
func sideBySide(members string) string {
	source := strings.Replace(ordersWorkflow, `subscribe: ["order.in"],`, members+`, subscribe: ["order.in"],`, 1)
	return strings.Replace(source, "return { last: prepared.data.order ?? null };", "", 1)
}

// gates lets calls in, and keeps each until the test says what becomes of it.
type gates struct {
	world   *enginetest.World
	arrived chan string // the order of each call that has come in

	mu   sync.Mutex
	open map[string]chan connector.Outcome
}

func newGates(w *enginetest.World) *gates {
	g := &gates{world: w, arrived: make(chan string, 100), open: map[string]chan connector.Outcome{}}
	w.OnPerform(func(ctx context.Context, call connector.Call) connector.Outcome {
		var params struct{ Order string }
		if err := json.Unmarshal(call.Params, &params); err != nil {
			return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(eventlog.Logic, err.Error())}
		}
		gate := g.gate(params.Order)
		g.arrived <- params.Order
		select {
		case outcome := <-gate:
			if outcome.Status == connector.Applied {
				return w.Apply(call)
			}
			return outcome
		case <-ctx.Done():
			return connector.Outcome{Status: connector.Uncertain}
		}
	})
	return g
}

func (g *gates) gate(order string) chan connector.Outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[order] == nil {
		g.open[order] = make(chan connector.Outcome, 1)
	}
	return g.open[order]
}

// in waits for n calls to come in and names their orders.
func (g *gates) in(t *testing.T, n int) []string {
	t.Helper()
	var orders []string
	for range n {
		select {
		case order := <-g.arrived:
			orders = append(orders, order)
		case <-time.After(20 * time.Second):
			t.Fatalf("only the calls of %v have come in, want %d", orders, n)
		}
	}
	slices.Sort(orders)
	return orders
}

func (g *gates) end(order string, status connector.Status, failure *eventlog.Failure) {
	g.gate(order) <- connector.Outcome{Status: status, Failure: failure}
}

func (g *gates) apply(orders ...string) {
	for _, order := range orders {
		g.end(order, connector.Applied, nil)
	}
}

// C1, C3: as many calls as the consumer has places are open at once, and the next event begins as one ends.
func TestC1_RunsAreAtWorkBesideEachOther(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	g := newGates(b.World)
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 3"))
	e.MustPush("orders", "order.in", "a", "b", "c", "d", "e")
	if got := g.in(t, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("%v are under way", got)
	}
	active := 0
	s, _ := e.State("orders")
	for range s.Active("send") {
		active++
	}
	if active != 3 {
		t.Fatalf("%d runs are active, want 3", active)
	}
	g.apply("b")
	if got := g.in(t, 1); !slices.Equal(got, []string{"d"}) {
		t.Fatalf("%v begins", got)
	}
	g.apply("a", "c", "d", "e")
	atEnd(t, b, e, 5)
}

// atEnd checks that n orders are sent, each once, and nothing is open.
func atEnd(t *testing.T, b *enginetest.Harness, e *enginetest.Engine, n int) *projections.State {
	t.Helper()
	s := e.Rest("orders")
	for run := range s.OpenRuns() {
		t.Errorf("run %s is not over: %+v", run.ID, run)
	}
	if got := b.World.Effects(); len(got) != n || len(b.World.Twice()) > 0 {
		t.Errorf("effects %v, want %d", got, n)
	}
	if left := decide.Orphans(s); len(left) > 0 {
		t.Errorf("orphans %v", left)
	}
	full := b.FullFold("orders")
	consumed := 0
	for _, event := range full.Events() {
		if event.Topic == "order.in" && event.Status == eventlog.EventStatusConsumed {
			consumed++
		}
	}
	if consumed != n {
		t.Errorf("%d events are consumed, want %d", consumed, n)
	}
	return s
}

// C2: events of one key are worked on one after the other, those of others go on.
func TestC2_AKeyIsSerial(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	g := newGates(b.World)
	e := b.Start()
	e.MustDeploy(sideBySide(`concurrency: 8, key: "customer"`))
	var items []decide.PushItem
	for _, id := range []string{"a1", "a2", "b1", "a3", "b2"} {
		items = append(items, decide.PushItem{MessageID: eventlog.MessageID(id), Title: id,
			Payload: fmt.Appendf(nil, `{"id":%q,"customer":%q}`, id, id[:1])})
	}
	if _, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in", items); err != nil {
		t.Fatal(err)
	}
	if got := g.in(t, 2); !slices.Equal(got, []string{"a1", "b1"}) {
		t.Fatalf("%v are under way", got)
	}
	g.apply("a1")
	if got := g.in(t, 1); !slices.Equal(got, []string{"a2"}) {
		t.Fatalf("%v begins", got)
	}
	g.apply("b1")
	if got := g.in(t, 1); !slices.Equal(got, []string{"b2"}) {
		t.Fatalf("%v begins", got)
	}
	g.apply("a2", "a3", "b2")
	atEnd(t, b, e, 5)
}

// C3: one that waits for a person takes no place; approved, it waits for one.
func TestC3_AnApprovalKeepsNoPlace(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	g := newGates(b.World)
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 1"))
	ask := eventlog.GrantAsk
	grants := decide.ChangeGrants{Changes: map[string]*eventlog.Grant{"world.send": &ask}}
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", grants, "test"); err != nil {
		t.Fatal(err)
	}
	e.MustPush("orders", "order.in", "a", "b")
	s := e.Rest("orders")
	var asked []*projections.Mutation
	for _, m := range s.Mutations() {
		if m.Status == eventlog.MutationStatusAwaitingApproval {
			asked = append(asked, m)
		}
	}
	if len(asked) != 2 {
		t.Fatalf("%d calls await approval, want both", len(asked))
	}
	for _, m := range asked {
		approve := decide.Approve{Mutation: m.ID, ParamsHash: m.Call.ParamsHash}
		if err := e.Operate(t.Context(), enginetest.Tester, "orders", approve, "test"); err != nil {
			t.Fatal(err)
		}
	}
	g.in(t, 1)
	if s, _ := e.State("orders"); s.Places("send") != 1 {
		t.Fatalf("%d runs have a place at once", s.Places("send"))
	}
	g.apply("a", "b")
	g.in(t, 1)
	atEnd(t, b, e, 2)
}

// C1: prepare sees the event of its run and no other, also by id; C4: it has no state.
func TestC1_ARunSeesItsEventOnly(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(`
export default Keep.workflow({
  name: "orders",
  topics: { "order.in": {}, "order.sent": {} },
  consumers: {
    send: Keep.consumer({
      concurrency: 2, subscribe: ["order.in"],
      async prepare(ctx) {
        const events = await ctx.peek("order.in");
        const byId = await ctx.getByIds("order.in", ["a", "b", "c"]);
        return { reservations: [{ topic: "order.in", ids: [events[0].messageId] }],
          data: { peeked: events.map(e => e.messageId), byId: byId.map(e => e.messageId + " " + e.status) } };
      },
      async mutate(ctx, prepared) { await ctx.world.send(prepared.data); },
    }),
  },
});`)
	e.MustPush("orders", "order.in", "a", "b", "c")
	atEnd(t, b, e, 3)
	var got []string
	for _, params := range b.World.Params() {
		got = append(got, string(params))
	}
	slices.Sort(got)
	for i, id := range []string{"a", "b", "c"} {
		if want := fmt.Sprintf(`{"peeked":[%q],"byId":[%q]}`, id, id+" pending"); got[i] != want {
			t.Errorf("prepare saw %s, want %s", got[i], want)
		}
	}
}

// C8, F5: an engine that dies with several calls open is followed by one that asks about each and sends none again.
func TestC8_ACrashWithSeveralCallsOpen(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), DrainTimeout: time.Nanosecond}
	below := b.Log
	log := enginetest.NewCrashLog(below, 0, enginetest.BeforeAppend)
	b.Log = log
	var open sync.WaitGroup
	open.Add(4)
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if strings.ContainsAny(string(call.Params), "ac") {
			b.World.Apply(call)
		}
		open.Done()
		open.Wait()
		log.Kill()
		return connector.Outcome{Status: connector.Applied}
	})
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 4"))
	e.MustPush("orders", "order.in", "a", "b", "c", "d")
	if err := e.Wait(); err == nil {
		t.Fatal("the process did not die")
	}
	b.Log = below
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if strings.ContainsAny(string(call.Params), "ac") {
			t.Errorf("%s was sent again", call.Params)
		}
		return b.World.Apply(call)
	})
	atEnd(t, b, b.Start(), 4)
}

// C5: events that fail for different reasons hold themselves and nothing else.
func TestC5_OneFailureHoldsOneEvent(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		for order, class := range map[string]eventlog.Class{"b": eventlog.Permission, "e": eventlog.Precondition} {
			if strings.Contains(string(call.Params), order) && strings.Contains(string(call.Params), "x") {
				return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(class, "world.refuses")}
			}
		}
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 4"))
	ids := []string{"a", "xb", "c", "d", "xe", "f", "g"}
	e.MustPush("orders", "order.in", ids...)
	s := e.Rest("orders")
	if s.Blocked != nil || s.Maintenance != nil || len(b.World.Effects()) != 5 {
		t.Fatalf("blocked %+v, maintenance %+v, effects %v", s.Blocked, s.Maintenance, b.World.Effects())
	}
	held := 0
	for _, n := range s.Counts.Held {
		if n.Reason != eventlog.HeldPerson {
			t.Errorf("held: %+v", n)
		}
		held += n.Events
	}
	if held != 2 {
		t.Errorf("%d events are held, want 2: %+v", held, s.Counts.Held)
	}
	b.World.OnPerform(nil)
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.Resume{}, "resume"); err != nil {
		t.Fatal(err)
	}
	atEnd(t, b, e, len(ids))
}

// A push that comes while all handlers are at work is taken, and begins as soon as there is a place: the runner
// waits for no task.
func TestC3_AnEventBeginsWhileOthersAreAtWork(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	g := newGates(b.World)
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 2"))
	e.MustPush("orders", "order.in", "a")
	g.in(t, 1)
	e.MustPush("orders", "order.in", "b")
	if got := g.in(t, 1); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("%v begins", got)
	}
	g.apply("a", "b")
	atEnd(t, b, e, 2)
}

// F8, C12: an event that has failed so often that it needs attention keeps no engine from being idle, one that waits
// for its turn does.
func TestF8_AnEventThatNeedsAttentionIsIdle(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.Config.Policies = schedule.Default()
	b.Config.Policies.Transient.Retries = 1
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if strings.Contains(string(call.Params), "bad") {
			return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(eventlog.Transient, "world.busy")}
		}
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(sideBySide(`concurrency: 2, rate: "50/s"`))
	e.MustPush("orders", "order.in", "bad", "a", "b", "c", "d")
	s := e.Rest("orders")
	if len(b.World.Effects()) != 4 || s.Counts.Attention != 1 {
		t.Errorf("effects %v, %d events need attention", b.World.Effects(), s.Counts.Attention)
	}
}
