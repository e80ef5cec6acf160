package worker

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// TestLimits: each limit has its own code, cannot be caught, and names the line where it struck.
func TestLimits(t *testing.T) {
	t.Parallel()
	short := sandbox.Limits{CPU: 50 * time.Millisecond}
	for name, c := range map[string]struct {
		phase  sandbox.Phase
		body   string
		limits sandbox.Limits
		code   string
		line   int
	}{
		"cpu loop": {sandbox.Prepare, "\nfor (;;) { Math.abs(1) }", short, "limit.cpu", 2},
		"cpu caught": {sandbox.Prepare, "for (;;) { try { for (;;) {} } catch {} finally { continue } }", short,
			"limit.cpu", 1},
		"cpu microtasks": {sandbox.Prepare, "const f = () => Promise.resolve().then(f); await f();", short,
			"limit.cpu", 1},
		"cpu after a read": {sandbox.Prepare, "await ctx.mail.search({});\n\nwhile (true) { Math.abs(1) }", short,
			"limit.cpu", 3},
		"cpu in a getter": {sandbox.Prepare, "return { get x() { for (;;) {} } }", short, "limit.cpu", 1},
		"cpu in a throw":  {sandbox.Prepare, "throw { get message() { for (;;) {} } }", short, "limit.cpu", 1},
		"cpu in a log":    {sandbox.Prepare, "console.log({ toJSON() { for (;;) {} } })", short, "limit.cpu", 1},
		"stack": {sandbox.Prepare, "const f = () => f() + 1; try { f() } catch { return 1 }",
			sandbox.Limits{}, "limit.stack", 1},
		"source": {sandbox.Prepare, "return 1", sandbox.Limits{Source: 100}, "limit.source", 0},
		"result": {sandbox.Prepare, `return "x".repeat(100)`, sandbox.Limits{Result: 50}, "limit.result", 1},
		"result in params": {sandbox.Mutate, "\n\n" + `ctx.mail.send({x: "x".repeat(100)})`,
			sandbox.Limits{Result: 50}, "limit.result", 3},
		"state of producer": {sandbox.Producer, `return "x".repeat(100)`, sandbox.Limits{State: 50}, "limit.state", 1},
		"state of next":     {sandbox.Next, `return "x".repeat(100)`, sandbox.Limits{State: 50}, "limit.state", 1},
		"publish": {sandbox.Next, "\n" + `for (let i = 0; i < 9; i++) await ctx.publish("t.a", {messageId: ` +
			`"m" + i, title: "t", payload: "x".repeat(20)})`, sandbox.Limits{Publish: 100}, "limit.publish", 2},
		"publish to several topics": {sandbox.Next, `await ctx.publish(["t.a", "t.b"], {messageId: "m", title: "t", ` +
			`payload: "x".repeat(300)})`, sandbox.Limits{Publish: 700}, "limit.publish", 1},
		"publish of nothing": {sandbox.Next, `for (let i = 0; i < 9; i++) await ctx.publish("t.a", {messageId: "" + i, ` +
			`title: "t"})`, sandbox.Limits{Publish: 1000}, "limit.publish", 1},
		"inputs": {sandbox.Producer, `for (let i = 0; i < 9; i++) ctx.registerInput({source: "s", type: "t", id: ` +
			`"" + i, title: "x".repeat(20)})`, sandbox.Limits{Publish: 100}, "limit.publish", 1},
		"hostCalls": {sandbox.Prepare, `for (let i = 0; i < 9; i++) await ctx.peek("t.a")`,
			sandbox.Limits{HostCalls: 5}, "limit.hostCalls", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := invocationOf(c.phase, c.body)
			call.Limits = c.limits
			r, err := newExecutor(t).Invoke(t.Context(), call, world)
			e := wantFault(t, err, sandbox.FaultScript, c.code)
			between := name == "cpu microtasks" && e.Line == 0 // stopped after one function and before the next
			if e.Line != c.line && !between {
				t.Errorf("%v at line %d, want %d", e, e.Line, c.line)
			}
			wantContains(t, e.Message, "(policies.script."+strings.TrimPrefix(c.code, "limit.")+")")
			if r.Call != nil && name != "result in params" || r.Publishes != nil || r.Value != nil {
				t.Errorf("left %+v", r)
			}
		})
	}
}

