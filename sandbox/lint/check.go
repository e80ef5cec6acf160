package lint

import (
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/global"
	"github.com/pawl-run/pawl/sandbox/script"
)

// Check judges what the text of a script shows about the handlers of its definition, and completes the
// definition with what they call. exist are the names of the runtime's global object.
func Check(in *script.Text, d *sandbox.Definition, exist []string) []sandbox.Problem {
	uses, problems := checkHandlers(in, d)
	d.Uses = uses
	problems = append(problems, MutateProblems(d, func(string, string) sandbox.OperationKind { return "" })...)
	return append(problems, global.Check(in, exist)...)
}
