package sandbox

import (
	"cmp"
	"slices"
)

// Severities of a Problem.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// place is a position in the author's source; the zero value is unknown.
type place struct{ line, column int }

func problem(code string, at place, message, fix string) Problem {
	return Problem{Severity: SeverityError, Code: code, Line: at.line, Column: at.column, Message: message, Fix: fix}
}

func warning(code string, at place, message, fix string) Problem {
	return Problem{Severity: SeverityWarning, Code: code, Line: at.line, Column: at.column, Message: message, Fix: fix}
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
	return problem(e.Code, place{e.Line, e.Column}, e.Message, fix)
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
