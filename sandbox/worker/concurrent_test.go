package worker

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestConcurrentInvocations share one compiled script and nothing else.
func TestConcurrentInvocations(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				call := invocationOf(sandbox.Prepare, `globalThis.n = (globalThis.n ?? 0) + 1; await ctx.mail.search({});
					if (/\p{L}/u.test("é") && a.fail) { throw new Error("n=" + n) }
					return n + a.i`)
				call.State = []byte(fmt.Sprintf(`{"i":%d,"fail":%t}`, i, j%2 == 0))
				r, err := e.Invoke(t.Context(), call, world)
				var f *sandbox.Error
				switch {
				case j%2 == 0 && (!errors.As(err, &f) || f.Message != "Error: n=1" || f.Line != 2):
					t.Errorf("got %v", err)
				case j%2 == 1 && (err != nil || string(r.Value) != fmt.Sprint(1+i)):
					t.Errorf("got %s, %v", r.Value, err)
				}
			}
			if _, problems, err := e.Describe(t.Context(), exampleSource(t)); err != nil ||
				sandbox.HasErrors(problems) {
				t.Errorf("%+v, %v", problems, err)
			}
		})
	}
	wg.Wait()
}
