package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/sandbox"
)

// Invoke implements Executor.
func (p *Pool) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	if ctx.Err() != nil {
		return sandbox.Result{}, sandbox.Cancelled(ctx, sandbox.CallCancelled)
	}
	call.Limits = call.Limits.Effective()
	if e := call.TooLarge(call.Limits); e != nil {
		return sandbox.Result{}, e
	}
	if e := sandbox.SourceTooLarge(call.Source, call.Limits.Source); e != nil {
		return sandbox.Result{}, e
	}
	var result sandbox.Result
	var failed *sandbox.Error
	c, fault := p.exchange(ctx, request{
		source: &call.Source, call: &call, host: host, limits: call.Limits,
		pack:   func(k *packer, serial uint64, ref scriptRef) { packCall(k, serial, ref, &call) },
		answer: frameResult, maxFrame: maxResultFrame(&call),
		read: func(u *unpacker) (serial uint64, err error) {
			serial, result, failed = unpackResult(u, &call)
			return serial, errors.Join(u.done(), recheckAll(&call, &result, failed))
		},
	})
	switch {
	case fault != nil && c != nil && c.prepared != nil: // prepare has ended well; the fault is that of mutate
		then := call.Mutate()
		fault.PlaceAt(c.script.places[then.Key()])
		c.prepared.Mutate = &sandbox.MutateResult{Failure: then.Where(fault)}
		return *c.prepared, nil
	case c != nil && c.handlerUnknown(fault):
		call.ThenMutate = false // so that each of the two handlers is called by itself
		return p.Invoke(ctx, call, host)
	case fault != nil:
		if c != nil {
			fault.PlaceAt(c.script.places[call.Key()])
		}
		return sandbox.Result{}, call.Where(fault)
	case failed != nil:
		c.cause(failed)
		if failed.Code == "script.cancelled" && failed.Cause == nil {
			failed.Cause = context.Cause(ctx)
		}
		return result, failed
	}
	if m := result.Mutate; m != nil && m.Failure != nil && m.Failure.Code == "script.cancelled" {
		m.Failure.Cause = context.Cause(ctx)
	}
	return result, nil
}

// Describe implements Executor.
func (p *Pool) Describe(ctx context.Context, source sandbox.Source) (sandbox.Definition, []sandbox.Problem, error) {
	if ctx.Err() != nil {
		return sandbox.Definition{}, nil, sandbox.Cancelled(ctx, sandbox.DescribeCancelled)
	}
	if e := sandbox.SourceTooLarge(source, p.limits.Source); e != nil {
		return sandbox.Definition{}, []sandbox.Problem{sandbox.ProblemOf(e)}, nil
	}
	var answer described
	_, fault := p.exchange(ctx, request{
		source: &source, limits: p.limits,
		pack: func(k *packer, serial uint64, ref scriptRef) {
			start := k.begin(frameDescribe)
			k.num(int64(serial))
			ref.pack(k)
			k.end(start)
		},
		answer: frameDescribed, maxFrame: maxDescribedFrame,
		read: func(u *unpacker) (serial uint64, err error) {
			serial, answer = unpackDescribed(u)
			return serial, errors.Join(u.done(), recheckDescribed(&answer, p.limits))
		},
	})
	if fault == nil {
		fault = answer.fault
		if fault != nil && fault.Code == "script.cancelled" {
			fault.Cause = context.Cause(ctx)
		}
	}
	switch {
	case fault != nil && errors.Is(fault.Cause, errPoolClosed):
		return sandbox.Definition{}, nil, sandbox.ErrClosed
	case fault != nil && fault.Fault == sandbox.FaultScript:
		return sandbox.Definition{}, []sandbox.Problem{sandbox.ProblemOf(fault)}, nil
	case fault != nil:
		return sandbox.Definition{}, nil, fault
	}
	var text describedText
	if err := json.Unmarshal(answer.text, &text); err != nil {
		return sandbox.Definition{}, nil, malformed(fmt.Errorf("read the definition: %w", err))
	}
	return text.Definition, text.Problems, nil
}

// exchange puts a request to a worker. One that ends before it has taken the request, as an idle process may at the
// moment it is chosen, is no answer: another worker is asked, once.
func (p *Pool) exchange(ctx context.Context, q request) (*exchange, *sandbox.Error) {
	c, fault := p.attempt(ctx, q)
	if c != nil && c.neverTaken {
		p.config.Logger.Warn("a worker process ended before it took its call; another is given it", "code", fault.Code,
			"message", fault.Message,
			"pid", c.w.Cmd.Process.Pid)
		c, fault = p.attempt(ctx, q)
	}
	if c != nil && fault != nil && q.call != nil && fault.Code != "script.cancelled" {
		handler := c.title()
		if c.handlerUnknown(fault) {
			then := q.call.Mutate()
			handler += " or " + then.Title() + ", each of which is now called by itself"
		}
		p.config.Logger.Warn("a worker process ended with its script", "workflow", q.call.Workflow, "handler", handler,
			"code", fault.Code, "message", fault.Message, "pid", c.w.Cmd.Process.Pid)
	}
	return c, fault
}

// attempt finds a worker for a request and reads its answer. Without a worker there is no exchange.
func (p *Pool) attempt(ctx context.Context, q request) (*exchange, *sandbox.Error) {
	id := p.identify(*q.source)
	var key string
	if q.call != nil && q.call.Workflow != "" {
		key = "workflow " + q.call.Workflow
	} else {
		key = fmt.Sprint("script ", id)
	}
	w, err := p.acquire(ctx, key, id, false)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, sandbox.Cancelled(ctx, sandbox.CallCancelled)
	case errors.Is(err, errPoolClosed):
		return nil, &sandbox.Error{Fault: sandbox.FaultTransient, Code: "script.cancelled",
			Message: errPoolClosed.Error(), Cause: errPoolClosed}
	default:
		return nil, &sandbox.Error{Fault: sandbox.FaultTransient, Code: "worker.lost",
			Message: sandbox.Clip(err.Error(), sandbox.MaxMessage), Cause: err}
	}
	c := &exchange{pool: p, w: w, caller: ctx, key: key, request: q}
	p.mu.Lock()
	var ref scriptRef
	c.script, ref = w.loaded.use(id, q.source)
	p.serial++
	c.serial = p.serial
	p.busy[w] = c
	p.mu.Unlock()
	return c, c.run(ref)
}
