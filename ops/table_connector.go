package ops

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
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

// callConnector is for a person who tries a connector. A mutation is sent once and is not recorded in the log of any
// workflow; a message of the engine names the caller.
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
	// Once sent, the call goes on even if the caller is gone.
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

type (
	resumeSubscriptionRequest struct {
		Name string `json:"name" in:"path" jsonschema:"the name of the subscription, or alert, in the configuration"`
		Skip bool   `json:"skip,omitempty" jsonschema:"leave the message undelivered that its receiver refuses, and go on behind it"`
	}
	resumedSubscription struct {
		subscription.Status
		Skipped *eventlog.SkippedMessage `json:"skipped" jsonschema:"the message that is left undelivered, null for none"`
	}
)

var subscriptionTable = []Operation{
	define(operation("listSubscriptions", "GET /v1/subscriptions", rpc.Viewer,
		"List the outgoing webhooks of the configuration, with the status of each"), listSubscriptions),
	define(operation("resumeSubscription", "POST /v1/subscriptions/{name}/resume", rpc.Operator,
		"Let a parked outgoing webhook go on with the message at which it was parked, or behind it"), resumeSubscription),
}

func listSubscriptions(_ context.Context, c *Call, _ *noRequest) (readmodel.Page[subscription.Status], error) {
	page := readmodel.Page[subscription.Status]{Items: []subscription.Status{}}
	if all := c.backend.cfg.Subscriptions; all != nil {
		page.Items = all.List()
	}
	return page, nil
}

func resumeSubscription(ctx context.Context, c *Call, r *resumeSubscriptionRequest) (answer resumedSubscription,
	err error) {
	err = subscription.ErrUnknown
	if all := c.backend.cfg.Subscriptions; all != nil {
		answer.Status, answer.Skipped, err = all.Resume(ctx, subscription.Resumption{Name: r.Name, Skip: r.Skip,
			By: c.Actor.Name, Record: func(skipped *eventlog.SkippedMessage) error {
				return c.backend.cfg.Engine.ResumeSubscription(ctx, c.Actor, decide.ResumeSubscription{
					Name: eventlog.SubscriptionName(r.Name), Skipped: skipped})
			}})
	}
	switch {
	case errors.Is(err, subscription.ErrUnknown):
		return answer, rpc.Problemf(http.StatusNotFound, "subscription.unknown",
			"the configuration has no subscription or alert %q", r.Name).
			WithHint("pawl subscriptions lists those that there are")
	case errors.Is(err, subscription.ErrNotParked):
		return answer, rpc.Problemf(http.StatusConflict, "subscription.notParked", "%v", err).
			WithHint("nothing was changed; pawl subscriptions shows its status")
	case errors.Is(err, subscription.ErrNotNoted):
		return answer, rpc.Problemf(http.StatusConflict, "subscription.notNoted", "%v", err).
			WithHint("resume it without skip: if its receiver refuses the message again, it is parked again, and can skip it")
	}
	return answer, err
}

// troubled are the outgoing webhooks that fail or are parked.
func (b *backend) troubled() []subscription.Status {
	if b.cfg.Subscriptions == nil {
		return []subscription.Status{}
	}
	return slices.DeleteFunc(b.cfg.Subscriptions.List(), func(s subscription.Status) bool {
		return s.State != subscription.StateFailing && s.State != subscription.StateParked
	})
}

type (
	connectorView struct {
		Name       string          `json:"name"`
		Operations []operationView `json:"operations"`
	}
	operationView struct {
		Name       string         `json:"name"`
		Kind       connector.Kind `json:"kind"`
		Summary    string         `json:"summary,omitempty"`
		Reconciles bool           `json:"reconciles" jsonschema:"whether it can be asked what became of a mutation"`
		TimeoutMS  int64          `json:"timeoutMs"`
		Schema     rpc.RawJSON    `json:"schema" jsonschema:"the JSON Schema of its parameters, null when any object will do"`
		Result     rpc.RawJSON    `json:"result" jsonschema:"the JSON Schema of its result, null when nothing is said of it"`
	}
	connectorsAnswer struct {
		readmodel.Page[connectorView]
		Refused []RefusedService `json:"refused" jsonschema:"services that were found on NATS and are not offered to scripts"`
		Users   []ToolUser       `json:"users" jsonschema:"tools that have a user of their own on NATS, so that no other tool gets their requests"`
	}
)

var catalogTable = []Operation{
	define(operation("listConnectors", "GET /v1/connectors", rpc.Viewer,
		"List connectors with their operations, and the services that are refused").narrowing(), listConnectors),
}

func listConnectors(ctx context.Context, c *Call, _ *noRequest) (connectorsAnswer, error) {
	page := connectorsAnswer{Page: readmodel.Page[connectorView]{Items: []connectorView{}}, Refused: []RefusedService{},
		Users: []ToolUser{}}
	if refused := c.backend.cfg.Refused; refused != nil {
		// This comes first, since the look for services also finds connectors.
		page.Refused = append(page.Refused, refused(ctx)...)
	}
	if users := c.backend.cfg.Tools; users != nil {
		page.Users = users()
	}
	catalog := c.backend.cfg.Connectors
	for _, name := range catalog.Connectors() {
		page.Items = append(page.Items, connectorOf(catalog, name))
	}
	return page, nil
}

// connectorOf describes a connector with what it offers now.
func connectorOf(catalog deploy.Catalog, name string) connectorView {
	view := connectorView{Name: name, Operations: []operationView{}}
	for _, operation := range catalog.Operations(name) {
		op, ok := catalog.Operation(name, operation)
		if !ok {
			continue // the operation has gone meanwhile
		}
		timeout := op.Timeout
		if timeout == 0 {
			timeout = connector.DefaultTimeout
		}
		view.Operations = append(view.Operations, operationView{
			Name: op.Name, Kind: op.Kind, Summary: op.Summary, Reconciles: op.Reconciles, TimeoutMS: timeout.Milliseconds(),
			Schema: rpc.RawJSON(op.Schema), Result: rpc.RawJSON(op.Result),
		})
	}
	return view
}

// DescribeConnector is what listConnectors answers about a connector, made without an engine; false where there is no
// such connector.
func DescribeConnector(catalog deploy.Catalog, name string) (json.RawMessage, bool) {
	if !slices.Contains(catalog.Connectors(), name) {
		return nil, false
	}
	document, err := rpc.EncodeAnswer(connectorOf(catalog, name))
	return document, err == nil
}
