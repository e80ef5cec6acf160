package rehearsal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
	"github.com/pawl-run/pawl/engine/rehearsal"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// orders writes a row for each order that it polls, and tells the shop.
const orders = `export default Pawl.workflow({
  name: "orders",
  topics: { placed: {}, booked: {} },
  producers: {
    poll: Pawl.producer({
      interval: "5m",
      async handler(ctx, state) {
        const { orders } = await ctx.shop.list({ after: state?.after ?? "" });
        for (const o of orders) await ctx.publish("placed", { messageId: o.id, title: o.id, payload: o });
        return { after: orders.at(-1)?.id ?? state?.after ?? "" };
      },
    }),
  },
  consumers: {
    book: Pawl.consumer({
      subscribe: ["placed"],
      async prepare(ctx, state) {
        const [order] = await ctx.peek("placed", { limit: 1 });
        if (!order) return { reservations: [], data: null };
        if (order.payload.total < 0) throw new Error("a negative total: " + order.id);
        return {
          reservations: [{ topic: "placed", ids: [order.id] }],
          data: { ...order.payload, at: new Date(ctx.now()).toISOString(), n: (state?.n ?? 0) + 1 },
          ui: { title: "Book " + order.id },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.csv.appendRow({ file: "orders.csv", values: data });
      },
      async next(ctx, { data }, outcome) {
        if (!data) return;
        ctx.log(data.id + " is " + outcome.status);
        if (outcome.status === "applied") {
          await ctx.publish("booked", { messageId: data.id, title: "Row " + outcome.result?.row });
        }
        return { n: data.n };
      },
    }),
  },
});
`

// run runs the cases on a script, and lists their problems.
func run(t *testing.T, script, cases string) (string, rehearsal.Report) {
	t.Helper()
	return runOn(t, sheets(t), script, cases)
}

// runOn runs the cases on a script that may call what the connectors offer.
func runOn(t *testing.T, connectors []connector.Connector, script, cases string) (string, rehearsal.Report) {
	t.Helper()
	return runSuite(t, connectors, script, func(scripts sandbox.Executor) (rehearsal.Suite, error) {
		return rehearsal.Read(t.Context(), scripts, sandbox.Source{Filename: "orders.test.ts", Code: cases}, nil)
	})
}

// sheets is a connector of rows.
func sheets(t *testing.T) []connector.Connector {
	t.Helper()
	made, err := csv.New(csv.Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close() })
	return []connector.Connector{made}
}

