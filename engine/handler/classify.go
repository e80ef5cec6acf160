package handler

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// classify turns the error of a handler call into a failure, by its type alone (F1, F3): thrown by
// the script is logic, a connector's read says its own class or is internal, faults of the engine's own storage are
// transient.
func classify(err error) *eventlog.Failure {
	var fault *sandbox.Error
	if !errors.As(err, &fault) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return failed(eventlog.Transient, eventlog.CodeScriptCancelled, "the handler was stopped before it ended")
		}
		if errors.Is(err, ErrPaging) {
			return failed(eventlog.Transient, eventlog.CodeStorageRead, err.Error()) // F11
		}
		return failed(eventlog.Internal, "internal", err.Error())
	}
	f := &eventlog.Failure{Code: fault.Code, Message: eventlog.ClipText(fault.Message), Line: fault.Line}
	switch fault.Fault {
	case sandbox.FaultScript:
		f.Class = eventlog.Logic
	case sandbox.FaultTransient:
		f.Class = eventlog.Transient
	case sandbox.FaultRead:
		f.Class = eventlog.Internal
		var cause *eventlog.Failure
		if errors.As(fault.Cause, &cause) {
			f.Class, f.Code, f.Message = cause.Class, cause.Code, eventlog.ClipText(cause.Message)
			f.RetryAfter = cause.RetryAfter
		} else if errors.Is(fault.Cause, ErrPaging) {
			f.Class, f.Code = eventlog.Transient, eventlog.CodeStorageRead // F11
		}
	default:
		f.Class = eventlog.Internal
	}
	return f
}

func failed(class eventlog.Class, code, message string) *eventlog.Failure {
	return &eventlog.Failure{Class: class, Code: code, Message: eventlog.ClipText(message)}
}
