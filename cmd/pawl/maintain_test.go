package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

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

// maintainerMain is the maintainer as a command.
func maintainerMain() {
	text, err := io.ReadAll(os.Stdin)
	var answer []byte
	if err == nil {
		answer, err = corrected(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(answer))
	os.Exit(0)
}

// corrected is a maintainer without a mind: it corrects the line that the evidence names, if a fault that it knows is
// there, and touches no other.
func corrected(text []byte) ([]byte, error) {
	var evidence struct {
		Source string
		Error  struct {
			Line int
			Text string
		}
	}
	if err := json.Unmarshal(text, &evidence); err != nil {
		return nil, fmt.Errorf("this is no evidence: %w", err)
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
			return json.Marshal(map[string]string{"source": strings.Join(lines, "\n"), "note": fault.name})
		}
	}
	return nil, fmt.Errorf("line %d is no fault that is known: %s", evidence.Error.Line, evidence.Error.Text)
}

// Twenty seeded faults, half of them after the change has been made, are repaired without a person; the same work goes
// on, and each change is made once.
func TestMaintainerRepairsTwentyFaults(t *testing.T) {
	long(t)
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

// A maintainer behind a webhook, and one that is a tool on NATS, repair as a command does: with the evidence, each
// workflow by one call at a time, and the work goes on.
func TestMaintainersBehindWebhookAndTool(t *testing.T) {
	long(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sheets"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, dir, "pawl", "serve", "--data", ".pawl", "--csv", "./sheets", "--nats-listen", "127.0.0.1:0")
	token, err := datadir.TokenFor(filepath.Join(dir, ".pawl"), d.url)
	if err != nil {
		t.Fatal(err)
	}
	client := &rpc.Client{Operations: ops.Table(), URL: d.url, Token: token, Actor: "tester"}
	do := func(operation string, params map[string]any) {
		t.Helper()
		if err := client.Do(t.Context(), operation, params, nil); err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
	}
	await := func(fact string, many int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), longest)
		defer cancel()
		for _, err := range client.Log(ctx, rpc.LogQuery{Type: fact, Follow: true}) {
			if err != nil {
				t.Fatalf("%s, %d left: %v", fact, many, err)
			}
			if many--; many == 0 {
				return
			}
		}
	}
	for i, name := range []string{"hooked-0", "hooked-1", "hooked-2", "tooled-0"} {
		wrong := strings.ReplaceAll(logicFaults[i].wrong, "ORDER", "content")
		do("deployWorkflow", map[string]any{"source": faulty(name, wrong, "data.id"), "filename": name + ".ts",
			"grants": map[string]string{"csv.appendRow": "allow"}})
		do("pushEvents", map[string]any{"workflow": name, "topic": "order", "events": map[string]any{"messageId": "o-1",
			"title": "Order 1", "payload": json.RawMessage(faultyOrder)}})
	}
	await("run.failed", 4)

	var mu sync.Mutex
	underway, asked := map[string]int{}, map[string]int{}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("Pawl-Workflow")
		mu.Lock()
		underway[name]++
		asked[name]++
		if underway[name] > 1 || r.Header.Get("Authorization") != "Bearer maintainer-token" {
			t.Errorf("%s: %d at once, with %q", name, underway[name], r.Header.Get("Authorization"))
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			underway[name]--
		}()
		evidence, err := io.ReadAll(r.Body)
		var answer []byte
		if err == nil {
			answer, err = corrected(evidence)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		_, _ = w.Write(answer)
	}))
	defer hook.Close()
	maintain := func(args ...string) string {
		t.Helper()
		cmd := command(t, dir, "pawl", append([]string{"maintain", "--once", "--parallel", "4"}, args...)...)
		cmd.Env = append(cmd.Env, "PAWL_MAINTAINER_TOKEN=maintainer-token")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("maintain %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	out := maintain("--webhook", hook.URL, "-w", "hooked-0", "-w", "hooked-1", "-w", "hooked-2")
	for i, name := range []string{"hooked-0", "hooked-1", "hooked-2"} {
		if want := name + " is repaired and goes on as 1.1: " + logicFaults[i].name; !strings.Contains(out, want) ||
			asked[name] != 1 {
			t.Errorf("%s was asked about %d times:\n%s", name, asked[name], out)
		}
	}

	nc, err := nats.Connect(strings.TrimSpace(read(t, filepath.Join(dir, ".pawl", "nats", "connector.url"))))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	service, err := micro.AddService(nc, micro.Config{Name: "mender", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	err = service.AddGroup("pawl.tool.mender").AddEndpoint("repair", micro.HandlerFunc(func(r micro.Request) {
		var params struct{ Evidence json.RawMessage }
		err := json.Unmarshal(r.Data(), &params)
		var answer []byte
		if err == nil {
			answer, err = corrected(params.Evidence)
		}
		if err != nil {
			_ = r.Error("logic", err.Error(), nil) // the caller says that it was not repaired
			return
		}
		_ = r.Respond(answer) // the same
	}), micro.WithEndpointMetadata(map[string]string{"pawl.kind": "list"}))
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, 0, "pawl", "connectors", "list") // it looks for tools that were started a moment ago
	out = maintain("--tool", "mender.repair")
	if want := "tooled-0 is repaired and goes on as 1.1: " + logicFaults[3].name; !strings.Contains(out, want) {
		t.Errorf("with a tool:\n%s", out)
	}
	await("event.consumed", 4)
	for _, name := range []string{"hooked-0", "hooked-1", "hooked-2", "tooled-0"} {
		if rows := strings.Count(read(t, filepath.Join(dir, "sheets", name+".csv")), "\no-1,"); rows != 1 {
			t.Errorf("%s has written %d rows for one order", name, rows)
		}
	}
	d.stop()
}