// runSuite runs the cases that are read.
func runSuite(t *testing.T, connectors []connector.Connector, script string,
	read func(sandbox.Executor) (rehearsal.Suite, error)) (string, rehearsal.Report) {
	t.Helper()
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	registry, err := connector.NewRegistry(connectors...)
	if err != nil {
		t.Fatal(err)
	}
	suite, err := read(scripts)
	if err != nil {
		t.Fatal(err)
	}
	report, err := rehearsal.Run(t.Context(), rehearsal.Config{Scripts: scripts, Connectors: registry},
		sandbox.Source{Filename: "orders.ts", Code: script}, suite)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, p := range report.Refused {
		said = append(said, "refused: "+p.Code)
	}
	for _, c := range report.Cases {
		for _, p := range c.Problems {
			text := fmt.Sprintf("%s:%d: %s", c.Name, p.Line, p.Message)
			for _, d := range p.Differences {
				text += fmt.Sprintf(" [%s: %s, not %s]", d.Path, d.After, d.Before)
			}
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n"), report
}

// ofCase is a test file with one case.
func ofCase(steps string) string {
	return "export default Pawl.tests({\n  one(t) {\n" + steps + "\n  },\n}, { tools: { \"shop.list\": \"list\" } });\n"
}

// What holds is no problem.
func TestCasesThatHold(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"an event": `
			t.clock("2026-03-01T08:00:00Z");
			t.push("placed", { messageId: "o-1", title: "Order 1", payload: { id: "o-1", total: 20 } });
			t.answer("csv.appendRow", { result: { row: 7 } });
			t.run();
			t.expectCall("csv.appendRow", { file: "orders.csv", values: { id: "o-1", total: 20, at: "2026-03-01T08:00:00.000Z", n: 1 } });
			t.expectNoCalls();
			t.expectEvents("placed", [{ messageId: "o-1", status: "consumed" }]);
			t.expectEvents("booked", [{ messageId: "o-1", title: "Row 7", status: "pending" }]);
			t.expectState("book", { n: 1 });
			t.expectState("poll", undefined);
			t.expectLog("o-1 is applied");
			t.expectWaiting("scheduled");`,
		"what is pushed waits until something is expected": `
			t.push("placed", [{ messageId: "a", payload: { id: "a" } }, { messageId: "b", payload: { id: "b" } }]);
			t.expectCall("csv.appendRow");
			t.expectCall("csv.appendRow");`,
		"a poll, and the next ones": `
			t.state("book", { n: 4 });
			t.answer("shop.list", { result: { orders: [] } });
			t.answer("shop.list", { with: { after: "" }, result: { orders: [{ id: "a" }] } });
			t.poll();
			t.expectCall("csv.appendRow", { file: "orders.csv", values: { id: "a", at: "2026-01-01T00:00:00.000Z", n: 5 } });
			t.expectState("poll", { after: "a" });
			t.answer("shop.list", { with: { after: "a" }, result: { orders: [{ id: "b" }] }, times: 1 });
			t.advance("4m");
			t.expectNoCalls();
			t.advance("10m");
			t.expectCall("csv.appendRow", { file: "orders.csv", values: { id: "b", at: "2026-01-01T00:05:00.000Z", n: 6 } });
			t.expectState("poll", { after: "b" });`,
		"an interval waits for its time": `
			t.run();
			t.answer("shop.list", { result: { orders: [] } });
			t.advance("5m");
			t.expectState("poll", { after: "" });`,
		"a call that fails is made again": `
			t.fail("csv.appendRow");
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.run();
			t.expectCall("csv.appendRow");
			t.expectCall("csv.appendRow");
			t.expectState("book", { n: 1 });`,
		"a lost answer that is found out": `
			t.answer("csv.appendRow", { lost: "happened" });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.run();
			t.expectCall("csv.appendRow");
			t.expectState("book", { n: 1 });`,
		"a lost answer of what did not happen": `
			t.answer("csv.appendRow", { lost: "did-not-happen", times: 1 });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.run();
			t.expectCall("csv.appendRow");
			t.expectCall("csv.appendRow");`,
		"a lost answer, and a person": `
			t.answer("csv.appendRow", { lost: "unknown" });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.run();
			t.expectCall("csv.appendRow");
			t.expectWaiting("indeterminate");
			t.resolve("happened", { row: 3 });
			t.expectEvents("booked", [{ title: "Row 3" }]);`,
		"a crash before the request has left": `
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.crash("mutation.started");
			t.run();
			t.expectCall("csv.appendRow");
			t.expectEvents("placed", [{ status: "consumed" }]);`,
		"a crash after it was applied": `
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.crash("mutation.applied");
			t.run();
			t.expectCall("csv.appendRow");
			t.expectNoCalls();
			t.expectState("book", { n: 1 });`,
		"an approval": `
			t.grants({ "csv.appendRow": "ask" });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.expectWaiting("approval");
			t.expectNoCalls();
			t.approve();
			t.expectCall("csv.appendRow");`,
		"no approval": `
			t.grants({ "csv.appendRow": "ask" });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.reject();
			t.expectLog("a is skipped");`,
		"a failure that is expected": `
			t.push("placed", { messageId: "a", payload: { id: "a", total: -1 } });
			t.expectWaiting("maintenance", { code: "script.threw", message: "a negative total: a", line: 20 });
			t.skip("placed", "a");
			t.expectEvents("placed", [{ status: "skipped" }]);
			t.expectWaiting("maintenance");`,
		"a precondition": `
			t.fail("csv.appendRow", { class: "precondition", message: "the sheet is gone" });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.run();
			t.expectCall("csv.appendRow");
			t.expectWaiting("blocked", { message: "the sheet is gone" });
			t.resume();
			t.expectCall("csv.appendRow");`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said, _ := run(t, orders, ofCase(steps)); said != "" {
				t.Error(said)
			}
		})
	}
}

