package worker

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestWhatJSONLosesIsAFailure: nothing of what a handler returns is dropped in silence; the failure names its path.
func TestWhatJSONLosesIsAFailure(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`new Map([[1, 2]])`:         "data is a Map, of which JSON makes {}",
		`{ a: [{ s: new Set() }] }`: "data.a[0].s is a Set, of which JSON makes {}",
		`{ f() { } }`:               "data.f is a function, of which JSON makes nothing",
		`[1, undefined]`:            "data[1] is undefined, of which JSON makes null",
		`{ total: 0 / 0 }`:          "data.total is NaN, of which JSON makes null",
		`{ total: 1 / 0 }`:          "data.total is Infinity, of which JSON makes null",
		`{ p: Promise.resolve(1) }`: "data.p is a promise; await it, of which JSON makes {}",
		`{ r: /x/ }`:                "data.r is a regular expression, of which JSON makes {}",
		`{ e: new Error("x") }`:     "data.e is an Error, of which JSON makes {}",
		`{ a: undefined, d: new Date(0), n: null, own: { toJSON() { return 1 } }, list: [[1.5, "x"]] }`: "",
	} {
		call := invocationOf(sandbox.Prepare, "")
		call.Source = sandbox.Source{Filename: "w.ts", Code: `export default Pawl.workflow({ name: "w", topics: { "t.a": {} },
  consumers: { h: Pawl.consumer({ subscribe: ["t.a"], async prepare() { return { reservations: [], data: ` + data +
			` } } }) } })`}
		_, err := newExecutor(t).Invoke(t.Context(), call, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}
