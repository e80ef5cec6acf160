package effectdiff

import (
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

// mailer sends a mail for each order, to the customer that it reads.
const mailer = `export default Pawl.workflow({ name: "mailer", topics: { placed: {} }, consumers: { tell: {
  subscribe: ["placed"],
  async prepare(ctx, state) {
    const [order] = await ctx.peek("placed", { limit: 1 });
    if (!order) return { reservations: [], data: null };
    const customer = await ctx.shop.get({ id: order.payload.customer });
    return { reservations: [{ topic: "placed", ids: [order.id] }], ui: { title: "Mail " + order.id },
      data: { to: customer.mail, text: "Order " + order.id + ": " + order.payload.total, at: ctx.now() } };
  },
  async mutate(ctx, { data }) { await ctx.mail.send(data); },
} } });`

var definition = &eventlog.Definition{
	Topics: []eventlog.Topic{"placed"},
	Consumers: []eventlog.Consumer{
		{Name: "tell", Subscribe: []eventlog.Topic{"placed"}, HasMutate: true},
	},
	Operations: []eventlog.Operation{
		{Connector: "shop", Operation: "get", Kind: "get"}, {Connector: "mail", Operation: "send", Kind: "mutate"},
		{Connector: "mail", Operation: "draft", Kind: "mutate"},
	},
}

func recordings(n int) (all []recording.Recording) {
	for i := range n {
		id := fmt.Sprint("o-", i)
		all = append(all, recording.Recording{
			Run: eventlog.RunID(fmt.Sprint("R", i)), Version: "1.0", Handler: "tell",
			At: time.Date(2026, 3, 1, 8, 0, i, 0, time.UTC), Seed: 7,
			Pending: map[string][]sandbox.Event{"placed": {{MessageID: id, Topic: "placed", Title: id,
				Payload: json.RawMessage(fmt.Sprintf(`{"customer":"c%d","total":%d}`, i%3, i))}}},
			Reads: []recording.Read{{Connector: "shop", Operation: "get",
				Params: json.RawMessage(fmt.Sprintf(`{"id":"c%d"}`, i%3)),
				Answer: json.RawMessage(fmt.Sprintf(`{"mail":"c%d@example.com"}`, i%3))}},
		})
	}
	return all
}

func script(text string) Script {
	return Script{Source: sandbox.Source{Filename: "mailer.ts", Code: text}, Definition: definition}
}

// What another script would have done is named by its kind, field by field, and what cannot be replayed by its reason.
func TestKinds(t *testing.T) {
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	defer scripts.Close()
	failed := recordings(1)
	failed[0].Reads[0].Answer, failed[0].Reads[0].Failure = nil, &eventlog.Failure{Class: eventlog.Transient, Code: "c"}
	for name, c := range map[string]struct {
		from, to string
		of       []recording.Recording
		want     string
	}{
		"the same": {"await ctx.peek", "await  ctx.peek", nil,
			"same"},
		"a field": {"order.payload.total", "order.payload.total * 2", nil,
			`changed text: "Order o-2: 2" -> "Order o-2: 4"`},
		"a new field": {"at: ctx.now()", "at: ctx.now(), cc: null", nil,
			"changed cc:  -> null"},
		"another call": {"ctx.mail.send", "ctx.mail.draft", nil,
			"changed mail.send -> mail.draft"},
		"a person is asked": {"async mutate(", "approval: ({ data }) => data.text !== \"\", async mutate(", nil,
			`changed (approval): "as granted" -> "the script asks a person"`},
		"other events are reserved": {"ids: [order.id] }]", `ids: [order.id, "o-9"] }]`, nil,
			`changed (reserved): {"placed":["o-2"]} -> {"placed":["o-2","o-9"]}`},
		"an event is cancelled": {"ui: {", `cancel: [{ topic: "placed", ids: ["o-7"] }], ui: {`, nil,
			`changed (cancelled):  -> {"placed":["o-7"]}`},
		"no call": {"await ctx.mail.send(data)", "if (false) await ctx.mail.send(data)", nil,
			"gone"},
		"nothing chosen": {"if (!order)", "if (true)", nil,
			"gone"},
		"it throws": {"customer.mail", "customer.address.mail", nil,
			"fails TypeError: Cannot read property 'mail' of undefined line 8"},
		"another read": {"order.payload.customer }", `order.payload.customer + "!" }`, nil,
			`notReplayed the new script: shop.get({"id":"c2!"}) was not read then`},
		"reordered params": {"{ id: order.payload.customer }", "{ ...{}, id: order.payload.customer }", nil,
			"same"},
		"both fail": {"await ctx.peek", "await  ctx.peek", failed,
			"notReplayed both fail; the new script: "},
	} {
		t.Run(name, func(t *testing.T) {
			of := c.of
			if of == nil {
				of = recordings(3)[2:]
			}
			other := strings.Replace(mailer, c.from, c.to, 1)
			if other == mailer {
				t.Fatal("the scripts are the same")
			}
			effects, err := Compare(t.Context(), Config{Workflow: "mailer", Scripts: scripts}, script(mailer), script(other), of)
			if err != nil {
				t.Fatal(err)
			}
			e := effects[0]
			got := strings.TrimSpace(string(e.Kind) + " " + e.Error)
			if e.Line > 0 {
				got += fmt.Sprint(" line ", e.Line)
			}
			if e.Before != nil && e.After != nil && e.Before.Operation != e.After.Operation {
				got += " " + e.Before.Operation + " -> " + e.After.Operation
			}
			for _, f := range e.Fields {
				got += fmt.Sprintf(" %s: %s -> %s", f.Path, f.Before, f.After)
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A call that only the new script makes is new; what both leave is the same.
func TestNewCall(t *testing.T) {
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	defer scripts.Close()
	silent := strings.Replace(mailer, "await ctx.mail.send(data)", "", 1)
	effects, err := Compare(t.Context(), Config{Workflow: "mailer", Scripts: scripts}, script(silent), script(mailer),
		recordings(2))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range effects {
		if e.Kind != New || e.After.Title != fmt.Sprint("Mail o-", i) || e.Before != nil {
			t.Errorf("effect %d: %+v", i, e)
		}
	}
}

// 10,000 recorded runs of both scripts.
func BenchmarkCompare(b *testing.B) {
	scripts := vm.NewExecutor(vm.Config{})
	defer scripts.Close()
	all := recordings(10_000)
	other := script(strings.Replace(mailer, "order.payload.total", "order.payload.total * 2", 1))
	for b.Loop() {
		effects, err := Compare(b.Context(), Config{Workflow: "mailer", Scripts: scripts}, script(mailer), other, all)
		if err != nil || effects[9_999].Kind != Changed {
			b.Fatal(err)
		}
	}
}