// What does not hold is said with the line of the test, and what happened instead.
func TestCasesThatDoNotHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ steps, want string }{
		"a call with other parameters": {`
			t.push("placed", { messageId: "a", payload: { id: "a", total: 2 } });
			t.expectCall("csv.appendRow", { file: "orders.csv", values: { id: "a", total: 3, n: 1 } });`,
			`one:5: csv.appendRow was called with other parameters ` +
				`[values.at: "2026-01-01T00:00:00.000Z", not ] [values.total: 2, not 3]`},
		"a crash that does not come": {`
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.expectCall("csv.appendRow");
			t.crash("mutation.applied");
			t.run();`,
			`one:6: the engine did not crash: nothing has written mutation.applied after this step. ` +
				`Put it before the step that the crash is to interrupt, and one crash at a time`},
		"a crash that does not come before the next one": {`
			t.crash("run.failed");
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.expectCall("csv.appendRow");
			t.crash("mutation.applied");
			t.push("placed", { messageId: "b", payload: { id: "b" } });
			t.expectCall("csv.appendRow");`,
			`one:4: the engine did not crash: nothing has written run.failed after this step. ` +
				`Put it before the step that the crash is to interrupt, and one crash at a time`},
		"a failure that does not come": {`
			t.answer("csv.appendRow", { with: { file: "typo.csv" }, fails: "precondition" });
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.expectCall("csv.appendRow");
			t.fail("csv.appendRow");`,
			`one:4: no call of csv.appendRow was given this answer: none has {"file":"typo.csv"}` +
				"\n" + `one:7: no call of csv.appendRow was given this answer`},
		"a call that was not made": {`
			t.run();
			t.expectCall("csv.appendRow");`,
			`one:5: csv.appendRow was not called; the workflow waits: scheduled`},
		"a call that nobody expects": {`
			t.push("placed", { messageId: "a", payload: { id: "a" } });`,
			`one:0: csv.appendRow was called, which the case does not expect: ` +
				`{"file":"orders.csv","values":{"id":"a","at":"2026-01-01T00:00:00.000Z","n":1}}`},
		"events that are others": {`
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.expectCall("csv.appendRow");
			t.expectEvents("booked", [{ messageId: "b" }, { messageId: "c" }]);`,
			`one:6: booked has other events [[0].messageId: "a", not "b"] [[1]: , not {"messageId":"c"}]`},
		"a state that is another": {`
			t.push("placed", { messageId: "a", payload: { id: "a" } });
			t.expectCall("csv.appendRow");
			t.expectState("book", { n: 2 });`,
			`one:6: book remembers something else [n: 1, not 2]`},
		"a read without an answer": {`
			t.poll();
			t.expectWaiting("maintenance");`,
			`one:4: shop.list({"after":""}) has no answer: a step "answer" with its result gives one`},
		"an answer that is none": {`
			t.answer("csv.appendRow", { result: { line: 3 } });`,
			`one:4: this is not what csv.appendRow answers: line: there is no such member; the result has row`},
		"an answer of another kind": {`
			t.answer("csv.appendRow", { result: { row: "3" } });`,
			`one:4: this is not what csv.appendRow answers: row: got string, want integer`},
		"a failure that nobody expects": {`
			t.push("placed", { messageId: "a", payload: { id: "a", total: -1 } });
			t.run();`,
			`one:0: the case ends with work that is left, and does not expect it with ` +
				`expectWaiting("maintenance"): the workflow waits: maintenance; ` +
				`the last failure is logic (script.threw): Error: a negative total: a, at line 20 of the script`},
		"an unknown topic": {`
			t.push("plced", { messageId: "a" });`, `one:4: workflow orders has no topic "plced"`},
		"nothing to approve": {`t.approve();`, `one:3: no call awaits an approval here: the workflow waits: scheduled`},
		"an unknown handler": {`t.state("bok", 1);`,
			`one:0: state names "bok", and the script has no such producer or consumer`},
		"an unknown operation": {`t.answer("shop.get", { result: 1 });`,
			`one:3: there is no operation shop.get; a tool is named in { tools: { "shop.get": "mutate" } } behind the cases`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said, _ := run(t, orders, ofCase(c.steps)); said != c.want {
				t.Errorf("it says\n%s, want\n%s", said, c.want)
			}
		})
	}
}

