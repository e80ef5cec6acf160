package sandbox

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dop251/goja/file"
)

// sortProblems orders by the author's lines, errors before warnings on the same place; problems
// without a line come first.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Severity, b.Severity))
	})
}

// mostProblems bounds what is said about one script: nobody reads more, and a script must not make a
// description of any size.
const mostProblems = 100

// listed are the problems that are said of a script, in the order of the author's lines.
func listed(problems []Problem) []Problem {
	explain(problems)
	return first(problems)
}

// first keeps the first problems, errors before warnings, in the order of the author's lines.
func first(problems []Problem) []Problem {
	sortProblems(problems)
	more := len(problems) - mostProblems
	if more <= 0 {
		return problems
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	kept := problems[:mostProblems]
	sortProblems(kept)
	return append(kept, warning("script.problems", Place{}, fmt.Sprintf("%d more problems are not listed", more), "correct those that are listed first"))
}

// findings collects what the text of a script shows to be wrong, each thing once.
type findings struct {
	in       *inspection
	problems []Problem
	said     map[Problem]bool
}

func newFindings(in *inspection) *findings {
	return &findings{in: in, said: make(map[Problem]bool)}
}

// fail reports what cannot work when it is reached.
func (f *findings) fail(code string, at file.Idx, fix, format string, args ...any) {
	f.add(problem(code, f.in.position(at), clip(fmt.Sprintf(format, args...), maxMessage), clip(fix, maxMessage)))
}

// warn reports what an author will hardly have meant.
func (f *findings) warn(code string, at file.Idx, fix, format string, args ...any) {
	f.add(warning(code, f.in.position(at), clip(fmt.Sprintf(format, args...), maxMessage), clip(fix, maxMessage)))
}

func (f *findings) add(p Problem) {
	if !f.said[p] {
		f.said[p] = true
		f.problems = append(f.problems, p)
	}
}

// explain gives an exception about a name that does not exist the fix that the name has.
func explain(problems []Problem) {
	fixes := make(map[Place]string)
	for _, p := range problems {
		if p.Code == "global.absent" || p.Code == "global.unknown" {
			fixes[Place{p.Line, p.Column}] = p.Fix
		}
	}
	for i, p := range problems {
		if fix := fixes[Place{p.Line, p.Column}]; fix != "" && p.Code == "script.threw" {
			problems[i].Fix = fix
		}
	}
}
