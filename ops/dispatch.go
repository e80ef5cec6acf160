package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/rpc"
)

// dispatch carries out an operation given as one JSON object of its path, query and body fields. It
// returns the status and the answer's JSON, or the problem.
func (b *backend) dispatch(ctx context.Context, o *Operation, c *Call, request []byte) (int, []byte, *rpc.Problem) {
	if p := o.Ask(&c.Caller); p != nil { // before the request is looked at
		return 0, nil, p
	}
	parsed, err := o.Request.FromObject(request)
	if err != nil {
		return 0, nil, problem.Of(err)
	}
	status, answer, err := b.call(ctx, o, c, parsed)
	if err != nil {
		return 0, nil, b.fault(o.ID, err)
	}
	body, err := rpc.EncodeAnswer(answer)
	if err != nil {
		return 0, nil, b.fault(o.ID, err)
	}
	return status, body, nil
}

// call runs the operation within its time.
func (b *backend) call(ctx context.Context, o *Operation, c *Call, request any) (status int, answer any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	if !o.Slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.cfg.Timeout)
		defer cancel()
	}
	if err := b.started(ctx); err != nil {
		return 0, nil, err
	}
	if p := o.Permit(&c.Caller, request); p != nil {
		return 0, nil, p
	}
	if o.heavy {
		leave, p := b.heavy.Take(&c.Caller)
		if p != nil {
			return 0, nil, p
		}
		defer leave()
	}
	return o.do(ctx, c, request)
}

// ingress is a push within its time, for interfaces whose request is the events themselves.
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

func panicked(cause any) error { return fmt.Errorf("panic: %v\n%s", cause, debug.Stack()) }