// A test file that cannot be read is refused with its line.
func TestFilesThatDeclareNoTests(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it takes 5 s")
	}
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	defer scripts.Close()
	for _, c := range []struct{ code, want string }{
		{
			"export default Pawl.tests({\n  one(t) {\n    t.push(\"placed\", { id: 1 });\n  },\n});",
			`3: TypeError: an event has no member id; it has messageId, title, payload`,
		},
		{
			"export default Pawl.tests({ one(t) {\n t.answer(\"csv.appendRow\", {}) } });",
			`2: TypeError: an answer is one of { result }, { fails } and { lost }`,
		},
		{
			"export default Pawl.tests({\n one(t) { t.run(); t.clock(\"2026-01-01\") } });",
			`2: TypeError: clock stands before the first step of a case`,
		},
		{
			"export default Pawl.tests({ async one(t) { } });",
			`0: TypeError: the case one must not be async: it declares steps, which run afterwards`,
		},
		{
			"export default { };",
			`0: the file declares no tests: it ends in export default Pawl.tests({ … })`,
		},
		{
			"export default Pawl.tests({ one(t) { t.",
			`1: Expected identifier but found end of file in "export default Pawl.tests({ one(t) { t."`,
		},
		{
			"while (true) {}",
			`0: the script computed for longer than 2s`,
		},
	} {
		_, err := rehearsal.Read(t.Context(), scripts, sandbox.Source{Filename: "a.test.ts", Code: c.code}, nil)
		var bad *rehearsal.ReadError
		if got := fmt.Sprint(err); err != nil {
			if e, ok := err.(*rehearsal.ReadError); ok {
				bad = e
				got = fmt.Sprintf("%d: %s", e.Line, e.Message)
			}
			if bad == nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %s, want %s", c.code, got, c.want)
			}
			continue
		}
		t.Errorf("%s: it was read", c.code)
	}
}

// The lines that no case has reached are named, also those that have run in part.
func TestCoverage(t *testing.T) {
	t.Parallel()
	said, report := run(t, orders, ofCase(`
		t.push("placed", { messageId: "a", payload: { id: "a" } });
		t.expectCall("csv.appendRow");`))
	if said != "" {
		t.Fatal(said)
	}
	missed, partly := report.Coverage.Missed()
	if got, want := fmt.Sprint(missed, partly), "[8 9 10] [20]"; got != want {
		t.Errorf("lines missed and run in part: %s, want %s", got, want)
	}
	if share := report.Coverage.Share(); share < 0.6 || share >= 1 {
		t.Errorf("covered: %v", share)
	}
}

// A script that would not be deployed is refused before any case runs.
func TestRefusedScript(t *testing.T) {
	t.Parallel()
	said, _ := run(t, strings.Replace(orders, `subscribe: ["placed"]`, `subscribe: ["plced"]`, 1), ofCase(`t.run();`))
	if !strings.Contains(said, "refused: topic.unknown") {
		t.Errorf("it says %s", said)
	}
}

// A file without a case is refused: it would be green, and test nothing.
func TestNoCases(t *testing.T) {
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	_, err := rehearsal.Read(t.Context(), scripts, sandbox.Source{Filename: "a.test.ts",
		Code: "export default Pawl.tests({});\n"}, nil)
	if err == nil || !strings.Contains(err.Error(), "has no cases") {
		t.Errorf("read: %v", err)
	}
}

// two has a consumer that throws and one whose call waits for a person.
const two = `export default Pawl.workflow({ name: "two", topics: { a: {}, b: {} }, consumers: {
  asks: { subscribe: ["a"], concurrency: 2,
    async prepare(ctx) {
      const [e] = await ctx.peek("a");
      return { reservations: [{ topic: "a", ids: [e.id] }], data: 1, ui: { title: e.id } };
    },
    async mutate(ctx) { await ctx.csv.appendRow({ file: "a.csv", values: [1] }); } },
  throws: { subscribe: ["b"], concurrency: 2, async prepare(ctx) { throw new Error("no"); } },
} });
`

// What a case expects a workflow to wait for excuses nothing else.
func TestOtherWaits(t *testing.T) {
	t.Parallel()
	steps := `
    t.grants({ "csv.appendRow": "ask" });
    t.push("a", { messageId: "1" });
    t.push("b", { messageId: "2" });
    t.expectWaiting("approval");`
	said, _ := run(t, two, ofCase(steps))
	if !strings.Contains(said, "the case ends with work that is left") || !strings.Contains(said, "no, at line") {
		t.Errorf("said: %s", said)
	}
	if said, _ := run(t, two, ofCase(steps+"\n    t.expectWaiting(\"maintenance\");")); said != "" {
		t.Errorf("said: %s", said)
	}
}