// TestF14_OversizeParamsNameTheirCall: the host must know which call was not sent. A read is no such call.
func TestF14_OversizeParamsNameTheirCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phase sandbox.Phase
		body  string
		want  *sandbox.MutationCall
	}{
		"mutation": {sandbox.Mutate, `try { await ctx.mail.send({x: "x".repeat(100)}) } catch {} finally { ` +
			`ctx.mail.send({}) }`, &sandbox.MutationCall{Connector: "mail", Operation: "send", Oversize: 108}},
		"read":       {sandbox.Prepare, `await ctx.mail.search({x: "x".repeat(100)})`, nil},
		"no object":  {sandbox.Mutate, `await ctx.mail.send("x".repeat(100))`, nil},
		"forbidden":  {sandbox.Prepare, `await ctx.mail.send({x: "x".repeat(100)})`, nil},
		"after this": {sandbox.Mutate, `try { ctx.peek("t.a") } catch {} ctx.mail.send({x: "x".repeat(100)})`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := invocationOf(c.phase, c.body)
			call.Limits = sandbox.Limits{Result: 50}
			r, err := newExecutor(t).Invoke(t.Context(), call, world)
			if err == nil || !reflect.DeepEqual(r.Call, c.want) {
				t.Errorf("%v, the call is %+v, want %+v", err, r.Call, c.want)
			}
		})
	}
}

// TestLimitsAreSettings: what a passed limit names can be set.
func TestLimitsAreSettings(t *testing.T) {
	t.Parallel()
	keys := make(map[string]bool)
	script := reflect.TypeFor[schedule.Script]()
	for i := range script.NumField() {
		keys[script.Field(i).Tag.Get("yaml")] = true
	}
	policies, ok := reflect.TypeFor[schedule.Policies]().FieldByName("Script")
	if !ok || sandbox.Settings != "policies."+policies.Tag.Get("yaml")+"." {
		t.Errorf("the settings are not %s…", sandbox.Settings)
	}
	for _, code := range []string{"cpu", "wall", "memory", "stack", "source", "argument", "result", "state", "publish",
		"hostCalls", "reads"} {
		if !keys[code] {
			t.Errorf("no setting for limit.%s", code)
		}
	}
}

// TestWallLimit: a script that computes for as long as it may run at all is to blame for it.
func TestWallLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: its scripts wait for their limits, 4 s")
	}
	t.Parallel()
	call := invocationOf(sandbox.Prepare, "\nfor (;;) { Math.abs(1) }")
	// Long enough that a machine which has no time for it, for a while, leaves it a tenth of that.
	call.Limits = sandbox.Limits{CPU: sandbox.MaxCPU, Wall: 4 * time.Second}
	_, err := newPool(t, Config{Size: 1}).Invoke(t.Context(), call, world)
	if e := wantFault(t, err, sandbox.FaultScript, "limit.wall"); e.Line != 2 {
		t.Errorf("%v at line %d", e, e.Line)
	}
}

// TestLogLimit: a log that is too long is cut, and the handler goes on.
func TestLogLimit(t *testing.T) {
	t.Parallel()
	call := invocationOf(sandbox.Prepare, `for (let i = 0; i < 5000; i++) ctx.log("line " + i); return 1`)
	call.Limits.Log = 200
	r, err := newExecutor(t).Invoke(t.Context(), call, world)
	if err != nil || string(r.Value) != "1" {
		t.Fatalf("%+v, %v", r, err)
	}
	total := 0
	for _, l := range r.Logs {
		total += len(l.Text)
	}
	if last := r.Logs[len(r.Logs)-1]; total > 300 || r.Logs[0].Text != "line 0" || last.Level != "warn" ||
		!strings.Contains(last.Text, "200 bytes") {
		t.Errorf("logs %+v", r.Logs)
	}
}

// TestReadsAreNotScriptTime: reads may take longer than the script may compute, and their sum has its
// own limit, which is not the script's fault.
func TestReadsAreNotScriptTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := fakeHost{"mail.search": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			select {
			case <-time.After(20 * time.Second):
				return json.RawMessage(`[1]`), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		e := vm.NewExecutor(vm.Config{}) // time is not real here, and it is in other processes
		call := invocationOf(sandbox.Prepare, `await ctx.mail.search({}); await ctx.mail.search({}); return 1`)
		if _, err := e.Invoke(t.Context(), call, slow); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{
			"\nawait ctx.mail.search({}); await ctx.mail.search({}); return 1",
			"\nawait Promise.all([ctx.mail.search({}), ctx.mail.search({})]); return 1",
		} {
			call = invocationOf(sandbox.Prepare, body)
			call.Limits.Reads = 30 * time.Second
			_, err := e.Invoke(t.Context(), call, slow)
			if f := wantFault(t, err, sandbox.FaultTransient, "limit.reads"); f.Line != 2 {
				t.Errorf("line %d", f.Line)
			}
		}
	})
}

