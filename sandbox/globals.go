package sandbox

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox/similar"
)

const throughConnectors = "reach the outside through ctx.<connector>.<operation>(params), such as ctx.http.get in prepare"

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
	"module":               "write export default Keep.workflow({ … })",
	"exports":              "write export default Keep.workflow({ … })",
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

// absent says what to use instead of a name that a script did not find.
func absent(errorName, message string) (hint string, ok bool) {
	if errorName != "ReferenceError" {
		return "", false
	}
	found := undefinedName.FindStringSubmatch(message)
	if found == nil {
		return "", false
	}
	fix, ok := absentGlobals[found[1]]
	return found[1] + " does not exist in Pawl scripts; " + fix, ok
}

// names of a runtime's global object.
func (s *session) globals() []string {
	var names []string
	// The script may have put anything in the place of the prototype.
	if ex := s.rt.Try(func() {
		s.hideGoError()
		for o := s.rt.GlobalObject(); o != nil; o = o.Prototype() {
			names = append(names, o.GetOwnPropertyNames()...)
		}
	}); ex != nil {
		return nil
	}
	return names
}

// given are names that scripts use as if they were global, and what they are here.
var given = map[string]string{
	"ctx":            "ctx is the first parameter of every handler: pass it to this function",
	"state":          "the state is the second parameter of producers and prepare: async prepare(ctx, state)",
	"prepared":       "what prepare returned is the second parameter of mutate and next: async mutate(ctx, prepared)",
	"mutationResult": "the outcome is the third parameter of next: async next(ctx, prepared, mutationResult)",
	"result":         "the outcome is the third parameter of next: async next(ctx, prepared, mutationResult)",
	"event":          "write const [event] = await ctx.peek(\"topic\", { limit: 1 }) in prepare",
	"module":         "write export default Keep.workflow({ … })",
	"exports":        "write export default Keep.workflow({ … })",
	"publish":        "write await ctx.publish(\"topic\", " + eventShape + ")",
	"log":            "write ctx.log(…) or console.log(…)",
	"logger":         "write ctx.log(…) or console.log(…)",
	"workflow":       "write Keep.workflow({ … })",
	"defineWorkflow": "write Keep.workflow({ … })",
	"consumer":       "write Keep.consumer({ … })",
	"producer":       "write Keep.producer({ … })",
	"Pawl":           "write Keep",
	"pawl":           "write Keep",
	"axios":          throughConnectors,
	"z":              "check the data with plain code: typeof and Array.isArray",
	"moment":         "use Date",
	"dayjs":          "use Date",
	"_":              "use the methods of arrays and objects",
	"uuidv4":         "write crypto.randomUUID()",
	"uuid":           "write crypto.randomUUID()",
	"__dirname":      "scripts have no files; " + throughConnectors,
	"fs":             "scripts have no files; " + throughConnectors,
}

// globals warns of names that do not exist here. They are warnings: a script may never come there.
// Names that it asks for with typeof it knows to be uncertain. exist are the names that do.
func (in *inspection) globals(exist []string) []Problem {
	f := &findings{in: in, said: make(map[Problem]bool)}
	asked := in.asked()
	known := map[string]bool{"arguments": true, "Keep": true, "undefined": true}
	for _, name := range exist {
		known[name] = true
	}
	in.addedGlobals(f, known)
	said := make(map[string]bool)
	for _, id := range in.free {
		name := id.Name.String()
		if said[name] || asked[name] || len(f.problems) > mostProblems {
			continue
		}
		said[name] = true
		fix, absent := absentGlobals[name]
		switch {
		case absent:
			f.warn("global.absent", id.Idx, fix, "%s does not exist here", name)
		case known[name] || exist == nil:
		default:
			f.warn("global.unknown", id.Idx, in.meant(id, exist), "%s is not declared anywhere, so using it throws a ReferenceError", clip(name, 100))
		}
	}
	in.shared(f)
	return f.problems
}

const sharedFix = "keep what must last in the handler's state: return it from next or the producer, which gets it back as its second parameter, like prepare"

// addedGlobals notes the globals that the script makes through globalThis.
func (in *inspection) addedGlobals(f *findings, known map[string]bool) {
	for _, id := range in.free {
		member := in.memberOf(id)
		if id.Name.String() != "globalThis" || member == nil || !in.isAssigned(member) {
			continue
		}
		_, name, at, ok := splitProperty(member)
		if !ok || known[name] {
			continue
		}
		known[name] = true
		if in.functionAround(member) != nil {
			f.warn("global.shared", at, sharedFix, "globalThis.%s is set here: every handler call starts without it, so nothing is shared or remembered", clip(name, 100))
		}
	}
}

// meant says what to write instead of a name that nothing declares.
func (in *inspection) meant(id *ast.Identifier, exist []string) string {
	name := id.Name.String()
	var visible []string
	for s := in.around(in.parent(id)); s != nil && len(visible) < 1000; s = s.outer {
		visible = slices.AppendSeq(visible, maps.Keys(s.variables))
	}
	visible = append(visible, "Keep")
	if close := similar.Names(name, visible, 1); len(close) > 0 {
		return "write " + close[0]
	}
	if fix, ok := given[name]; ok {
		return fix
	}
	if close := similar.Names(name, exist, 1); len(close) > 0 {
		return "write " + close[0]
	}
	return "declare it in this file, or pass it as a parameter"
}

// changers are methods that change what they are called on.
var changers = []string{"push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "copyWithin", "set", "add", "delete", "clear"}

// shared warns of top-level variables that a function changes: each handler call starts with them anew.
func (in *inspection) shared(f *findings) {
	for _, v := range in.all {
		if !v.top || strings.HasPrefix(v.name, "__") {
			continue
		}
		for _, id := range v.uses {
			if in.functionAround(id) == nil || !in.changes(id) {
				continue
			}
			f.warn("global.shared", id.Idx, sharedFix,
				"%s is declared outside of the handlers and changed here: every handler call starts with it anew, so nothing is shared or remembered", clip(v.name, 100))
			break
		}
	}
}

// changes reports whether a mention of a variable changes it or what it holds.
func (in *inspection) changes(id *ast.Identifier) bool {
	if in.isAssigned(id) {
		return true
	}
	var e ast.Expression = in.dressed(id)
	for m := in.memberOf(e); m != nil; m = in.memberOf(e) {
		if in.isAssigned(m) {
			return true
		}
		switch p := in.parent(m).(type) {
		case *ast.UnaryExpression:
			if p.Operator == token.DELETE {
				return true
			}
		case *ast.CallExpression:
			left, name, _, ok := splitProperty(m)
			return p.Callee == m && ok && slices.Contains(changers, name) && in.isCollection(left)
		}
		e = in.dressed(m)
	}
	return false
}

// isCollection tells an array, a Map and the like from an object with methods of the author's.
func (in *inspection) isCollection(e ast.Expression) bool {
	switch value := in.resolve(e).(type) {
	case *ast.ArrayLiteral:
		return true
	case *ast.NewExpression:
		class, ok := value.Callee.(*ast.Identifier)
		return ok && slices.Contains([]string{"Map", "Set", "WeakMap", "WeakSet", "Array"}, class.Name.String())
	}
	return false
}
