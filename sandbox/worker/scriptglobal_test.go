package worker

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// declared is a script by a global of either name.
const declared = `export default GLOBAL.workflow({ name: "w", topics: { "t.a": {} },
  consumers: { h: GLOBAL.consumer({ subscribe: ["t.a"], async prepare(ctx) { return { reservations: [], data: ANSWER }; } }) } });`

func declaredBy(global, answer string) sandbox.Source {
	return sandbox.Source{Filename: "w.ts", Code: strings.NewReplacer("GLOBAL", global, "ANSWER",
		answer).Replace(declared)}
}

// TestScriptGlobal: Pawl declares workflows, and so does its old name; they are one object.
func TestScriptGlobal(t *testing.T) {
	t.Parallel()
	for _, global := range []string{"Pawl", "Keep"} {
		t.Run(global, func(t *testing.T) {
			t.Parallel()
			source := declaredBy(global, "Pawl === Keep")
			e := newExecutor(t)
			d, problems, err := e.Describe(t.Context(), source)
			if err != nil || len(problems) != 0 || d.Name != "w" || len(d.Consumers) != 1 {
				t.Fatalf("%+v, %+v, %v", d, problems, err)
			}
			call := invocationOf(sandbox.Prepare, "")
			call.Source = source
			r, err := e.Invoke(t.Context(), call, world)
			if err != nil {
				t.Fatal(err)
			}
			wantContains(t, string(r.Value), `"data":true`)
			// The text is looked into by either name.
			source.Code = strings.Replace(source.Code, "async prepare(ctx) {",
				"async prepare(ctx) { await ctx.publish('t.a', { messageId: 'x' + ctx.vars.x, title: 'X ' + ctx.now() });", 1)
			if _, problems, err = e.Describe(t.Context(), source); err != nil || len(problems) != 1 ||
				problems[0].Code != "phase.forbidden" {
				t.Errorf("%+v, %v", problems, err)
			}
		})
	}
}

// TestScriptGlobalIsTheScripts: a script that was written for the old name may have a Pawl of its own.
func TestScriptGlobalIsTheScripts(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"const Pawl = 5;", "let Pawl; Pawl ??= 5;",
		"class Pawl { static valueOf() { return 5 } }", "function Pawl() {} Pawl.valueOf = () => 5;",
		"var Pawl = 5;", "enum Pawl { five = 5 } Pawl = 5 as any;"} {
		t.Run(own, func(t *testing.T) {
			t.Parallel()
			source := declaredBy("Keep", "Number(Pawl)")
			source.Code = own + "\n" + source.Code
			e := newExecutor(t)
			if _, problems, err := e.Describe(t.Context(), source); err != nil || len(problems) != 0 {
				t.Fatalf("%+v, %v", problems, err)
			}
			call := invocationOf(sandbox.Prepare, "")
			call.Source = source
			r, err := e.Invoke(t.Context(), call, world)
			if err != nil {
				t.Fatal(err)
			}
			wantContains(t, string(r.Value), `"data":5`)
		})
	}
}
