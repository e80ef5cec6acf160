package sandbox

import (
	"context"
	"fmt"
	"strings"
)

// Fault says which side is to blame for a failed invocation; the engine derives the class from it (F1, F3).
type Fault string

// The faults.
const (
	// FaultScript: the script threw, returned something unusable, or broke a rule (phase table, limits).
	FaultScript Fault = "script"
	// FaultRead: a connector's read failed; Cause holds the host's error.
	FaultRead Fault = "read"
	// FaultTransient: our own side could not run it (reads took too long in sum, worker lost, shutdown).
	FaultTransient Fault = "transient"
	// FaultInternal: the executor is broken.
	FaultInternal Fault = "internal"
)

// Error is a failed invocation.
type Error struct {
	Fault Fault
	// Code names the limit or rule:
	//   - limit.cpu, .wall, .memory, .stack, .source, .argument, .result, .state, .publish, .hostCalls, .reads
	//   - phase.forbidden: the table of R8 (and of R6)
	//   - connector.unknown, operation.unknown, call.params, read.failed: calls of connectors
	//   - topic.notSubscribed, topic.unknown, publish.invalid, input.invalid: topics
	//   - handler.unknown, script.threw, script.result, script.pending, script.crashed,
	//     script.cancelled, script.syntax, script.import: the script as a whole
	//   - worker.lost: the worker process was ended or stopped from outside, got next to no processor
	//     time, or none could be started
	//   - internal: the executor or its host is broken
	Code    string
	Message string
	// Line and Column are in the author's source, 0 where unknown. Where the interpreter keeps no
	// position, as of a limit of memory, they are those of the handler.
	Line, Column int
	// Stack is the script's stack in the author's lines, at most 4 KiB.
	Stack string
	// Cause is the host's error of a failed read.
	Cause error
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap is the host's own error that it comes from, nil for none.
func (e *Error) Unwrap() error { return e.Cause }

// Bounds of what a failure tells; scripts control the text.
const (
	MaxMessage   = 4 << 10
	MaxStackText = 4 << 10
)

// ScriptFault is a rule the script broke.
func ScriptFault(code, format string, args ...any) *Error {
	return &Error{Fault: FaultScript, Code: code, Message: Clip(fmt.Sprintf(format, args...), MaxMessage)}
}

// InternalFault is a failure of the executor or its host.
func InternalFault(format string, args ...any) *Error {
	return &Error{Fault: FaultInternal, Code: "internal", Message: Clip(fmt.Sprintf(format, args...), MaxMessage)}
}

// Settings is where the limits stand in the engine's configuration.
const Settings = "policies.script."

// LimitFault is a limit that the script passed; it names the setting.
func LimitFault(code, format string, args ...any) *Error {
	return ScriptFault(code, "%s (%s%s)", fmt.Sprintf(format, args...), Settings, strings.TrimPrefix(code, "limit."))
}

// Clip bounds the texts of a fault that comes from a worker.
func (e *Error) Clip() {
	e.Code, e.Message, e.Stack = Clip(e.Code, MaxCode), Clip(e.Message, 2*MaxMessage), Clip(e.Stack, 2*MaxStackText)
	e.Line, e.Column = max(e.Line, 0), max(e.Column, 0)
}

// MaxCode is more than the longest code of a fault or a problem.
const MaxCode = 64

// PlaceAt gives a fault of the script that has no place the one of the handler it happened in.
func (e *Error) PlaceAt(handler Place) {
	if e.Line == 0 && e.Fault == FaultScript {
		e.Line, e.Column = handler.Line, handler.Column
	}
}

// FaultOf is the failure of a call whose script does not compile.
func FaultOf(problems []Problem) *Error {
	for _, p := range problems {
		if p.Severity == SeverityError {
			return &Error{Fault: FaultScript, Code: p.Code, Message: p.Message, Line: p.Line, Column: p.Column}
		}
	}
	return InternalFault("the script was not compiled, for no stated reason")
}

// Cancelled is the fault of a call whose ctx has ended.
func Cancelled(ctx context.Context, message string) *Error {
	return &Error{Fault: FaultTransient, Code: "script.cancelled", Message: message, Cause: context.Cause(ctx)}
}

// WorkerLost is the fault of a call whose worker was taken from it.
func WorkerLost(format string, args ...any) *Error {
	return &Error{Fault: FaultTransient, Code: "worker.lost", Message: Clip(fmt.Sprintf(format, args...), MaxMessage)}
}

// ProblemOf turns a failure of top-level code into a problem of the script.
func ProblemOf(e *Error) Problem {
	fix := "code outside of handlers runs before every handler call: keep it to constants and functions"
	switch e.Code {
	case "limit.source":
		fix = "make the script smaller; move data out of it"
	case "script.threw":
		fix = "correct the error; " + fix
	}
	return NewProblem(e.Code, Place{e.Line, e.Column}, e.Message, fix)
}

// What was cancelled, for the message of Cancelled.
const (
	DescribeCancelled = "describing the script was cancelled"
	CallCancelled     = "the handler call was cancelled"
)
