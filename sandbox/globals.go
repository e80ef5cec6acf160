package sandbox

import (
	"fmt"

	"github.com/dop251/goja/ast"
)

const throughConnectors = "reach the outside through ctx.<connector>.<operation>(params)"

// absentGlobals are names that scripts are used to find elsewhere and will not find here.
var absentGlobals = map[string]string{
	"fetch":                throughConnectors,
	"XMLHttpRequest":       throughConnectors,
	"WebSocket":            throughConnectors,
	"Response":             throughConnectors,
	"Request":              throughConnectors,
	"process":              "there is no process; settings belong into the configuration of a connector",
	"require":              "one file is one workflow; " + throughConnectors,
	"Deno":                 throughConnectors,
	"Bun":                  throughConnectors,
	"Buffer":               "use Uint8Array with TextEncoder, TextDecoder, btoa and atob",
	"setTimeout":           "handlers do not wait: return `wakeAt` from prepare, or give a producer an interval",
	"setInterval":          "give a producer an interval: { interval: \"5m\", async handler(ctx) { … } }",
	"setImmediate":         "use await Promise.resolve()",
	"queueMicrotask":       "use Promise.resolve().then(…)",
	"AbortController":      "calls have their own timeouts",
	"Intl":                 "format dates with toISOString() and numbers with toFixed()",
	"Temporal":             "use Date",
	"URL":                  "take the text apart with split or a regular expression, and use encodeURIComponent to build one",
	"URLSearchParams":      "use encodeURIComponent to build a query",
	"WeakRef":              "hold the object itself: nothing outlives the handler call",
	"FinalizationRegistry": "nothing outlives the handler call",
	"Iterator":             "use arrays: Array.from(iterator).map(…)",
	"SharedArrayBuffer":    "use ArrayBuffer",
	"Atomics":              "scripts have one thread",
	"window":               "use globalThis, and only within one handler call",
	"global":               "use globalThis, and only within one handler call",
}

// globals warns of names that do not exist here. They are warnings: a script may ask with typeof, or
// never come there.
func (in *inspection) globals() []Problem {
	var problems []Problem
	seen := make(map[string]bool)
	var look func(ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DotExpression:
			walk(n.Left, look)
			return false // x.fetch is not fetch
		case *ast.UnaryExpression:
			if _, ok := n.Operand.(*ast.Identifier); ok && n.Operator.String() == "typeof" {
				return false
			}
		case *ast.Identifier:
			name := n.Name.String()
			fix, absent := absentGlobals[name]
			if _, declared := in.declared[name]; !absent || declared || seen[name] {
				return true
			}
			seen[name] = true
			problems = append(problems, warning("global.absent", in.position(n.Idx), fmt.Sprintf("%s does not exist here", name), fix))
		}
		return true
	}
	for _, statement := range in.body {
		walk(statement, look)
	}
	return problems
}
