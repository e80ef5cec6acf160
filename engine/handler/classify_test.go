package handler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// The class of a failure comes from the type of its error. Message texts here name other classes: no
// text may ever decide.
func TestF1_F3_ClassComesFromTheType(t *testing.T) {
	t.Parallel()
	fault := func(kind sandbox.Fault, cause error) error {
		return fmt.Errorf("run it: %w", &sandbox.Error{
			Fault: kind, Code: "code", Message: "transient: 429, try again", Line: 7, Cause: cause,
		})
	}
	said := &eventlog.Failure{Class: eventlog.Precondition, Code: "mail.gone", Message: "internal error"}
	for name, c := range map[string]struct {
		err   error
		class eventlog.Class
		code  string
	}{
		"thrown by the script":                   {fault(sandbox.FaultScript, nil), eventlog.Logic, "code"},
		"thrown by the script, wrapping a class": {fault(sandbox.FaultScript, said), eventlog.Logic, "code"},
		"our own side":                           {fault(sandbox.FaultTransient, nil), eventlog.Transient, "code"},
		"a fault of ours":                        {fault(sandbox.FaultInternal, nil), eventlog.Internal, "code"},
		"a fault of no known kind":               {fault("unheard of", nil), eventlog.Internal, "code"},
		"a read without a class":                 {fault(sandbox.FaultRead, errors.New("logic")), eventlog.Internal, "code"},
		"a read without a cause":                 {fault(sandbox.FaultRead, nil), eventlog.Internal, "code"},
		"a read whose connector says why": {
			fault(sandbox.FaultRead, fmt.Errorf("read: %w", said)), eventlog.Precondition, "mail.gone",
		},
		"stopped": {
			fmt.Errorf("invoke: %w", context.Canceled), eventlog.Transient, "script.cancelled",
		},
		"out of time":   {context.DeadlineExceeded, eventlog.Transient, "script.cancelled"},
		"anything else": {errors.New("transient"), eventlog.Internal, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if f := classify(c.err); f.Class != c.class || f.Code != c.code || f.Message == "" {
				t.Errorf("classified as %+v, want class %s and code %s", f, c.class, c.code)
			}
		})
	}
}

// F13: what a read was asked to wait for reaches the decision.
func TestF13_ClassifyKeepsWhenToComeAgain(t *testing.T) {
	t.Parallel()
	busy := &eventlog.Failure{
		Class: eventlog.Transient, Code: "http.status", Message: "busy", RetryAfter: 20 * time.Second,
	}
	if f := classify(&sandbox.Error{Fault: sandbox.FaultRead, Cause: busy}); f.RetryAfter != busy.RetryAfter {
		t.Errorf("classified as %+v", f)
	}
}

// J6, F11: what the sandbox says of its own processes is a fault of our own; what the script has caused is not.
func TestJ6_ClassifyOwnFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err error
		own bool
	}{
		"a worker that was ended":     {sandbox.WorkerLost("it was killed"), true},
		"a handler that was stopped":  {sandbox.Cancelled(t.Context(), sandbox.CallCancelled), true},
		"a store that cannot be read": {fmt.Errorf("read: %w", ErrPaging), true},
		"nor within a call of ctx.peek": {
			&sandbox.Error{Fault: sandbox.FaultRead, Cause: fmt.Errorf("read: %w", ErrPaging)}, true,
		},
		"too much memory":             {sandbox.LimitFault("limit.memory", "it needs more"), false},
		"an interpreter that crashed": {sandbox.ScriptFault("script.crashed", "it crashed"), false},
		"reads that took too long": {
			&sandbox.Error{Fault: sandbox.FaultTransient, Code: "limit.reads", Message: "too long"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := classify(c.err)
			if f.OwnFault() != c.own || c.own && f.Class != eventlog.Transient {
				t.Errorf("%+v: a fault of our own: %v, want %v", f, f.OwnFault(), c.own)
			}
		})
	}
}
