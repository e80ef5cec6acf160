package global

import (
	"maps"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/script"
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
	"publish":        "write await ctx.publish(\"topic\", " + finding.EventShape + ")",
	"log":            "write ctx.log(…) or console.log(…)",
	"logger":         "write ctx.log(…) or console.log(…)",
	"workflow":       "write Pawl.workflow({ … })",
	"defineWorkflow": "write Pawl.workflow({ … })",
	"consumer":       "write Pawl.consumer({ … })",
	"producer":       "write Pawl.producer({ … })",
	"hook":           "write Pawl.hook({ … })",
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

// globals judges the names of one text that no declaration of it stands for.
type globals struct{ *finding.List }

// Check warns of names that do not exist here. They are warnings, since the script may never reach that place. A name
// that the script asks for with typeof is left out: the script knows that it may be absent. exist are the names that
// exist.
func Check(in *script.Text, exist []string) []sandbox.Problem {
	f := globals{finding.New(in)}
	asked := in.Asked()
	known := map[string]bool{"arguments": true, script.Global: true, script.OldGlobal: true, "undefined": true}
	for _, name := range exist {
		known[name] = true
	}
	f.addedGlobals(known)
	said := make(map[string]bool)
	for _, id := range in.Free {
		name := id.Name.String()
		if said[name] || asked[name] || len(f.Problems) > finding.MaxProblems {
			continue
		}
		said[name] = true
		fix, absent := Absent[name]
		switch {
		case absent:
			f.Warn("global.absent", id.Idx, fix, "%s does not exist here", name)
		case known[name] || exist == nil:
		default:
			f.Warn("global.unknown", id.Idx, f.meant(id, exist),
				"%s is not declared anywhere, so using it throws a ReferenceError", sandbox.Clip(name, 100))
		}
	}
	f.shared()
	return f.Problems
}

// meant says what to write instead of a name that nothing declares.
func (f globals) meant(id *ast.Identifier, exist []string) string {
	name := id.Name.String()
	var visible []string
	for s := f.In.Around(f.In.Parent(id)); s != nil && len(visible) < 1000; s = s.Outer {
		visible = slices.AppendSeq(visible, maps.Keys(s.Variables))
	}
	visible = append(visible, script.Global, script.OldGlobal)
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
