package worker

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestR10_PublishesAreBuffered in order, with exactly what the script gave.
func TestR10_PublishesAreBuffered(t *testing.T) {
	t.Parallel()
	r := succeed(t, sandbox.Producer, `
		const inputId = await ctx.registerInput({ source: "mail", type: "email", id: "m1", title: "First" });
		ctx.registerInput({ source: "mail", type: "email", id: "m1", title: "Renamed" });
		await ctx.publish("t.a", { messageId: "1", title: "One", payload: { x: [1] }, inputId });
		ctx.publish(["t.a", "t.b", "t.a"], { messageId: "2", title: "Two" });
		await Promise.resolve({ messageId: "3", title: "Three", payload: "ü", id: "x", topic: "y" }).then((e) => ctx.publish("t.b", e));
		(async () => { await ctx.mail.search({}); await ctx.publish("t.b", { messageId: "late", title: "Not awaited" }) })();
		return 1`)
	id := sandbox.InputID("mail", "email", "m1")
	want := []sandbox.Publish{
		{Topics: []string{"t.a"}, MessageID: "1", Title: "One", Payload: json.RawMessage(`{"x":[1]}`), InputID: id},
		{Topics: []string{"t.a", "t.b"}, MessageID: "2", Title: "Two", Payload: json.RawMessage(`null`)},
		{Topics: []string{"t.b"}, MessageID: "3", Title: "Three", Payload: json.RawMessage(`"ü"`)},
		{Topics: []string{"t.b"}, MessageID: "late", Title: "Not awaited", Payload: json.RawMessage(`null`)},
	}
	if !reflect.DeepEqual(r.Publishes, want) {
		t.Errorf("got  %+v\nwant %+v", r.Publishes, want)
	}
	if inputs := []sandbox.Input{{ID: id, Source: "mail", Type: "email", ExtID: "m1",
		Title: "Renamed"}}; !reflect.DeepEqual(r.Inputs, inputs) {
		t.Errorf("inputs %+v", r.Inputs)
	}
	if len(r.Logs) != 0 {
		t.Errorf("warned: %+v", r.Logs)
	}
	for _, body := range []string{
		`await ctx.publish("t.a", { messageId: "1", title: "One" }); throw new Error("x")`,
		`await ctx.publish("t.a", { messageId: "1", title: "One" }); ctx.registerInput({ source: "a", type: "b", id: ` +
			`"c", title: "d" }); await ctx.mail.broken({})`,
	} {
		r, err := runBody(t, sandbox.Producer, body)
		if err == nil || r.Publishes != nil || r.Inputs != nil {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
}

// TestR12_PublishIsValidated.
func TestR12_PublishIsValidated(t *testing.T) {
	t.Parallel()
	for call, code := range map[string]string{
		`ctx.publish()`:      "publish.invalid",
		`ctx.publish("t.a")`: "publish.invalid",
		`ctx.publish("t.a", { messageId: "1", title: "t" }, 1)`:               "publish.invalid",
		`ctx.publish("t.a", null)`:                                            "publish.invalid",
		`ctx.publish("t.a", [])`:                                              "publish.invalid",
		`ctx.publish("t.a", "x")`:                                             "publish.invalid",
		`ctx.publish("t.a", { title: "t" })`:                                  "publish.invalid",
		`ctx.publish("t.a", { messageid: "1", title: "t" })`:                  "publish.invalid",
		`ctx.publish("t.a", { messageId: 1, title: "t" })`:                    "publish.invalid",
		`ctx.publish("t.a", { messageId: "", title: "t" })`:                   "publish.invalid",
		`ctx.publish("t.a", { messageId: "a\nb", title: "t" })`:               "publish.invalid",
		`ctx.publish("t.a", { messageId: "\ud800", title: "t" })`:             "publish.invalid",
		`ctx.publish("t.a", { messageId: "..", title: "t" })`:                 "publish.invalid",
		`ctx.publish("t.a", { messageId: "x".repeat(513), title: "t" })`:      "publish.invalid",
		`ctx.publish("t.a", { messageId: "1" })`:                              "publish.invalid",
		`ctx.publish("t.a", { messageId: "1", title: " " })`:                  "publish.invalid",
		`ctx.publish("t.a", { messageId: "1", title: null })`:                 "publish.invalid",
		`ctx.publish("t.a", { messageId: "1", title: "t", payload: 1n })`:     "publish.invalid",
		`ctx.publish("t.a", { messageId: "1", title: "t", inputId: 5 })`:      "publish.invalid",
		`ctx.publish("t.a", Promise.resolve({ messageId: "1", title: "t" }))`: "publish.invalid",
		`ctx.publish([], { messageId: "1", title: "t" })`:                     "publish.invalid",
		`ctx.publish(["t.a", null], { messageId: "1", title: "t" })`:          "publish.invalid",
		`ctx.publish({}, { messageId: "1", title: "t" })`:                     "publish.invalid",
		`ctx.publish("t.c", { messageId: "1", title: "t" })`:                  "topic.unknown",
		`ctx.publish(["t.a", "t.c"], { messageId: "1", title: "t" })`:         "topic.unknown",
		`ctx.registerInput()`:                                                 "input.invalid",
		`ctx.registerInput({ source: "s", type: "t", id: "", title: "x" })`:   "input.invalid",
		`ctx.registerInput({ source: "s", type: "t", id: 5, title: "x" })`:    "input.invalid",
		`ctx.registerInput("x")`:                                              "input.invalid",
	} {
		_, err := runBody(t, sandbox.Producer, "\n"+call+"; return 1")
		if e := wantFault(t, err, sandbox.FaultScript, code); e.Line != 2 {
			t.Errorf("%s: line %d", call, e.Line)
		}
	}
	_, err := runBody(t, sandbox.Next, `ctx.publish("t.a", { messageId: "1", title: "t", inputId: "x" })`)
	wantFault(t, err, sandbox.FaultScript, "phase.forbidden")
	r := succeed(t, sandbox.Next, `ctx.publish("t.a", { messageId: "1", title: "t", paylaod: 1 })`)
	if len(r.Logs) != 1 || r.Logs[0].Level != "warn" || !strings.Contains(r.Logs[0].Text, "paylaod") {
		t.Errorf("a misspelt member was dropped silently: %+v", r.Logs)
	}
}

// TestR12_PeekedEvents have all members, are new objects each time, and come oldest first.
func TestR12_PeekedEvents(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`return (await ctx.peek("t.a"))[0]`: `{"messageId":"1","id":"1","topic":"t.a",` +
			`"title":"One","payload":{"n":1}}`,
		`return (await ctx.peek("t.a")).map((e) => e.id)`: `["1","2","3"]`,
		`return (await ctx.peek("t.a", {limit: ` +
			`2})).map((e) => e.id)`: `["1","2"]`,
		`return (await ctx.peek("t.a", {limit: ` +
			`99})).length`: `3`,
		`return (await ctx.peek("t.a", {})).length`: `3`,
		`const x = await ctx.peek("t.a"); x[0].id = "changed"; x.pop(); return (await ` +
			`ctx.peek("t.a")).map((e) => e.id)`: `["1","2","3"]`,
		`return (await ctx.getByIds("t.a", ["3", "nope", "1", "3"])).map((e) => e.id)`: `["3","1"]`,
		`return await ctx.getByIds("t.a", [])`:                                         `[]`,
		`return await Promise.resolve("t.a").then(ctx.peek).then((x) => x.length)`:     `3`,
	} {
		if r := succeed(t, sandbox.Prepare, body); string(r.Value) != want {
			t.Errorf("%s: got %s, want %s", body, r.Value, want)
		}
	}
	for body, code := range map[string]string{
		`ctx.peek("t.b")`: "topic.notSubscribed", `ctx.getByIds("t.b", [])`: "topic.notSubscribed",
		`ctx.peek()`: "call.params", `ctx.peek(5)`: "call.params", `ctx.peek("t.a", {limit: 0})`: "call.params",
		`ctx.peek("t.a", {limit: 1.5})`: "call.params", `ctx.peek("t.a", {limit: "3"})`: "call.params",
		`ctx.getByIds("t.a")`: "call.params", `ctx.getByIds("t.a", "1")`: "call.params",
		`ctx.getByIds("t.a", [1])`: "call.params", `ctx.getByIds("t.a", null)`: "call.params",
	} {
		_, err := runBody(t, sandbox.Prepare, "try { await "+body+" } catch {} return 1")
		wantFault(t, err, sandbox.FaultScript, code)
	}
}

// TestInputID is stable for ever: it is stored in logs.
func TestInputID(t *testing.T) {
	t.Parallel()
	if got, want := sandbox.InputID("mail", "email", "m1"), "in_f440f34c4bba4c86366ad630"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if sandbox.InputID("ab", "c", "d") == sandbox.InputID("a", "bc", "d") {
		t.Error("borders do not count")
	}
}

// R11: the same id with other contents in one call loses the first ones: the log says so, and where.
func TestR11_OneCallPublishesAnEventTwice(t *testing.T) {
	t.Parallel()
	r := succeed(t, sandbox.Next, `const event = { messageId: "x", title: "X", payload: { n: 1 } };
		await ctx.publish("t.b", event); await ctx.publish(["t.a", "t.b"], event);
		await ctx.publish("t.b", { ...event, payload: { n: 2 } });`)
	if len(r.Publishes) != 3 || len(r.Logs) != 1 || r.Logs[0].Level != "warn" || r.Logs[0].Line != 3 {
		t.Fatalf("published %d, logged %+v", len(r.Publishes), r.Logs)
	}
	wantContains(t, r.Logs[0].Text, `event "x" of topic "t.b"`, "messageId of its own")
}
