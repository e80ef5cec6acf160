package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Invoke implements Executor.
func (p *Pool) Invoke(ctx context.Context, call Invocation, host Host) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, cancelled(ctx, callCancelled)
	}
	call.Limits = call.Limits.effective()
	if e := call.tooLarge(call.Limits); e != nil {
		return Result{}, e
	}
	if len(call.Source.Code) > call.Limits.Source {
		_, _, problems := compile(call.Source, call.Limits.Source) // which only looks at the length
		return Result{}, compileFault(problems)
	}
	c, ref, e := p.open(ctx, &call.Source, &call)
	if e != nil {
		return Result{}, e
	}
	c.host, c.limits = host, call.Limits
	var result Result
	var failed *Error
	fault := c.converse(ctx, func(k *packer) { packCall(k, c.serial, ref, &call) }, frameResult, maxResultFrame(call.Limits),
		func(u *unpacker) (uint64, error) {
			var serial uint64
			serial, result, failed = unpackResult(u)
			return serial, errors.Join(u.done(), recheck(&call, &result, failed))
		})
	switch {
	case fault != nil:
		return Result{}, p.died(ctx, c, &call, fault)
	case failed != nil:
		c.cause(failed)
		if failed.Code == "script.cancelled" && failed.Cause == nil {
			failed.Cause = context.Cause(ctx)
		}
		return result, failed
	}
	return result, nil
}

// died completes the fault of a call whose worker did not live to its end.
func (p *Pool) died(ctx context.Context, c *conversation, call *Invocation, fault *Error) *Error {
	fault = call.where(fault)
	if fault.Code != "script.cancelled" {
		p.config.Logger.Warn("a worker process ended with its script", "workflow", call.Workflow, "handler", call.title(),
			"code", fault.Code, "message", fault.Message, "pid", c.w.cmd.Process.Pid)
	}
	return fault
}

// Describe implements Executor.
func (p *Pool) Describe(ctx context.Context, source Source) (Definition, []Problem, error) {
	if ctx.Err() != nil {
		return Definition{}, nil, cancelled(ctx, describeCancelled)
	}
	if len(source.Code) > p.limits.Source {
		_, _, problems := compile(source, p.limits.Source) // which only looks at the length
		return Definition{}, problems, nil
	}
	c, ref, e := p.open(ctx, &source, nil)
	if e != nil {
		if e.Code == "script.cancelled" && errors.Is(e.Cause, errPoolClosed) {
			return Definition{}, nil, errClosed
		}
		return Definition{}, nil, e
	}
	c.limits = p.limits
	var answer described
	fault := c.converse(ctx, func(k *packer) {
		start := k.begin(frameDescribe)
		k.num(int64(c.serial))
		ref.pack(k)
		k.end(start)
	}, frameDescribed, maxDescribedFrame, func(u *unpacker) (uint64, error) {
		var serial uint64
		serial, answer = unpackDescribed(u)
		return serial, u.done()
	})
	if fault == nil {
		fault = answer.fault
		if fault != nil && fault.Code == "script.cancelled" {
			fault.Cause = context.Cause(ctx)
		}
	}
	switch {
	case fault != nil && fault.Fault == FaultScript:
		return Definition{}, []Problem{problemOf(fault)}, nil
	case fault != nil:
		return Definition{}, nil, fault
	}
	var text describedText
	if err := json.Unmarshal(answer.text, &text); err != nil {
		return Definition{}, nil, malformed(fmt.Errorf("read the definition: %w", err))
	}
	return text.Definition, text.Problems, nil
}

// open finds a worker with a slot for a script.
func (p *Pool) open(ctx context.Context, source *Source, call *Invocation) (*conversation, scriptRef, *Error) {
	id := p.identify(*source)
	key := fmt.Sprint("script ", id)
	if call != nil && call.Workflow != "" {
		key = "workflow " + call.Workflow
	}
	w, err := p.acquire(ctx, key, id, false)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, scriptRef{}, cancelled(ctx, callCancelled)
	case errors.Is(err, errPoolClosed):
		return nil, scriptRef{}, &Error{Fault: FaultTransient, Code: "script.cancelled", Message: errPoolClosed.Error(), Cause: errPoolClosed}
	default:
		return nil, scriptRef{}, &Error{Fault: FaultTransient, Code: "worker.lost", Message: clip(err.Error(), maxMessage), Cause: err}
	}
	c := &conversation{pool: p, w: w, key: key, call: call}
	ref := w.load(id, source)
	p.mu.Lock()
	p.serial++
	c.serial = p.serial
	p.busy[w] = c
	p.mu.Unlock()
	return c, ref, nil
}
