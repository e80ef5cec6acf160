package worker

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestVars: ctx.vars holds the settings of the configuration, the same in every phase; what is not there ends the call,
// and no script changes what another call sees.
func TestVars(t *testing.T) {
	x := newExecutor(t)
	call := func(p sandbox.Phase, body string) (sandbox.Result, error) {
		c := invocationOf(p, body)
		c.Vars = sandbox.Vars{"url": json.RawMessage(`"https://shop.example"`), "limits": json.RawMessage(`{"a":[1,2.5]}`)}
		return x.Invoke(t.Context(), c, world)
	}
	for body, want := range map[string]string{
		`return ctx.vars.url + ctx.vars.limits.a[1]`: `"https://shop.example2.5"`,
		`return { ...ctx.vars }`: `{"limits":{"a":[1,2.5]},` +
			`"url":"https://shop.example"}`,
		`return ["url" in ctx.vars, "gone" in ctx.vars]`:      `[true,false]`,
		`const { url, ...rest } = ctx.vars; return rest`:      `{"limits":{"a":[1,2.5]}}`,
		`ctx.vars.limits.a.push(3); return ctx.vars.limits.a`: `[1,2.5,3]`,
		`return ctx.vars.limits.a`:                            `[1,2.5]`,
		`try { ctx.vars.url = "x" } catch (e) { return [e.name, ctx.vars.url] }`: `["TypeError",` +
			`"https://shop.example"]`,
		`console.log(ctx.vars); return String(ctx.vars.hasOwnProperty) !== "undefined" `: `true`,
	} {
		if r, err := call(sandbox.Next, body); err != nil || string(r.Value) != want {
			t.Errorf("%s: %s, %v; want %s", body, r.Value, err, want)
		}
	}
	for _, p := range []sandbox.Phase{sandbox.Prepare, sandbox.Mutate} {
		if _, err := call(p, `ctx.log(ctx.vars.url); return { reservations: [], data: ctx.vars.url }`); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	_, err := call(sandbox.Next, `try { return ctx.vars.token ?? "none" } catch { return "caught" }`)
	e := wantFault(t, err, sandbox.FaultScript, "vars.unknown")
	wantContains(t, e.Message, "ctx.vars.token does not exist", "there are limits, url")
	_, err = runBody(t, sandbox.Next, `return ctx.vars.url`)
	wantContains(t, wantFault(t, err, sandbox.FaultScript, "vars.unknown").Message, "the configuration has none")
}
