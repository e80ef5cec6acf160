package ops

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	callRequest struct {
		Connector string      `json:"connector" in:"path" jsonschema:"the connector's name"`
		Operation string      `json:"operation" in:"path" jsonschema:"the operation's name"`
		Params    rpc.RawJSON `json:"params,omitempty" jsonschema:"the parameters, an object; {} when left out"`
		Mutate    bool        `json:"mutate,omitempty" jsonschema:"allows the call of a mutation: it changes the outside, and no workflow's log knows of it"`
	}
	callAnswer struct {
		Kind    connector.Kind     `json:"kind"`
		Outcome string             `json:"outcome" jsonschema:"applied (or answered, for a read), failed or uncertain"`
		Result  rpc.RawJSON        `json:"result"`
		Error   *readmodel.Failure `json:"error"`
		Key     string             `json:"idempotencyKey,omitempty" jsonschema:"of a mutation"`
	}
)

var connectorTable = []Operation{
	define(operation("callConnector", "POST /v1/connectors/{connector}/{operation}/call", rpc.Admin,
		"Call one operation of a connector, outside of any workflow").slow(), callConnector),
}

// callConnector is for a person who tries a connector out. A mutation goes through no ledger and is
// sent once; the engine's log of messages names the caller.
func callConnector(ctx context.Context, c *Call, r *callRequest) (callAnswer, error) {
	s := c.backend
	op, ok := s.cfg.Connectors.Operation(r.Connector, r.Operation)
	if !ok || s.cfg.Calls == nil {
		return callAnswer{}, rpc.Problemf(http.StatusNotFound, "operation.unknown", "there is no operation %s.%s now",
			eventlog.ClipName(r.Connector), eventlog.ClipName(r.Operation)).
			WithHint("pawl connectors list shows those there are")
	}
	timeout := op.Timeout
	if timeout == 0 {
		timeout = connector.DefaultTimeout
	}
	now := time.Now()
	call := connector.Call{Connector: r.Connector, Operation: r.Operation, Params: json.RawMessage(r.Params),
		StartedAt: now, Deadline: now.Add(timeout)}
	answer := callAnswer{Kind: op.Kind}
	if op.Kind != connector.Mutate {
		result, err := s.cfg.Calls.Read(ctx, call)
		answer.Outcome, answer.Result = "applied", rpc.RawJSON(result)
		if err != nil {
			answer.Outcome, answer.Error = "failed", callFailure(err)
		}
		return answer, nil
	}
	if !r.Mutate {
		return callAnswer{}, rpc.Problemf(http.StatusConflict, "mutation.unconfirmed",
			"%s.%s changes the outside, and this is not confirmed", r.Connector, r.Operation).
			WithHint(`say so with "mutate": true (pawl connectors call --yes)`)
	}
	call.Key = "pawl-call-" + rand.Text()
	// Once sent, the call is not given up because the caller went away.
	outcome := s.cfg.Calls.Perform(context.WithoutCancel(ctx), call)
	answer.Key, answer.Result = call.Key, rpc.RawJSON(outcome.Result)
	answer.Outcome = map[connector.Status]string{connector.Applied: "applied", connector.Failed: "failed",
		connector.Uncertain: "uncertain"}[outcome.Status]
	if outcome.Failure != nil {
		answer.Error = callFailure(outcome.Failure)
	}
	s.cfg.Logger.Info("a person called a mutation outside of any workflow", "operation", r.Connector+"."+r.Operation,
		"actor", c.Actor.Name,
		"outcome", answer.Outcome, "idempotencyKey", call.Key)
	return answer, nil
}

func callFailure(err error) *readmodel.Failure {
	var f *eventlog.Failure
	if errors.As(err, &f) {
		return &readmodel.Failure{Class: f.Class, Code: f.Code, Message: f.Message}
	}
	return &readmodel.Failure{Class: eventlog.Internal, Code: "call.failed", Message: err.Error()}
}
