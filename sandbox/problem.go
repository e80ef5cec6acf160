package sandbox

import (
	"slices"
)

// Severities of a Problem.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// NewProblem is an error at a place.
func NewProblem(code string, at Place, message, fix string) Problem {
	return Problem{Severity: SeverityError, Code: code, Line: at.Line, Column: at.Column, Message: message, Fix: fix}
}

// NewWarning is a warning at a place.
func NewWarning(code string, at Place, message, fix string) Problem {
	return Problem{Severity: SeverityWarning, Code: code, Line: at.Line, Column: at.Column, Message: message, Fix: fix}
}

// HasErrors reports whether a deploy must be refused.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// Problem is one finding about a script, in the author's lines. An error is what certainly fails when
// it is reached; a warning is what its author will hardly have meant. The codes are listed in package lint. Top-level
// code that fails has those of Error.
type Problem struct {
	Severity string `json:"severity"` // "error" or "warning"
	Code     string `json:"code"`
	Line     int    `json:"line"`   // 1-based, 0 where unknown
	Column   int    `json:"column"` // 1-based, 0 where unknown
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
	// Edit is the fix as code: applied literally it mends the problem. The zero value where no text of the script can
	// tell what is right; ByHand says why then.
	Edit   Edit   `json:"edit,omitzero"`
	ByHand string `json:"byHand,omitempty"`
}

// Edit replaces the author's text from a place up to another one, which may be the same. Columns count UTF-16 units.
type Edit struct {
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
	Text      string `json:"text"`
}
