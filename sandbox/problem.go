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
// it is reached; a warning is what its author will hardly have meant. The codes of Describe, with the
// meaning of each in package lint, are
//   - those of Error for top-level code, and for what the text alone shows that it will end in:
//     phase.forbidden, connector.unknown, call.params, publish.invalid, input.invalid, topic.unknown,
//     topic.notSubscribed; besides them ctx.assigned, prepare.result and reservation.unknown
//   - shape.default, .name, .topics, .producer, .consumer, .hook, .concurrency, .empty: what the workflow is made of
//   - concurrency.state: a state that a consumer with concurrency returns, or as a warning reads
//   - value.notJSON: a value of which JSON keeps nothing
//   - as warnings event.*, payload.unknown, data.unknown, state.*, reservation.*, next.feedsItself,
//     publish.stringified, publish.messageIdConstant, .messageIdRepeats, shape.unknownKey, handler.parameter,
//     global.absent, .unknown, .shared, call.notAwaited, call.catch, mutate.codeAfter, .secondCall, .loop,
//     ui.title, title.constant, publish.unknownMember, publish.messageIdRandom, prepare.reservations,
//     prepare.unknownMember, prepare.wakeAt, prepared.unknown,
//     mutationResult.unknown, concurrency.key, connector.dynamic, script.suspicious, script.problems
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
