package worker

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// R19: getByIds finds events whatever their status. What went in with the call is answered there; the host is
// asked for the rest, and what it does not know is left out.
func TestR19_GetByIDs(t *testing.T) {
	t.Parallel()
	const show = ".map((e) => e.id + ' ' + e.status + ' ' + e.payload?.n)"
	for body, want := range map[string]string{
		`return (await ctx.getByIds("t.a", ["2", "x:consumed", "1"]))` +
			show: `["2 pending 2","x:consumed consumed 9","1 pending 1"]`,
		`return (await ctx.getByIds("t.a", ["a:skipped", "nope", "b:reserved", "a:skipped"]))` +
			show: `["a:skipped skipped 9","b:reserved reserved 9"]`,
		`return (await ctx.getByIds("t.a", ` +
			`["a:discarded"]))[0]`: `{"messageId":"a:discarded","id":"a:discarded","topic":"t.a","title":"Known",` +
			`"payload":{"n":9},"status":"discarded"}`,
		`return (await ctx.getByIds("t.a", ["nope"]))`: `[]`,
		`return (await ctx.peek("t.a")).map((e) => ` +
			`"status" in e)`: `[false,false,false]`,
		`const [x, y] = await Promise.all([ctx.getByIds("t.a", ["a:skipped"]), ctx.mail.get({})]); return ` +
			`x.length + y.id`: `"1m1"`,
	} {
		if r := succeed(t, sandbox.Prepare, body); string(r.Value) != want {
			t.Errorf("%s: got %s, want %s", body, r.Value, want)
		}
	}
}

// R19: the host is asked only for what did not go in with the call, each id once; its failures and the limits are
// those of reads.
func TestR19_GetByIDsAsksTheHost(t *testing.T) {
	t.Parallel()
	asks := func(host fakeHost, change func(*sandbox.Invocation), body string) (sandbox.Result, error) {
		call := invocationOf(sandbox.Prepare, body)
		change(&call)
		return newExecutor(t).Invoke(t.Context(), call, host)
	}
	asked := make(chan string, 8)
	listening := fakeHost{sandbox.OwnConnector + "." + sandbox.GetByIDs: func(_ context.Context,
		params json.RawMessage) (json.RawMessage, error) {
		asked <- string(params)
		return json.RawMessage("[]"), nil
	}}
	if _, err := asks(listening, func(*sandbox.Invocation) {},
		`return await ctx.getByIds("t.a", ["7", "1", "7", "3", "8"])`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // in this process and in a worker
		if got := <-asked; got != `{"topic":"t.a","ids":["7","8"]}` {
			t.Errorf("asked for %s", got)
		}
	}
	if _, err := asks(listening, func(*sandbox.Invocation) {},
		`return await ctx.getByIds("t.a", ["3", "2"])`); err != nil || len(asked) != 0 {
		t.Errorf("asked for what went in with the call: %d, %v", len(asked), err)
	}
	_, err := asks(fakeHost{sandbox.OwnConnector + "." + sandbox.GetByIDs: fails}, func(*sandbox.Invocation) {},
		`try { await ctx.getByIds("t.a", ["7"]) } catch {} return 1`)
	wantFault(t, err, sandbox.FaultRead, "read.failed")
	_, err = asks(world, func(c *sandbox.Invocation) { c.Limits.HostCalls = 2 },
		`for (const id of ["7", "8", "9"]) await ctx.getByIds("t.a", [id]); return 1`)
	wantFault(t, err, sandbox.FaultScript, "limit.hostCalls")
	_, err = asks(world, func(c *sandbox.Invocation) {
		c.Limits.Result = 40
	}, `await ctx.getByIds("t.a", ["7".repeat(50)]); return 1`)
	wantFault(t, err, sandbox.FaultScript, "limit.result")
	_, err = asks(fakeHost{sandbox.OwnConnector + "." + sandbox.GetByIDs: func(ctx context.Context,
		_ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, func(c *sandbox.Invocation) { c.Limits.Reads = 20 * time.Millisecond },
		`await ctx.getByIds("t.a", ["7"]); return 1`)
	wantFault(t, err, sandbox.FaultTransient, "limit.reads")
}

// R8, R19: a worker that asks for events outside prepare has broken out, and ends.
func TestR19_WorkersMayAskInPrepareOnly(t *testing.T) {
	t.Parallel()
	for _, phase := range []sandbox.Phase{sandbox.Producer, sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
		call := invocationOf(phase, "")
		call.Limits = call.Limits.Effective()
		c := &exchange{request: request{call: &call, limits: call.Limits}}
		err := c.mayRead(readRequest{connector: sandbox.OwnConnector, operation: sandbox.GetByIDs,
			params: json.RawMessage(`{}`)})
		if (err == nil) != (phase == sandbox.Prepare) {
			t.Errorf("%s: %v", phase, err)
		}
		if c.mayRead(readRequest{connector: sandbox.OwnConnector, operation: "other",
			params: json.RawMessage(`{}`)}) == nil {
			t.Errorf("%s may ask for anything", phase)
		}
	}
}

// The host is asked for what lies behind a cursor, where that did not go in with the call.
func TestPeekAfterAsksTheHost(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 8)
	listening := fakeHost{sandbox.OwnConnector + "." + sandbox.PeekAfter: func(_ context.Context,
		params json.RawMessage) (json.RawMessage, error) {
		asked <- string(params)
		return json.RawMessage(`[{"messageId":"9","topic":"t.a","title":"Nine","payload":{"n":9}}]`), nil
	}}
	for _, at := range []struct{ options, want, asked string }{
		{`{ limit: 2, after: "1" }`, `["2","3"]`, ""},
		{`{ limit: 3, after: "1" }`, `["9"]`, `{"topic":"t.a","after":"1","limit":3}`},
		{`{ after: "x" }`, `["9"]`, `{"topic":"t.a","after":"x","limit":100}`},
	} {
		r, err := newExecutor(t).Invoke(t.Context(), invocationOf(sandbox.Prepare,
			`return (await ctx.peek("t.a", `+at.options+`)).map((e) => e.id)`), listening)
		if err != nil || string(r.Value) != at.want {
			t.Errorf("%s: %s, %v", at.options, r.Value, err)
		}
		for range 2 { // in this process and in a worker
			if at.asked == "" {
				continue
			}
			if got := <-asked; got != at.asked {
				t.Errorf("%s: asked for %s", at.options, got)
			}
		}
		if len(asked) != 0 {
			t.Errorf("%s: asked for what went in with the call", at.options)
		}
	}
	for _, options := range []string{`{ after: "" }`, `{ after: 7 }`} {
		_, err := newExecutor(t).Invoke(t.Context(), invocationOf(sandbox.Prepare,
			`await ctx.peek("t.a", `+options+`); return 1`), listening)
		wantFault(t, err, sandbox.FaultScript, "call.params")
	}
}
