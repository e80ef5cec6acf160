package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// logicFault is a mistake that only a run finds: an expression that throws, and the right one. ORDER stands for what
// the event holds, in whatever phase.
type logicFault struct{ name, wrong, right string }

var logicFaults = []logicFault{
	{"absent member", `ORDER.amount.toFixed(2)`, `Number(ORDER.total).toFixed(2)`},
	{"text for a number", `ORDER.total.toFixed(2)`, `Number(ORDER.total).toFixed(2)`},
	{"parsed twice", `JSON.parse(ORDER).total`, `ORDER.total`},
	{"null for a list", `ORDER.tags.length`, `(ORDER.tags ?? []).length`},
	{"absent in a list", `ORDER.lines.map((l) => l.price.value)[0]`, `ORDER.lines.map((l) => l.n)[0]`},
	{"no date", `new Date(ORDER.day).toISOString()`, `new Date(ORDER.when).toISOString()`},
	{"no whole number", `Number(BigInt(ORDER.total))`, `Number(ORDER.total)`},
	{"not found", `ORDER.lines.find((l) => l.sku === "z").n`, `(ORDER.lines.find((l) => l.sku === "z")?.n ?? 0)`},
	{"no code of a letter", `decodeURIComponent(ORDER.percent)`, `ORDER.percent`},
	{"sum of nothing", `ORDER.none.reduce((a, b) => a + b)`, `ORDER.none.reduce((a, b) => a + b, 0)`},
}

// faultyOrder is the event on which each of the faults throws.
const faultyOrder = `{"total": "12.50", "when": "2026-03-01T08:00:00Z", "lines": [{"sku": "a", "n": 2}], "tags": null,
	"percent": "100%", "none": []}`

// faulty is a workflow that makes one change, with an expression in prepare and one in next.
func faulty(name, prepare, next string) string {
	return strings.NewReplacer("NAME", name, "PREPARE", prepare, "NEXT", next).Replace(`export default Pawl.workflow({
  name: "NAME",
  topics: { order: {}, told: {} },
  consumers: {
    book: Pawl.consumer({
      subscribe: ["order"],
      async prepare(ctx) {
        const [order] = await ctx.peek("order", { limit: 1 });
        if (!order) return { reservations: [], data: null };
        const content: any = order.payload;
        const value = PREPARE;
        return { reservations: [{ topic: "order", ids: [order.id] }], data: { id: order.id, value, content },
          ui: { title: ` + "`Book ${order.title}`" + ` } };
      },
      async mutate(ctx, { data }) {
        await ctx.csv.appendRow({ file: "NAME.csv", header: ["id", "value"], values: { id: data.id, value: data.value } });
      },
      async next(ctx, { data }) {
        if (!data) return;
        const told = NEXT;
        await ctx.publish("told", { messageId: data.id, title: ` + "`Order ${data.id}: ${told}`" + ` });
      },
    }),
  },
});
`)
}

// maintainerMain is a maintainer without a mind: it corrects the line that the evidence names, if a fault that it
// knows is there, and touches no other.
func maintainerMain() {
	text, err := io.ReadAll(os.Stdin)
	var evidence struct {
		Source string
		Error  struct {
			Line int
			Text string
		}
	}
	if err != nil || json.Unmarshal(text, &evidence) != nil {
		fmt.Fprintln(os.Stderr, "this is no evidence")
		os.Exit(1)
	}
	lines := strings.Split(evidence.Source, "\n")
	for _, fault := range logicFaults {
		for _, content := range []string{"content", "data.content"} {
			wrong := " = " + strings.ReplaceAll(fault.wrong, "ORDER", content) + ";"
			if !strings.HasSuffix(evidence.Error.Text, wrong) {
				continue
			}
			at := evidence.Error.Line - 1
			lines[at] = strings.Replace(lines[at], wrong, " = "+strings.ReplaceAll(fault.right, "ORDER", content)+";", 1)
			answer, err := json.Marshal(map[string]string{"source": strings.Join(lines, "\n"), "note": fault.name})
			if err != nil {
				os.Exit(1)
			}
			fmt.Println(string(answer))
			os.Exit(0)
		}
	}
	fmt.Fprintf(os.Stderr, "line %d is no fault that is known: %s\n", evidence.Error.Line, evidence.Error.Text)
	os.Exit(1)
}

// Twenty seeded faults, half of them after the change has been made, are repaired without a person; the same work goes
// on, and each change is made once.
func TestMaintainerRepairsTwentyFaults(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sheets"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, dir, "pawl", "serve", "--data", ".pawl", "--csv", "./sheets")
	token, err := datadir.TokenFor(filepath.Join(dir, ".pawl"), d.url)
	if err != nil {
		t.Fatal(err)
	}
	client := &rpc.Client{Operations: ops.Table(), URL: d.url, Token: token, Actor: "tester"}
	do := func(operation string, params map[string]any, out any) {
		t.Helper()
		if err := client.Do(t.Context(), operation, params, out); err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
	}
	names := map[string]string{}
	for i, fault := range logicFaults {
		for _, phase := range []string{"prepare", "next"} {
			name := fmt.Sprintf("%s-%02d", phase, i)
			names[name] = fault.name
			prepare, next := strings.ReplaceAll(fault.wrong, "ORDER", "content"), "data.id"
			if phase == "next" {
				prepare, next = "content.total", strings.ReplaceAll(fault.wrong, "ORDER", "data.content")
			}
			do("deployWorkflow", map[string]any{"source": faulty(name, prepare, next), "filename": name + ".ts",
				"grants": map[string]string{"csv.appendRow": "allow"}}, nil)
			do("pushEvents", map[string]any{"workflow": name, "topic": "order", "events": map[string]any{"messageId": "o-1",
				"title": "Order 1", "payload": json.RawMessage(faultyOrder)}}, nil)
		}
	}
	m := spawn(t, command(t, dir, "pawl", "maintain", "--command", "scripted-maintainer", "--parallel", "4"))
	consumed := 0
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	for _, err := range client.Log(ctx, rpc.LogQuery{Type: "event.consumed", Follow: true}) {
		if err != nil {
			t.Fatalf("%d of %d orders are done: %v\n%s", consumed, len(names), err, m.text())
		}
		if consumed++; consumed == len(names) {
			break
		}
	}
	for name, fault := range names {
		if !m.waitFor(regexp.MustCompile(`(?m)^`+name+` is repaired and goes on as 1\.1: `+fault+`$`), longest) {
			t.Errorf("%s is not reported as repaired:\n%s", name, m.text())
		}
		if rows := strings.Count(read(t, filepath.Join(dir, "sheets", name+".csv")), "\no-1,"); rows != 1 {
			t.Errorf("%s has written %d rows for one order", name, rows)
		}
		var told, mutations struct {
			Items []struct{ MessageID, Status string }
		}
		do("listWorkflowEvents", map[string]any{"workflow": name, "topic": "told"}, &told)
		do("listWorkflowMutations", map[string]any{"workflow": name}, &mutations)
		if len(told.Items) != 1 || len(mutations.Items) != 1 || mutations.Items[0].Status != "applied" {
			t.Errorf("%s (%s): told %+v, mutations %+v", name, fault, told.Items, mutations.Items)
		}
	}
	d.stop()
}
