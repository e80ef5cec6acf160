package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/hooks"
	"github.com/pawl-run/pawl/ops/ingress"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/trace"
)

type (
	// pushRequest is a push as one object: over NATS by the operation's own subject, in the client,
	// and in the OpenAPI document's path.
	pushRequest struct {
		inWorkflow
		Topic  eventlog.Topic  `json:"topic" in:"path" jsonschema:"the topic's name"`
		Events json.RawMessage `json:"events" jsonschema:"one event or an array of events"`
	}
	// pushedEvent is an event of the body, for the OpenAPI document.
	pushedEvent struct {
		MessageID eventlog.MessageID `json:"messageId" jsonschema:"1 to 512 bytes; a known one updates its event"`
		Title     string             `json:"title" jsonschema:"one line for people"`
		Payload   rpc.RawJSON        `json:"payload,omitempty" jsonschema:"any JSON; null when left out"`
	}
)

type (
	hooksRequest struct {
		Workflow eventlog.WorkflowName `json:"workflow,omitempty" in:"query" jsonschema:"of this workflow only"`
	}
	hooksAnswer struct {
		Items []hooks.View `json:"items"`
	}
	testHookRequest struct {
		inWorkflow
		Hook        eventlog.HookName `json:"hook" in:"path" jsonschema:"the hook's name"`
		Body        *string           `json:"body,omitempty" jsonschema:"the body of the request; made up when left out"`
		ContentType string            `json:"contentType,omitempty" jsonschema:"its type; application/json when left out"`
		Send        bool              `json:"send,omitempty" jsonschema:"sends the sample, which then is an event of the workflow"`
	}
)

// Scope implements rpc.Scoped.
func (r *hooksRequest) Scope() *eventlog.WorkflowName { return &r.Workflow }

var ingressTable = []Operation{func() Operation {
	o := operation("pushEvents", "POST /v1/workflows/{workflow}/topics/{topic}/events", rpc.Ingest,
		"Bring events in from outside; answers once they are durable")
	o = define(o, func(ctx context.Context, c *Call, r *pushRequest) (json.RawMessage, error) {
		return c.backend.pushEvents(ctx, c.Actor, r.Workflow, r.Topic, r.Events)
	})
	o.RawBody = "events"
	o.DescribeBody = oneOrMany[pushedEvent]
	o.DescribeAnswer = oneOrMany[decide.PushResult] // an object for an object, an array for an array
	return o
}(),
	define(operation("listHooks", "GET /v1/hooks", rpc.Viewer,
		"List the addresses that other systems post to, and whether their requests can be verified"), listHooks),
	define(operation("testHook", "POST /v1/workflows/{workflow}/hooks/{hook}/test", rpc.Operator,
		"Make a request as the sender of a hook would, signed, and send it if asked to"),
		func(ctx context.Context, c *Call, r *testHookRequest) (hooks.Sample, error) {
			q := hooks.SampleRequest{Workflow: r.Workflow, Hook: r.Hook, Base: c.backend.address(),
				ContentType: r.ContentType, Send: r.Send}
			if r.Body != nil {
				q.Body = []byte(*r.Body)
			}
			return c.backend.hooks.Sample(ctx, q)
		}),
}

// address is the address of this engine on its own machine; empty where it is not known.
func (b *backend) address() string {
	if b.cfg.Address == nil {
		return ""
	}
	return b.cfg.Address()
}

func listHooks(ctx context.Context, c *Call, r *hooksRequest) (hooksAnswer, error) {
	answer := hooksAnswer{Items: []hooks.View{}}
	if r.Workflow != "" {
		s, err := c.backend.state(r.Workflow)
		if err != nil {
			return answer, err
		}
		answer.Items = neverNull(c.backend.hooks.Views(&s, c.backend.address()))
		return answer, nil
	}
	for name, err := range c.backend.workflows(ctx) {
		if err != nil {
			return answer, err
		}
		if s, ok := c.backend.cfg.Engine.State(name); ok {
			answer.Items = append(answer.Items, c.backend.hooks.Views(&s, c.backend.address())...)
		}
	}
	return answer, nil
}

func oneOrMany[T any](c *rpc.Components) (any, error) {
	item, err := c.Schema(reflect.TypeFor[T]())
	return rpc.OneOrMany(item), err
}

// pushEvents records one object or an array of events in one transition: all of them or none.
func (b *backend) pushEvents(ctx context.Context, actor eventlog.Actor, workflow eventlog.WorkflowName,
	topic eventlog.Topic, body []byte) (json.RawMessage, error) {
	items, single, err := ingress.Parse(body)
	if err != nil {
		return nil, err
	}
	if sender := trace.Sender(ctx); sender != "" {
		for i := range items {
			items[i].Traceparent = sender
		}
	}
	results, err := b.cfg.Engine.Push(ctx, actor, workflow, topic, items)
	if errors.Is(err, eventlog.ErrTooLarge) {
		return nil, pushTooLarge(err, len(items))
	}
	if err != nil {
		return nil, err
	}
	if len(results) != len(items) {
		return nil, fmt.Errorf("push to %s: %d events went in and %d answers came back", workflow, len(items), len(results))
	}
	for _, result := range results {
		if result.Result == decide.PushCreated {
			b.metrics.Pushed.Inc()
		}
	}
	return pushAnswer(results, single)
}

func pushTooLarge(err error, n int) *rpc.Problem {
	p := rpc.Problemf(http.StatusRequestEntityTooLarge, "transition.tooLarge", "%s; none of them was recorded", err)
	if n > 1 {
		return p.WithHint(fmt.Sprintf("all events of one request become one transition: send these %d in several requests",
			n))
	}
	p.Detail = fmt.Sprintf("%s; nothing was recorded", err)
	return p.WithHint("keep large data outside and let the payload name its place")
}

func pushAnswer(results []decide.PushResult, single bool) (json.RawMessage, error) {
	if single {
		return json.Marshal(results[0])
	}
	return json.Marshal(results)
}

// ingress is a push with a bound on its time, for interfaces whose request is the events themselves.
func (b *backend) ingress(ctx context.Context, o *Operation, c *rpc.Caller, workflow eventlog.WorkflowName,
	topic eventlog.Topic, body []byte) (json.RawMessage, *rpc.Problem) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	if p := o.Permit(c, &inWorkflow{workflow}); p != nil {
		return nil, p
	}
	err := b.started(ctx)
	if err == nil {
		var answer json.RawMessage
		if answer, err = b.pushEvents(ctx, c.Actor, workflow, topic, body); err == nil {
			return answer, nil
		}
	}
	return nil, b.fault(o.ID, err)
}
