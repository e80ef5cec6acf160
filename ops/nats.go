package ops

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// endpoints are the operations, the plain ones that answer in JSON, and the endpoint for events.
func (b *backend) endpoints() []rpc.Endpoint {
	var all []rpc.Endpoint
	for i := range table {
		o := &table[i]
		all = append(all, rpc.Endpoint{
			Name: o.ID, Metadata: map[string]string{"role": string(o.Role), "summary": o.Summary},
			Answer: func(ctx context.Context, c *rpc.NATSCall) (int, []byte, *rpc.Problem) {
				if p := o.NotOverNATS(); p != nil {
					return 0, nil, cmp.Or(o.Ask(&c.Caller), p)
				}
				if p := o.Ask(&c.Caller); p != nil { // a caller without the right waits for nothing
					return 0, nil, p
				}
				if p := b.awaitOverNATS(ctx, o, c); p != nil {
					return 0, nil, p
				}
				b.tellLag(c.Head)
				ctx, recorded := engine.WithRecorded(b.traced(ctx, c.Traceparent))
				defer tellPositions(c.Head, recorded)
				return b.dispatch(ctx, o, &Call{Caller: c.Caller, backend: b, most: c.Max, leave: c.Leave}, c.Data)
			},
		})
	}
	for _, p := range plainTable {
		if p.answer == nil {
			continue
		}
		all = append(all, rpc.Endpoint{
			Name: p.ID, Metadata: map[string]string{"role": string(rpc.Viewer), "summary": p.Summary},
			Answer: func(ctx context.Context, _ *rpc.NATSCall) (int, []byte, *rpc.Problem) {
				body, problem := p.answer(b, ctx)
				return http.StatusOK, body, problem
			},
		})
	}
	return append(all, rpc.Endpoint{Name: "ingress", Subject: "in.*.>", Answer: b.pushOverNATS})
}

// pushOverNATS takes events whose workflow and topic are in the subject.
func (b *backend) pushOverNATS(ctx context.Context, c *rpc.NATSCall) (int, []byte, *rpc.Problem) {
	workflow, topic, _ := strings.Cut(strings.TrimPrefix(c.Subject, "in."), ".")
	push := &ingressTable[0]
	ctx, recorded := engine.WithRecorded(b.traced(ctx, c.Traceparent))
	defer tellPositions(c.Head, recorded)
	body, p := b.ingress(ctx, push, &c.Caller, eventlog.WorkflowName(workflow), eventlog.Topic(topic), c.Data)
	return http.StatusOK, body, p
}
