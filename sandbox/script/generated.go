package script

import (
	"github.com/dop251/goja"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
)

// wrapperName is the name goja knows the generated code by. A position that the source map cannot
// translate keeps this name, so generated lines are never taken for the author's.
const wrapperName = "<generated>"

// The global with which scripts declare workflows, and the name that it had before, which means the same.
const (
	Global    = "Pawl"
	OldGlobal = "Keep"
)

// The wrapper is a function of both names that returns the default export. The prefix stands on the first
// line of the generated code, so no line moves.
const (
	wrapperPrefix = "(function(" + OldGlobal + "," + Global + "){"
	wrapperSuffix = "\n})\n//# sourceMappingURL=source.map\n"
)

// PlaceOf is where in the author's source a frame of the interpreter's stack is, zero for one that is
// native or of code made at run time.
func PlaceOf(frame *goja.StackFrame) sandbox.Place {
	if frame.SrcName() != wrapperName {
		return sandbox.Place{}
	}
	return authorPlace(frame.Position())
}

// authorPlace keeps only positions that the source map could translate.
func authorPlace(p file.Position) sandbox.Place {
	if p.Filename == wrapperName || p.Line <= 0 {
		return sandbox.Place{}
	}
	return sandbox.Place{Line: p.Line, Column: p.Column}
}
