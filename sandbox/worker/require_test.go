package worker

import (
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestBundledLibraryAsksForRequire: what a bundled library asks is answered honestly, so that it goes its other way.
func TestBundledLibraryAsksForRequire(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a universal module": `const root = {};
			(function (r, f) {
				if (typeof require === "function") f(require("crypto"));
				else if (typeof define === "function" && define.amd) define(f);
				else r.lib = f("none");
			})(root, (c) => c);
			return root.lib`,
		"tried": `let c = "none"; try { c = require("crypto") } catch (e) { if (e.name !== "ReferenceError") ` +
			`throw e } return c`,
		"passed on": `const load = typeof require !== "undefined" ? require : undefined; return load ? ` +
			`load("crypto") : "none"`,
		"shadowed": `const make = (require) => require("n") + "one"; return make((x) => x)`,
		"two scopes": `const x = () => typeof require, y = () => { const require = "none"; return require };
			return x() === "undefined" ? y() : x()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := succeed(t, sandbox.Prepare, body); string(r.Value) != `"none"` {
				t.Errorf("got %s", r.Value)
			}
		})
	}
}
