package effectdiff

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// shop polls orders, books each, and publishes and counts what was booked.
const shop = `export default Pawl.workflow({ name: "shop", topics: { placed: {}, booked: {} }, producers: { poll: {
  interval: "1m",
  async handler(ctx, state) {
    const { orders } = await ctx.shop.list({ after: state?.after ?? 0 });
    for (const order of orders) {
      await ctx.publish("placed", { messageId: order.id, title: "Order " + order.id, payload: { total: order.total } });
    }
    return { after: orders.length, at: ctx.scheduledAt };
  } } }, consumers: { book: {
  subscribe: ["placed"],
  async prepare(ctx, state) {
    const [order] = await ctx.peek("placed", { limit: 1 });
    if (!order) return { reservations: [], data: null };
    return { reservations: [{ topic: "placed", ids: [order.id] }], ui: { title: "Book " + order.id },
      data: { id: order.id, count: (state?.count ?? 0) + 1 } };
  },
  async mutate(ctx, { data }) { await ctx.shop.book({ id: data.id }); },
  async next(ctx, { data }, outcome) {
    if (outcome.status !== "applied") return;
    await ctx.publish("booked", { messageId: data.id, title: "Booked", payload: { row: outcome.result.row } });
    return { count: data.count };
  },
} } });`

// polledAndBooked are a recorded poll and a recorded run of the consumer.
func polledAndBooked() []recording.Recording {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	return []recording.Recording{{
		Run: "P", Version: "1.0", Handler: "poll", At: at, ScheduledAt: at.Add(-time.Minute), Seed: 7,
		Phase: sandbox.Producer, State: json.RawMessage(`{"after":3}`),
		Reads: []recording.Read{{Connector: "shop", Operation: "list", Params: json.RawMessage(`{"after":3}`),
			Answer: json.RawMessage(`{"orders":[{"id":"a","total":1}]}`)}},
	}, {
		Run: "B", Version: "1.0", Handler: "book", At: at, Seed: 7, State: json.RawMessage(`{"count":4}`),
		Pending: map[string][]sandbox.Event{"placed": {{MessageID: "a", Topic: "placed", Title: "A",
			Payload: json.RawMessage(`{"total":1}`)}}},
	}}
}

func shopScript(text string) Script {
	return Script{Source: sandbox.Source{Filename: "shop.ts", Code: text}, Definition: &eventlog.Definition{
		Topics:    []eventlog.Topic{"placed", "booked"},
		Producers: []eventlog.Producer{{Name: "poll"}},
		Consumers: []eventlog.Consumer{
			{Name: "book", Subscribe: []eventlog.Topic{"placed"}, HasMutate: true,
				HasNext: strings.Contains(text, "async next")},
		},
		Operations: []eventlog.Operation{{Connector: "shop", Operation: "list", Kind: "list"},
			{Connector: "shop", Operation: "book", Kind: "mutate"}, {Connector: "shop", Operation: "note", Kind: "mutate"}},
	}}
}

// The differences in what a producer and next publish and return are named. next is told what became of the call
// that was recorded.
func TestNextAndProducers(t *testing.T) {
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	defer scripts.Close()
	applied := &Answer{Operation: "shop.book", Status: "applied", Result: json.RawMessage(`{"row":7}`)}
	for name, c := range map[string]struct {
		from, to string
		answer   *Answer
		poll     string
		book     string
	}{
		"the same":       {"await ctx.peek", "await  ctx.peek", applied, "same", "same"},
		"a poll's title": {`"Order " +`, `"New " +`, applied, `changed (published)[0].title: "Order a" -> "New a"`, "same"},
		"a poll's state": {"after: orders.length,", "after: 9,", applied, "changed (state).after: 1 -> 9", "same"},
		"a poll's input": {"for (const", `ctx.registerInput({ source: "s", type: "t", id: "1", title: "T" }); for (const`,
			applied, `changed (inputs):  -> [{"id":"` + sandbox.InputID("s", "t", "1") +
				`","source":"s","type":"t","externalId":"1","title":"T"}]`, "same"},
		"a poll fails": {"orders.length,", "orders.more.length,", applied, "fails TypeError", "same"},
		"a poll reads other": {"after: state?.after ?? 0", "after: 8", applied, "notReplayed the new script: shop.list",
			"same"},
		"the same time": {"ctx.scheduledAt", `"2026-03-01T07:59:00.000Z"`, applied, "same", "same"},
		"what next publishes": {"row: outcome", "line: outcome", applied, "same",
			`changed (published)[0].payload.line:  -> 7 (published)[0].payload.row: 7 -> `},
		"what next returns": {"count: data.count", "count: data.count + 1", applied, "same",
			"changed (state).count: 5 -> 6"},
		"next and prepare agree": {"data.count };", "data.sum };", applied, "same", "changed (state).count: 5 -> "},
		"next fails":             {"outcome.result.row", "outcome.result.line.row", applied, "same", "fails next: TypeError"},
		"no next": {"async next(", "async other(", applied, "same", `changed (published): [{"topics":["booked"],` +
			`"messageId":"a","title":"Booked","payload":{"row":7}}] ->  (state): {"count":5} -> `},
		"a person skipped": {"count: data.count", "count: 0", &Answer{Operation: "shop.book", Status: "skipped"},
			"same", "same"},
		"no answer is known": {"count: data.count", "count: 0", nil, "same", "same unknown"},
		"another call":       {"ctx.shop.book", "ctx.shop.note", applied, "same", "changed unknown"},
		"no call":            {"await ctx.shop.book({ id: data.id });", "", applied, "same", "gone unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			other := strings.Replace(shop, c.from, c.to, 1)
			if other == shop {
				t.Fatal("the scripts are the same")
			}
			effects, err := Compare(t.Context(), Config{Workflow: "shop", Scripts: scripts,
				Answers: func(_ context.Context, run eventlog.RunID) (*Answer, error) {
					if run != "B" {
						t.Errorf("asked for %s", run)
					}
					return c.answer, nil
				}}, shopScript(shop), shopScript(other), polledAndBooked())
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{c.poll, c.book} {
				e := effects[i]
				got := strings.TrimSpace(string(e.Kind) + " " + e.Error)
				for _, f := range e.Fields {
					got += fmt.Sprintf(" %s: %s -> %s", f.Path, f.Before, f.After)
				}
				if e.NextUnknown {
					got += " unknown"
				}
				if !strings.HasPrefix(got, want) || strings.HasPrefix(want, "same") && got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}
