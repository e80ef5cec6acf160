package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-run/pawl/cmd/pawl/internal/bench"
	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// wrongOnPurpose are the workflows of the tests with something to complain about, and what.
var wrongOnPurpose = map[string][]string{
	"refused.txtar/syntax.ts":   {"script.syntax"},
	"refused.txtar/schedule.ts": {deploy.CodeSchedule},
	"refused.txtar/many.ts": {deploy.CodeWorkflowName, deploy.CodeSchedule, deploy.CodeTopicUnknown, "publish.invalid",
		"call.notAwaited"},
	"refused.txtar/params.ts": {"state.neverReturned", connector.CodeParams},
	"refused.txtar/post.ts":   {connector.CodeParams},
	"example.js":              {"ui.title"}, // as it is documented
	"repair.txtar/broken.ts":  {"script.syntax"},
	"grants.txtar/orders.ts":  {"secret.unknown"}, // the configuration that has it is not read here
	"grants.txtar/orders2.ts": {"secret.unknown"},
	"grants.txtar/orders3.ts": {"secret.unknown"},
	"watch.txtar/broken.ts":   {"script.syntax"},
	"nats.txtar/bad.ts":       {"script.syntax"},
	"tokens.txtar/taken.ts":   {deploy.CodeWorkflowName},
	"webhook.ts":              {deploy.CodeSecret},                              // its configuration has it
	"vars.txtar/shop.ts":      {"vars.unknown", "vars.unknown", "vars.unknown"}, // its configuration has them
	"diff.txtar/other.ts":     {"reservation.never"},
	"fix.txtar/mended.ts":     {"mutate.codeAfter"},
	"fix.txtar/notes.ts": {"event.unknown", connector.CodeParams, connector.CodeParams, "mutate.codeAfter",
		"next.unguarded"},
	"init.txtar/warned.ts": {"event.unknown"}, // which --strict refuses
	"test.txtar/broken.ts": {"topic.unused", deploy.CodeTopicUnknown},
}

// joined looks up the events of one topic by those of another, and reserves one of each.
const joined = `export default Pawl.workflow({
  name: "join",
  topics: { order: {}, payment: {} },
  consumers: {
    join: Pawl.consumer({
      subscribe: ["order", "payment"],
      async prepare(ctx) {
        const payments = await ctx.peek("payment", { limit: 1000 });
        const orders = await ctx.getByIds("order", payments.map((p) => p.id));
        const order = orders.find((o) => o.status === "pending");
        if (!order) return { reservations: [], data: null };
        const payment = payments.find((p) => p.id === order.id);
        return {
          reservations: [{ topic: "order", ids: [order.id] }, { topic: "payment", ids: [payment.id] }],
          data: { id: order.id, amount: payment.payload.amount },
          ui: { title: "Post " + order.id },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/pairs", body: data });
      },
    }),
  },
});
`

// Every workflow of this repository passes the validator without a word: what is written here is what
// authors copy. Connectors that only some test starts are no complaint.
func TestWorkflowsHereAreClean(t *testing.T) {
	t.Parallel()
	workflows := map[string]string{
		"bench.ts":         bench.Source("bench", "http://localhost/orders", 0),
		"bench-one.ts":     bench.Source("bench", "http://localhost/orders", 64),
		"example.js":       read(t, "../../sandbox/testdata/example.js"),
		"counting.ts":      read(t, "example/tool/counting.ts"),
		"mail-to-sheet.ts": read(t, "example/mail-to-sheet.ts"),
		"orders.ts":        read(t, "internal/starter/templates/orders/orders.ts"),
		"webhook.ts":       read(t, "example/webhook-to-chat.ts"),
		"join.ts":          joined,
	}
	archives, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if text := string(f.Data); strings.Contains(text, "Pawl.workflow") || strings.Contains(text, "Keep.workflow") {
				workflows[filepath.Base(path)+"/"+f.Name] = string(f.Data)
			}
		}
	}
	if len(workflows) < 20 {
		t.Fatalf("only %d workflows were found", len(workflows))
	}
	registry, done, err := builtin.Alone(config.Connectors{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	for name, code := range workflows {
		t.Run(name, func(t *testing.T) {
			definition, problems, err := scripts.Describe(t.Context(), sandbox.Source{Filename: filepath.Base(name), Code: code})
			if err != nil {
				t.Fatal(err)
			}
			_, found := deploy.Check(deploy.Input{
				Definition: definition, Found: problems, Catalog: node.NewCatalog(registry),
				UnknownConnector: sandbox.SeverityWarning,
			})
			var codes []string
			for _, p := range found {
				if p.Code == deploy.CodeConnector {
					continue
				}
				if p.Code == "publish.messageIdConstant" && strings.Contains(name, ".txtar/") {
					continue // a test that wants one event publishes one
				}
				codes = append(codes, p.Code)
				if !slices.Contains(wrongOnPurpose[name], p.Code) {
					t.Log(term.Problem(name, p.Problem))
				}
			}
			if !slices.Equal(codes, wrongOnPurpose[name]) {
				t.Errorf("complaints %q, want %q", codes, wrongOnPurpose[name])
			}
		})
	}
}

// No script ends early: testscript has a command stop of its own, which takes the rest for passed.
func TestScriptsRunToTheirEnd(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d scripts were found: %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Comment)) {
			if fields := strings.Fields(line); slices.Contains(fields[:min(2, len(fields))], "stop") {
				t.Errorf("%s: %q ends the script; to end a program: interrupt NAME", path, strings.TrimSpace(line))
			}
		}
	}
}
