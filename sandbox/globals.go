package sandbox

import (
	"maps"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox/similar"
)

// given are names that scripts use as if they were global, and what they are here.
var given = map[string]string{
	"ctx":            "ctx is the first parameter of every handler: pass it to this function",
	"state":          "the state is the second parameter of producers and prepare: async prepare(ctx, state)",
	"prepared":       "what prepare returned is the second parameter of mutate and next: async mutate(ctx, prepared)",
	"mutationResult": "the outcome is the third parameter of next: async next(ctx, prepared, mutationResult)",
	"result":         "the outcome is the third parameter of next: async next(ctx, prepared, mutationResult)",
	"event":          "write const [event] = await ctx.peek(\"topic\", { limit: 1 }) in prepare",
	"module":         "write export default Pawl.workflow({ … })",
	"exports":        "write export default Pawl.workflow({ … })",
	"publish":        "write await ctx.publish(\"topic\", " + eventShape + ")",
	"log":            "write ctx.log(…) or console.log(…)",
	"logger":         "write ctx.log(…) or console.log(…)",
	"workflow":       "write Pawl.workflow({ … })",
	"defineWorkflow": "write Pawl.workflow({ … })",
	"consumer":       "write Pawl.consumer({ … })",
	"producer":       "write Pawl.producer({ … })",
	"pawl":           "write Pawl",
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

// checkNames warns of names that do not exist here. They are warnings: a script may never come there.
// Names that it asks for with typeof it knows to be uncertain. exist are the names that do.
func checkNames(in *inspection, exist []string) []Problem {
	f := newFindings(in)
	asked := in.asked()
	known := map[string]bool{"arguments": true, scriptGlobal: true, oldGlobal: true, "undefined": true}
	for _, name := range exist {
		known[name] = true
	}
	f.addedGlobals(known)
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
			f.warn("global.unknown", id.Idx, f.meant(id, exist), "%s is not declared anywhere, so using it throws a ReferenceError", clip(name, 100))
		}
	}
	f.shared()
	return f.problems
}

// meant says what to write instead of a name that nothing declares.
func (f *findings) meant(id *ast.Identifier, exist []string) string {
	name := id.Name.String()
	var visible []string
	for s := f.in.around(f.in.parent(id)); s != nil && len(visible) < 1000; s = s.outer {
		visible = slices.AppendSeq(visible, maps.Keys(s.variables))
	}
	visible = append(visible, scriptGlobal, oldGlobal)
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