// TestReadsRunConcurrently: reads that are not awaited one by one overlap, sixteen at most, and all
// are answered.
func TestReadsRunConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		host := fakeHost{"mail.get": func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-time.After(time.Second)
			now.Add(-1)
			return params, nil
		}}
		start := time.Now()
		r, err := vm.NewExecutor(vm.Config{}).Invoke(t.Context(), invocationOf(sandbox.Prepare,
			`const all = await Promise.all(Array.from({length: 40}, (_, i) => ctx.mail.get({i}))); return `+
				`all.map((x) => x.i)`), host)
		if err != nil {
			t.Fatal(err)
		}
		if most.Load() != int64(sandbox.DefaultLimits.InFlight) || time.Since(start) != 3*time.Second || r.Reads != 40 {
			t.Errorf("at most %d at once, %s in all, %d reads", most.Load(), time.Since(start), r.Reads)
		}
		if !strings.HasPrefix(string(r.Value), "[0,1,2,3,") || !strings.HasSuffix(string(r.Value), "38,39]") {
			t.Errorf("answers %s", r.Value)
		}
	})
}

// TestCancellation: the caller's context and Close end a script that computes and one that waits.
func TestCancellation(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"computing": `await ctx.mail.search({}); for (;;) {}`,
		"waiting":   `await ctx.mail.search({}); await ctx.mail.get({}); return 1`,
		"caught":    `await ctx.mail.search({}); for (;;) { try { for (;;) {} } finally { continue } }`,
	} {
		for _, by := range []string{"context", "close"} {
			cancels := func(t *testing.T, e sandbox.Executor) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				reason := errors.New("lease lost")
				host := fakeHost{
					"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
						// The answer and the end race: whichever comes first, the script ends.
						if by == "close" {
							return json.RawMessage(`1`), e.Close()
						}
						cancel(reason)
						return json.RawMessage(`1`), nil
					},
					"mail.get": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					},
				}
				_, err := e.Invoke(ctx, invocationOf(sandbox.Prepare, body), host)
				f := wantFault(t, err, sandbox.FaultTransient, "script.cancelled")
				if by == "context" && !errors.Is(f, reason) {
					t.Errorf("cause %v", f.Cause)
				}
			}
			t.Run(name+" by "+by, func(t *testing.T) { cancels(t, vm.NewExecutor(vm.Config{})) })
			t.Run(name+" by "+by+" in a worker", func(t *testing.T) { cancels(t, newPool(t, Config{Size: 1})) })
		}
	}
}

// TestClosedExecutor refuses work with an error that says so.
func TestClosedExecutor(t *testing.T) {
	t.Parallel()
	for name, e := range executors(t) {
		t.Run(name, func(t *testing.T) { refusesWork(t, e) })
	}
}

func refusesWork(t *testing.T, e sandbox.Executor) {
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Describe(t.Context(), handlerSource(sandbox.Prepare, "")); err == nil {
		t.Error("described")
	}
	_, err := e.Invoke(t.Context(), invocationOf(sandbox.Prepare, `for (;;) {}`), world)
	wantFault(t, err, sandbox.FaultTransient, "script.cancelled")
}

// TestPanickingHost: a bug in the engine's host is reported as ours and kills nothing.
func TestPanickingHost(t *testing.T) {
	t.Parallel()
	host := fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("boom") }}
	_, err := newExecutor(t).Invoke(t.Context(), invocationOf(sandbox.Prepare,
		`try { await ctx.mail.search({}) } catch {}`), host)
	wantContains(t, wantFault(t, err, sandbox.FaultInternal, "internal").Message, "boom", "mail.search")
	host["mail.search"] = answers(`{"broken`)
	_, err = newExecutor(t).Invoke(t.Context(), invocationOf(sandbox.Prepare,
		`try { await ctx.mail.search({}) } catch {}`), host)
	wantContains(t, wantFault(t, err, sandbox.FaultInternal, "internal").Message, "ctx.mail.search", "not JSON")
}
