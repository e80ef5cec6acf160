package natsservice

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// requestHeader is what every request says about itself.
func requestHeader(ctx context.Context, call connector.Call) nats.Header {
	h := nats.Header{HeaderWorkflow: {string(call.Workflow)}, HeaderRun: {string(call.Run)}}
	if call.Key != "" {
		h.Set(HeaderKey, call.Key)
	}
	if call.Traceparent != "" {
		h.Set(HeaderTrace, call.Traceparent)
	}
	deadline, ok := ctx.Deadline()
	// A reconcile is asked when the call's own deadline is long over: its context's counts then.
	if !call.Deadline.IsZero() && (!ok || call.Deadline.Before(deadline)) && !connector.DeadlinePassed(call) {
		deadline, ok = call.Deadline, true
	}
	if ok {
		h.Set(HeaderDeadline, deadline.UTC().Format(time.RFC3339Nano))
	}
	return h
}

// notSent is the failure of a request that provably never left.
func notSent(call connector.Call, err error) *eventlog.Failure {
	if errors.Is(err, nats.ErrMaxPayload) {
		return connector.Failf(eventlog.Logic, CodeTooBig,
			"%s.%s was not sent: its parameters have %d bytes, more than the NATS server takes in one message; send "+
				"less at once",
			call.Connector, call.Operation, len(call.Params))
	}
	return connector.Failf(eventlog.Transient, CodeDisconnected, "%s.%s: %v", call.Connector, call.Operation, err)
}

// absent is the failure of a request that nothing listens for. The watcher looks at once whether
// the service is gone.
func (s *foundService) absent(call connector.Call) *eventlog.Failure {
	s.nudge()
	return connector.Failf(eventlog.Transient, CodeAbsent,
		"no instance of service %s serves %s now; start it, the call is tried again", call.Connector, call.Operation)
}

func gone(call connector.Call) *eventlog.Failure {
	return connector.Failf(eventlog.Transient, connector.CodeUnknown,
		"service %s does not offer %s any more; start the version that does", call.Connector, call.Operation)
}
