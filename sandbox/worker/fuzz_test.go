package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// FuzzScript: no text makes the executor panic, report a fault of its own, or stop answering.
func FuzzScript(f *testing.F) {
	f.Add(string(exampleSource(f).Code))
	for _, p := range []sandbox.Phase{sandbox.Producer, sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
		f.Add(handlerSource(p, `try { await ctx.mail.search({}) } catch (e) { throw e }`).Code)
		f.Add(handlerSource(p, `const { mail: { send } } = ctx; for (const x of [1]) await send({ get x() { return x `+
			`} }); /\p{L}/u.test("a"); class A { #x = 1 }`).Code)
	}
	e := vm.NewExecutor(vm.Config{Scripts: 4, Limits: sandbox.Limits{CPU: 100 * time.Millisecond}})
	f.Fuzz(func(t *testing.T, code string) {
		if len(code) > 4000 {
			return
		}
		source := sandbox.Source{Filename: "fuzz.ts", Code: code}
		d, problems, err := e.Describe(t.Context(), source)
		if err != nil {
			t.Fatalf("describe: %v", err)
		}
		for _, p := range problems {
			if p.Message == "" || p.Fix == "" {
				t.Errorf("incomplete problem %+v", p)
			}
		}
		for _, c := range d.Consumers {
			for _, phase := range []sandbox.Phase{sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
				call := invocationOf(phase, "")
				call.Source, call.Handler, call.Limits.CPU = source, c.Name, 100*time.Millisecond
				_, err := e.Invoke(t.Context(), call, world)
				var fault *sandbox.Error
				if err != nil && (!errors.As(err, &fault) || fault.Fault == sandbox.FaultInternal || fault.Code == "" ||
					fault.Message == "") {
					t.Errorf("%s: %v", phase, err)
				}
			}
		}
	})
}
