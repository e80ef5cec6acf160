package worker

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestR8_PhaseTable runs every cell of the table as a script.
func TestR8_PhaseTable(t *testing.T) {
	t.Parallel()
	calls := map[string]string{
		"peek":          `await ctx.peek("t.a");`,
		"getByIds":      `await ctx.getByIds("t.a", ["1"]);`,
		"publish":       `await ctx.publish("t.b", {messageId: "x", title: "X", payload: 1});`,
		"registerInput": `ctx.registerInput({source: "s", type: "t", id: "1", title: "T"});`,
		"list":          `await ctx.mail.search({});`,
		"get":           `await ctx.mail.get({});`,
		"mutate":        `await ctx.mail.send({});`,
		"log":           `ctx.log("x");`,
		"now":           `ctx.now();`,
		"console":       `console.log("x");`,
		"hash":          `ctx.hash("sha256", "x");`,
		"scheduledAt":   `ctx.scheduledAt;`,
	}
	cells := []struct {
		operation                       string
		producer, prepare, mutate, next bool
	}{
		{"peek", false, true, false, false},
		{"getByIds", false, true, false, false},
		{"publish", true, false, false, true},
		{"registerInput", true, false, false, false},
		{"list", true, true, false, false},
		{"get", true, true, false, false},
		{"mutate", false, false, true, false},
		{"log", true, true, true, true},
		{"now", true, true, true, true},
		{"console", true, true, true, true},
		{"hash", true, true, true, true},
		{"scheduledAt", true, false, false, false},
	}
	if len(cells) != int(sandbox.MemberCount) || len(calls) != len(cells) {
		t.Fatalf("the table has %d rows, this test %d", sandbox.MemberCount, len(cells))
	}
	for _, c := range cells {
		for phase, ok := range map[sandbox.Phase]bool{sandbox.Producer: c.producer, sandbox.Prepare: c.prepare,
			sandbox.Mutate: c.mutate, sandbox.Next: c.next} {
			t.Run(fmt.Sprintf("%s in %s", c.operation, phase), func(t *testing.T) {
				r, err := runBody(t, phase, calls[c.operation])
				if ok {
					if err != nil {
						t.Fatalf("must be allowed: %v", err)
					}
					if (r.Call != nil) != (c.operation == "mutate") {
						t.Errorf("call %+v", r.Call)
					}
					return
				}
				e := wantFault(t, err, sandbox.FaultScript, "phase.forbidden")
				if e.Line != 1 || e.Column == 0 {
					t.Errorf("at %d:%d, want line 1 with a column", e.Line, e.Column)
				}
				wantContains(t, e.Message, "not allowed in "+string(phase))
			})
		}
	}
}

// TestR6_ReadsByID: the declaration opens get in mutate, and nothing else.
func TestR6_ReadsByID(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]string{
		`const x = await ctx.mail.get({}); if (x.exists) await ctx.mail.send({id: x.id});`: "",
		`await ctx.mail.search({});`:                              "phase.forbidden",
		`await ctx.peek("t.a");`:                                  "phase.forbidden",
		`await ctx.publish("t.a", {messageId: "1", title: "x"});`: "phase.forbidden",
	} {
		call := invocationOf(sandbox.Mutate, body)
		call.MutateReadsByID = true
		r, err := newExecutor(t).Invoke(t.Context(), call, world)
		if code != "" {
			wantFault(t, err, sandbox.FaultScript, code)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Call == nil || string(r.Call.Params) != `{"id":"m1"}` {
			t.Errorf("call %+v", r.Call)
		}
	}
	for _, phase := range []sandbox.Phase{sandbox.Producer, sandbox.Prepare, sandbox.Next} {
		if sandbox.Allowed(phase, sandbox.KindGet, true) != (phase != sandbox.Next) {
			t.Errorf("get in %s", phase)
		}
	}
	if sandbox.Allowed("other", sandbox.KindGet, true) || sandbox.Allowed(sandbox.Prepare, "other", true) ||
		!sandbox.Allowed(sandbox.Mutate, sandbox.KindGet, true) || sandbox.Allowed(sandbox.Mutate, sandbox.KindGet,
		false) || sandbox.Allowed(sandbox.Mutate, sandbox.KindList, true) {
		t.Error("Allowed disagrees with the table")
	}
}
