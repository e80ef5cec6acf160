package sandbox

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dop251/goja/file"
)

// Severities of a Problem.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

func problem(code string, at Place, message, fix string) Problem {
	return Problem{Severity: SeverityError, Code: code, Line: at.Line, Column: at.Column, Message: message, Fix: fix}
}

func warning(code string, at Place, message, fix string) Problem {
	return Problem{Severity: SeverityWarning, Code: code, Line: at.Line, Column: at.Column, Message: message, Fix: fix}
}

// problemOf turns a failure of top-level code into a problem of the script.
func problemOf(e *Error) Problem {
	fix := "code outside of handlers runs before every handler call: keep it to constants and functions"
	switch e.Code {
	case "limit.source":
		fix = "make the script smaller; move data out of it"
	case "script.threw":
		fix = "correct the error; " + fix
	}
	return problem(e.Code, Place{e.Line, e.Column}, e.Message, fix)
}

// hasErrors reports whether a deploy must be refused.
func hasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

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
