package natsservice

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// question is what a reconcile endpoint is sent.
type question struct {
	Params         json.RawMessage `json:"params"`
	IdempotencyKey string          `json:"idempotencyKey"`
	StartedAt      time.Time       `json:"startedAt"`
}

// verdict is what a reconcile endpoint answers.
type verdict struct {
	Status  string          `json:"status"`
	Result  json.RawMessage `json:"result"`
	Message string          `json:"message"`
}

// Reconcile asks the mutation's reconcile endpoint. An answer that does not tell the outcome is VerdictRetry.
func (s *foundService) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	e, ok := s.endpoint(call.Operation)
	if !ok || e.reconcile == "" {
		return connector.RetryWith(gone(call))
	}
	asked, err := json.Marshal(question{Params: call.Params, IdempotencyKey: call.Key, StartedAt: call.StartedAt.UTC()})
	if err != nil {
		return connector.RetryWith(connector.Failf(eventlog.Internal, CodeReconcile, "%s.%s cannot be asked about: %v",
			call.Connector, call.Operation, err))
	}
	head := requestHeader(ctx, call)
	// The key names the call that is asked about. As a header it would name this request, and a
	// tool that answers repeated keys from memory would answer with the mutation's result.
	head.Del(HeaderKey)
	m, err := s.wire.request(ctx, e.reconcile, head, asked)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return connector.RetryWith(connector.ContextFailure(ctx, call))
	case errors.Is(err, errNotSent):
		return connector.RetryWith(notSent(call, err))
	default:
		return connector.RetryWith(connector.Failf(eventlog.Transient, CodeDisconnected, "%s.%s: %v", call.Connector,
			call.Operation, err))
	}
	if unheard(m) {
		return connector.RetryWith(s.absent(call))
	}
	if failed := errorOf(m); failed != nil {
		return connector.RetryWith(failed.failure(call))
	}
	return e.reconciliation(ctx, m.Data, call)
}

// reconciliation reads the answer of a reconcile endpoint.
func (e endpoint) reconciliation(ctx context.Context, data []byte, call connector.Call) connector.Reconciliation {
	var v verdict
	if err := json.Unmarshal(data, &v); err != nil {
		return connector.RetryWith(connector.Failf(eventlog.Internal, CodeReconcile,
			"the reconcile endpoint of %s.%s did not answer with a JSON object: %v", call.Connector, call.Operation,
			err))
	}
	said := func(class eventlog.Class, code string) *eventlog.Failure {
		if v.Message == "" {
			return nil
		}
		return connector.Failf(class, code, "%s.%s: %s", call.Connector, call.Operation, v.Message)
	}
	switch v.Status {
	case "applied":
		if failure := e.checkResult(ctx, v.Result, call); failure != nil {
			return connector.RetryWith(failure)
		}
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: v.Result}
	case "failed":
		return connector.Reconciliation{Verdict: connector.VerdictFailed, Failure: said(eventlog.Transient,
			connector.CodeNotApplied)}
	case "retry":
		return connector.RetryWith(said(eventlog.Transient, CodeReconcile))
	default:
		return connector.RetryWith(connector.Failf(eventlog.Internal, CodeReconcile,
			`the reconcile endpoint of %s.%s answered with status %.40q, want "applied", "failed" or "retry"`,
			call.Connector, call.Operation, v.Status))
	}
}
