package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// turnsWorkflow has two consumers that send one event a run. One of them fails each event once.
const turnsWorkflow = `
const consumer = (topic) => Keep.consumer({
  subscribe: [topic],
  maxAttempts: 2,
  async prepare(ctx) {
    const [event] = await ctx.peek(topic, { limit: 1 });
    if (!event) return { reservations: [] };
    return { reservations: [{ topic, ids: [event.id] }], data: event.payload };
  },
  async mutate(ctx, prepared) { await ctx.world.send(prepared.data); },
});
export default Keep.workflow({ name: "turns", topics: { a: {}, b: {} }, consumers: { one: consumer("a"), two: consumer("b") } });
`

// inMemory says how many pending events are in memory, and how many only have their place there.
func inMemory(s *projections.State, topics ...eventlog.Topic) (whole, paged int) {
	for _, topic := range topics {
		for q := range s.Queue(topic) {
			if s.PendingAt(topic, q.Created) == nil {
				paged++
			} else {
				whole++
			}
		}
	}
	return whole, paged
}

func operate(t *testing.T, e *enginetest.Engine, workflow eventlog.WorkflowName, cmd decide.Command) {
	t.Helper()
	if err := e.Operate(t.Context(), enginetest.Tester, workflow, cmd, "test"); err != nil {
		t.Fatal(err)
	}
}

// flushed waits until the store has all and memory has let go of what it may.
func flushed(t *testing.T, e *enginetest.Engine, workflow eventlog.WorkflowName) *projections.State {
	t.Helper()
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	// a record evicts
	operate(t, e, workflow, decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}})
	s, _ := e.State(workflow)
	return &s
}

// Of a long backlog only the oldest events are in memory, also after a restart. Order, dedupe (R11) and
// what a person does to single events are as if all of them were.
func TestALongBacklogIsPagedOut(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.Config.FlushEvery = time.Hour // the test flushes
	b.Config.Window = projections.Window{Events: 4, Bytes: 1 << 20}
	e := b.Start()
	e.MustDeploy(turnsWorkflow)
	e.Rest("turns")
	operate(t, e, "turns", decide.Pause{})
	const each = 40
	var want []string
	for i := range each {
		for _, topic := range []eventlog.Topic{"a", "b"} {
			id := fmt.Sprintf("%s%d", topic, i)
			e.MustPush("turns", topic, id)
			want = append(want, fmt.Sprintf(`{"id":%q}`, id))
		}
	}
	if whole, paged := inMemory(e.Rest("turns"), "a", "b"); whole != 2*each || paged != 0 {
		t.Fatalf("before a flush %d events are in memory, %d are paged out; memory alone has them", whole, paged)
	}
	if whole, paged := inMemory(flushed(t, e, "turns"), "a", "b"); whole != 4 || paged != 2*each-4 {
		t.Fatalf("%d events are in memory, %d paged out; want 4 and %d", whole, paged, 2*each-4)
	}

	// R11: a paged out event is known.
	again := func(result string) {
		t.Helper()
		got, err := e.Push(t.Context(), enginetest.Tester, "turns", "a",
			[]decide.PushItem{{MessageID: "a30", Title: "again", Payload: json.RawMessage(`{"id":"again"}`)}})
		if err != nil || len(got) != 1 || got[0].Result != result || got[0].Status != eventlog.EventStatusPending {
			t.Fatalf("a known event was pushed again: %+v, %v", got, err)
		}
	}
	again("updated")
	want[60] = `{"id":"again"}`
	operate(t, e, "turns", decide.CancelJob{Topic: "b", MessageID: "b31", Reason: "not this one"})
	want = slices.Delete(want, 63, 64)

	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	e = b.Start()
	s := e.Rest("turns")
	if whole, paged := inMemory(s, "a", "b"); whole != 0 || paged != 2*each-1 {
		t.Fatalf("after a restart %d events are in memory, %d paged out; want none and %d", whole, paged, 2*each-1)
	}
	again("updated")
	operate(t, e, "turns", decide.Resume{})
	s = e.Rest("turns")
	var got []string
	for _, params := range b.World.Params() {
		got = append(got, string(params))
	}
	if !slices.Equal(got, want) {
		t.Errorf("events were sent in the order\n%q, want\n%q", got, want)
	}
	if len(s.Waiting) != 0 || len(b.World.Twice()) != 0 {
		t.Errorf("still waiting: %v; sent twice: %v", s.Waiting, b.World.Twice())
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("turns")
}

// A job that waits for its retry is found when it is due, though it is paged out (J2).
func TestHiddenJobsComeDueWhilePagedOut(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	manual := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b.Config.Clock, b.Config.FlushEvery = manual, time.Hour
	b.Config.Window = projections.Window{Events: 1, Bytes: 1}
	b.Config.Jitter = func() float64 { return 0.5 }
	failed := map[string]bool{}
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if first := !failed[string(call.Params)]; first {
			failed[string(call.Params)] = true
			return connector.Outcome{Status: connector.Failed, Failure: &eventlog.Failure{Class: eventlog.Logic, Code: "refused",
				Message: "not now"}}
		}
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(turnsWorkflow)
	e.MustPush("turns", "a", "x", "y", "z")
	if _, err := e.Advance(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s := flushed(t, e, "turns")
	if whole, paged := inMemory(s, "a"); paged < 2 || whole+paged != 3 || len(b.World.Effects()) != 0 {
		t.Fatalf("%d events are in memory, %d paged out, effects %v", whole, paged, b.World.Effects())
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	e = b.Start()
	if _, err := e.Advance(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if wait, _ := e.Why("turns"); wait == nil || wait.Reason != decide.ReasonBackoff || wait.Subject != "x" {
		t.Fatalf("waits for %+v", wait)
	}
	if _, err := e.Advance(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	if sent := b.World.Params(); len(sent) != 3 || len(b.World.Twice()) != 0 {
		t.Errorf("sent %s, twice %v", sent, b.World.Twice())
	}
}

// The store is written when there is much to write, whatever the time: until then memory holds it.
func TestTheStoreIsWrittenBySizeToo(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	b.Config.FlushEvery = time.Hour
	e := b.Start()
	e.MustDeploy(turnsWorkflow)
	e.Rest("turns")
	operate(t, e, "turns", decide.Pause{})
	payload := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for i := range 12 {
		id := eventlog.MessageID(fmt.Sprint("m", i))
		if _, err := e.Push(t.Context(), enginetest.Tester, "turns", "a",
			[]decide.PushItem{{MessageID: id, Title: "T", Payload: payload}}); err != nil {
			t.Fatal(err)
		}
	}
	if cp, found, err := b.Store.Checkpoint(0); err != nil || !found || cp.Seq == 0 {
		t.Errorf("after 12 MiB of events the store is at %+v (%v, %v)", cp, found, err)
	}
}
