package global

import (
	"regexp"
)

const throughConnectors = "reach the outside through ctx.<connector>.<operation>(params), such as " +
	"ctx.http.get in prepare"

// Absent are names that scripts are used to find elsewhere and will not find here.
var Absent = map[string]string{
	"fetch":                throughConnectors,
	"XMLHttpRequest":       throughConnectors,
	"WebSocket":            throughConnectors,
	"Response":             throughConnectors,
	"Request":              throughConnectors,
	"process":              "there is no process; settings belong in the configuration of a connector",
	"require":              "one file is one workflow; " + throughConnectors,
	"Deno":                 throughConnectors,
	"Bun":                  throughConnectors,
	"Buffer":               "use Uint8Array with TextEncoder, TextDecoder, btoa and atob",
	"setTimeout":           "handlers do not wait: return `wakeAt` from prepare, or give a producer an interval",
	"setInterval":          "give a producer an interval: { interval: \"5m\", async handler(ctx) { … } }",
	"setImmediate":         "use await Promise.resolve()",
	"clearTimeout":         "there are no timers",
	"clearInterval":        "there are no timers",
	"performance":          "use Date.now()",
	"Blob":                 "use Uint8Array",
	"FormData":             throughConnectors,
	"Headers":              throughConnectors,
	"ReadableStream":       throughConnectors,
	"navigator":            "scripts run in no browser",
	"document":             "scripts run in no browser",
	"localStorage":         "what a producer or next returns is kept as its state",
	"module":               "write export default Pawl.workflow({ … })",
	"exports":              "write export default Pawl.workflow({ … })",
	"__dirname":            "there are no files here; " + throughConnectors,
	"WebAssembly":          "write it in JavaScript",
	"AbortController":      "calls have their own timeouts",
	"Temporal":             "use Date",
	"WeakRef":              "hold the object itself: nothing outlives the handler call",
	"FinalizationRegistry": "nothing outlives the handler call",
	"SharedArrayBuffer":    "use ArrayBuffer",
	"Atomics":              "scripts have one thread",
	"window":               "use globalThis, and only within one handler call",
	"global":               "use globalThis, and only within one handler call",
}

// undefinedName is what the interpreter says of a name that stands for nothing.
var undefinedName = regexp.MustCompile(`^([A-Za-z_]{1,40}) is not defined$`)

// Hint says what to use instead of a name that a script did not find.
func Hint(errorName, message string) (hint string, ok bool) {
	if errorName != "ReferenceError" {
		return "", false
	}
	found := undefinedName.FindStringSubmatch(message)
	if found == nil {
		return "", false
	}
	fix, ok := Absent[found[1]]
	return found[1] + " does not exist in Pawl scripts; " + fix, ok
}
