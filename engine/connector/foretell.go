package connector

import (
	"encoding/json"

	"github.com/pawl-run/pawl/eventlog"
)

// CallChecker is implemented by a connector that refuses some calls for what they ask, whatever the outside would say:
// a host that is not configured, a path outside of its folder. Ask through Registry.Check.
type CallChecker interface {
	// CallCheck is the failure with which Read or Perform refuses the call before it turns to the outside, nil for none.
	// It does no I/O: what only the outside shows, such as a link in a folder, it does not see.
	CallCheck(call Call) *eventlog.Failure
}

// CallAnswerer is implemented by a connector whose target may answer that a call has failed, as by a status of HTTP.
// Ask through Registry.Answer.
type CallAnswerer interface {
	// CallAnswer is what Read or Perform makes of a complete answer, which is written in the form of a result. It does
	// no I/O.
	CallAnswer(call Call, answer json.RawMessage) Outcome
}

// Check is the failure with which the call's connector refuses it for what it asks, nil for none. The schema of its
// parameters is not looked at.
func (r *Registry) Check(call Call) *eventlog.Failure {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if checker, checks := c.(CallChecker); ok && checks {
		return checker.CallCheck(normal(call))
	}
	return nil
}

// Answer is what the call's connector makes of an answer that is written in the form of a result. Most connectors take
// it as the result.
func (r *Registry) Answer(call Call, answer json.RawMessage) Outcome {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if answerer, judges := c.(CallAnswerer); ok && judges {
		return answerer.CallAnswer(normal(call), answer)
	}
	return Outcome{Status: Applied, Result: answer}
}
