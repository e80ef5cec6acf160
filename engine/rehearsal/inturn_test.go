package rehearsal_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/sandbox"
)

// parcels has two concurrent consumers.
const parcels = `export default Pawl.workflow({ name: "parcels", topics: { paid: {}, packed: {} }, consumers: {
  pay: Pawl.consumer({ subscribe: ["paid"], concurrency: 4,
    async prepare(ctx) {
      const [e] = await ctx.peek("paid");
      return { reservations: [{ topic: "paid", ids: [e.id] }], data: e.id, ui: { title: "Pay " + e.id } };
    },
    async mutate(ctx, { data }) { await ctx.csv.appendRow({ file: "paid.csv", values: [data] }); },
  }),
  pack: Pawl.consumer({ subscribe: ["packed"], concurrency: 4,
    async prepare(ctx) {
      const [e] = await ctx.peek("packed");
      return { reservations: [{ topic: "packed", ids: [e.id] }], data: e.payload, ui: { title: "Pack " + e.id } };
    },
    async mutate(ctx, { data }) { await ctx.csv.appendRow({ file: "packed.csv", values: [data.to.name] }); },
    async next(ctx, { data }) { if (data.to.name === "nobody") throw new Error("nobody is there"); },
  }),
} });`

// The calls of concurrent events come in the order of the events, also where several consumers are at work and calls
// wait for an approval.
func TestCallsOfConcurrentEventsComeInOrder(t *testing.T) {
	t.Parallel()
	var steps strings.Builder
	for n := range 12 {
		id := strconv.Itoa(n)
		steps.WriteString(`t.push("paid", { messageId: "` + id + `" });` +
			`t.push("packed", { messageId: "` + id + `", payload: { to: { name: "` + id + `" } } });`)
	}
	calls := func(file string) {
		for n := range 12 {
			steps.WriteString(`t.expectCall("csv.appendRow", { file: "` + file + `", values: ["` + strconv.Itoa(n) + `"] });`)
		}
	}
	steps.WriteString("t.run();")
	expected := steps.String()
	steps.Reset()
	calls("packed.csv") // the consumers by name
	calls("paid.csv")
	calledAll := steps.String()
	for range 3 {
		if said, _ := run(t, parcels, ofCase(expected+calledAll)); said != "" {
			t.Fatal(said)
		}
	}
	approved := ofCase(`t.grants({ "csv.appendRow": "ask" });` + expected + `t.approve();`)
	first, _ := run(t, parcels, approved) // it lists the calls, which the case does not expect
	if n := strings.Count(first, "csv.appendRow was called"); n != 24 {
		t.Fatalf("%d calls with approvals, want 24: %s", n, first)
	}
	for range 3 {
		if said, _ := run(t, parcels, approved); said != first {
			t.Fatalf("the calls with approvals came as\n%s\nand then as\n%s", first, said)
		}
	}
}

// The typings name every reason that a case can expect.
func TestTypingsNameTheReasons(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(sandbox.Typings, "type PawlTestWait =")
	union, _, _ := strings.Cut(rest, ";")
	var typed []string
	for _, part := range strings.Split(union, "|") {
		typed = append(typed, strings.Trim(strings.TrimSpace(part), `"`))
	}
	var named []string
	for _, reason := range decide.Reasons() {
		named = append(named, string(reason))
	}
	if !slices.Equal(typed, named) {
		t.Errorf("the typings have %v, want %v", typed, named)
	}
}

// One run of a handler is one, although more events wait for a plain or a concurrent consumer; the next comes with the
// next step.
func TestOneRunAndNoMore(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]string{"plain": "", "concurrent": "concurrency: 4,"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `export default Pawl.workflow({ name: "n", topics: { in: {} }, consumers: {
  c: Pawl.consumer({ subscribe: ["in"], ` + declared + `
    async prepare(ctx) {
      const [e] = await ctx.peek("in", { limit: 1 });
      if (!e) return { reservations: [], data: null };
      return { reservations: [{ topic: "in", ids: [e.id] }], data: e.id, ui: { title: e.id } };
    },
    async mutate(ctx, { data }) { await ctx.csv.appendRow({ file: "n.csv", values: [data] }); },
  }),
} });`
			pushed := `t.push("in", { messageId: "a" }); t.push("in", { messageId: "b" }); t.push("in", { messageId: "c" });`
			one := func(id string) string {
				return `t.run("c"); t.expectCall("csv.appendRow", { file: "n.csv", values: ["` + id + `"] }); t.expectNoCalls();`
			}
			if said, _ := run(t, script, ofCase(pushed+one("a"))); said != "" {
				t.Errorf("one run: %s", said)
			}
			if said, _ := run(t, script, ofCase(pushed+one("a")+one("b")+
				`t.run(); t.expectCall("csv.appendRow", { file: "n.csv", values: ["c"] });`)); said != "" {
				t.Errorf("one run, one more and the rest: %s", said)
			}
		})
	}
}
