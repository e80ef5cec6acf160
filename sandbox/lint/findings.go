package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// Sort orders by the author's lines, errors before warnings on the same place; problems
// without a line come first.
func Sort(problems []sandbox.Problem) {
	slices.SortStableFunc(problems, func(a, b sandbox.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Severity, b.Severity))
	})
}

// MaxProblems bounds what is said about one script: more would not be read, and a script must not make a
// description of any size.
const MaxProblems = 100

// Listed are the problems that are said of a script, in the order of the author's lines.
func Listed(problems []sandbox.Problem) []sandbox.Problem {
	explain(problems)
	return first(problems)
}

// first keeps the first problems, errors before warnings, in the order of the author's lines.
func first(problems []sandbox.Problem) []sandbox.Problem {
	Sort(problems)
	more := len(problems) - MaxProblems
	if more <= 0 {
		return problems
	}
	slices.SortStableFunc(problems, func(a, b sandbox.Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	kept := problems[:MaxProblems]
	Sort(kept)
	return append(kept, sandbox.NewWarning("script.problems", sandbox.Place{},
		fmt.Sprintf("%d more problems are not listed", more), "correct those that are listed first"))
}

// findings collects what the text of a script shows to be wrong, each thing once.
type findings struct {
	in       *script.Text
	problems []sandbox.Problem
	said     map[sandbox.Problem]bool
}

func newFindings(in *script.Text) *findings {
	return &findings{in: in, said: make(map[sandbox.Problem]bool)}
}

// fail reports what cannot work when it is reached.
func (f *findings) fail(code string, at file.Idx, fix, format string, args ...any) {
	f.add(sandbox.NewProblem(code, f.in.Position(at), sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage)))
}

// warn reports what an author will hardly have meant.
func (f *findings) warn(code string, at file.Idx, fix, format string, args ...any) {
	f.add(sandbox.NewWarning(code, f.in.Position(at), sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage)))
}

func (f *findings) add(p sandbox.Problem) {
	if !f.said[p] {
		f.said[p] = true
		f.problems = append(f.problems, p)
	}
}

// explain gives an exception about a name that does not exist the fix that the name has.
func explain(problems []sandbox.Problem) {
	fixes := make(map[sandbox.Place]string)
	for _, p := range problems {
		if p.Code == "global.absent" || p.Code == "global.unknown" {
			fixes[sandbox.Place{Line: p.Line, Column: p.Column}] = p.Fix
		}
	}
	for i, p := range problems {
		if fix := fixes[sandbox.Place{Line: p.Line, Column: p.Column}]; fix != "" && p.Code == "script.threw" {
			problems[i].Fix = fix
		}
	}
}
