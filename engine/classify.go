package engine

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// classify turns the error of a handler call into a failure, by its type alone (F1, F3): thrown by
// the script is logic, a connector's read says its own class or is internal, our own side's
// troubles are transient.
func classify(err error) *eventlog.Failure {
	var fault *sandbox.Error
	if !errors.As(err, &fault) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return &eventlog.Failure{Class: eventlog.Transient, Code: "script.cancelled", Message: "the handler was stopped before it ended"}
		}
		if errors.Is(err, errPaging) {
			return &eventlog.Failure{Class: eventlog.Transient, Code: "storage.read", Message: clip(err.Error())} // F11
		}
		return &eventlog.Failure{Class: eventlog.Internal, Code: "internal", Message: clip(err.Error())}
	}
	f := &eventlog.Failure{Code: fault.Code, Message: clip(fault.Message), Line: fault.Line}
	switch fault.Fault {
	case sandbox.FaultScript:
		f.Class = eventlog.Logic
	case sandbox.FaultTransient:
		f.Class = eventlog.Transient
	case sandbox.FaultRead:
		f.Class = eventlog.Internal
		var cause *eventlog.Failure
		if errors.As(fault.Cause, &cause) {
			f.Class, f.Code, f.Message, f.RetryAfter = cause.Class, cause.Code, clip(cause.Message), cause.RetryAfter
		}
	default:
		f.Class = eventlog.Internal
	}
	return f
}
