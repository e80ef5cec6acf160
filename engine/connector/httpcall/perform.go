package httpcall

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Perform sends a mutation once.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	out := c.perform(ctx, call)
	return c.blanks.now.Load().Outcome(out)
}

func (c *Connector) perform(ctx context.Context, call connector.Call) connector.Outcome {
	method := methods[call.Operation]
	if method == "" {
		return connector.FailedWith(connector.Failf(eventlog.Internal, connector.CodeKind, "http.%s is not a mutation",
			call.Operation))
	}
	p, t, failure := c.parse(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	request, alone, failure := mutationRequest(method, call, p, t)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	transport := c.mutations
	if alone {
		transport = c.alone
	}
	own, failure := t.host.turns.Enter(ctx, call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer own.End()
	authorized, failure := t.host.oauth.authorize(ctx, call, request)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	// The request's own context outlives the deadline when the request has left by then: all
	// that happens afterwards is reading.
	f := flight{gate: func() *eventlog.Failure { return connector.MayLeave(ctx, call) }}
	requestCtx, cancel := context.WithCancel(httptrace.WithClientTrace(context.WithoutCancel(ctx), f.trace()))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if c.listen <= 0 || !f.wrote.Load() || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
			return
		}
		timer := time.NewTimer(c.listen)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed.Done():
		case <-requestCtx.Done():
		}
		cancel()
	})
	defer stop()

	response, err := transport.RoundTrip(request.WithContext(requestCtx))
	if err != nil {
		if f.neverLeft() {
			if refused := f.refused(); refused != nil {
				return connector.FailedWith(refused)
			}
			return connector.FailedWith(unreached(ctx, call, placeOf(method, t), "was not sent", err))
		}
		return connector.UncertainWith(noAnswer(ctx, call, placeOf(method, t), err))
	}
	a := authorized.judge(readAnswer(response, c.blanks.now.Load()))
	if call.Resend {
		return outcomeOfResend(ctx, call, placeOf(method, t), a, p, t.host.reconcile)
	}
	return outcomeOf(ctx, call, placeOf(method, t), a, p)
}

// outcomeOfResend reads the answer to a call that was sent again to find out what became of it: 2xx says that the call
// has taken effect, now or before; the status that the configuration names says that it never will. Every other answer
// says something of this request alone.
func outcomeOfResend(ctx context.Context, call connector.Call, where string, a answer, p params,
	rules *ReconcileConfig) connector.Outcome {
	switch {
	case a.status >= 200 && a.status <= 299:
		p.Expect = nil
		return outcomeOf(ctx, call, where, a, p)
	case rules != nil && a.status == rules.Failed.Status:
		return connector.FailedWith(connector.Failf(eventlog.Transient, connector.CodeNotApplied,
			"%s answered %d when it was sent again: the call did not take effect", where, a.status))
	}
	failure := connector.Failf(eventlog.Transient, "http.reconcile",
		"%s answered %d when it was sent again, which says neither applied nor failed%s", where, a.status, a.excerpt())
	failure.RetryAfter = a.retryAfter()
	onTheWay := relayed(a.status)
	return connector.Outcome{Status: connector.Uncertain, Answered: a.complete() && !onTheWay, Relayed: onTheWay,
		Failure: failure}
}

// outcomeOf reads the answer to a mutation (F4).
func outcomeOf(ctx context.Context, call connector.Call, where string, a answer, p params) connector.Outcome {
	if p.expects(a.status) {
		if a.err != nil && !errors.Is(a.err, errTooBig) {
			return connector.UncertainWith(noAnswer(ctx, call, where, a.err))
		}
		result, err := a.result(p.ResponseEncoding)
		if err != nil {
			failure := connector.Failf(eventlog.Internal, connector.CodeAnswer, "%s answered %d, but %v", where,
				a.status, err)
			return connector.Outcome{Status: connector.Uncertain, Failure: failure, Answered: true}
		}
		return connector.Outcome{Status: connector.Applied, Result: result}
	}
	failure, definite := a.refusal(where)
	if a.status >= 300 && a.status <= 399 {
		failure = connector.Failf(failure.Class, "http.redirect",
			"%s answered %d; a mutation follows no redirect: use the address it moved to", where, a.status)
	}
	if definite {
		return connector.FailedWith(failure)
	}
	onTheWay := relayed(a.status)
	return connector.Outcome{Status: connector.Uncertain, Failure: failure, Answered: a.complete() && !onTheWay,
		Relayed: onTheWay}
}

// relayed says whether a status may come from an intermediary, such as a proxy that has stopped waiting:
// the server behind it may still be at work.
func relayed(status int) bool {
	return status == http.StatusRequestTimeout || status >= http.StatusBadGateway
}

// ReconcilesCall says whether the call's host is configured with a way to reconcile.
func (c *Connector) ReconcilesCall(call connector.Call) bool {
	t, ok := c.targetOf(call)
	return ok && t.host.reconcile != nil
}

// CallResends is for how long, as the operator promises, the call's host knows a call by its key.
func (c *Connector) CallResends(call connector.Call) time.Duration {
	if t, ok := c.targetOf(call); ok && t.host.reconcile != nil && t.host.reconcile.Resend {
		return t.host.reconcile.Within
	}
	return 0
}

// CallEnding is what the configuration of the call's host says. Its quiet time is the operator's word
// for all that the host may go on with, whether the end of the exchange was seen or not.
func (c *Connector) CallEnding(call connector.Call) connector.Ending {
	if t, ok := c.targetOf(call); ok && t.host.quiet != nil {
		return connector.Ending{Quiet: *t.host.quiet, Unseen: *t.host.quiet, Lasting: *t.host.quiet}
	}
	return connector.DefaultEnding()
}

// CallTimeout is the timeout of the call's host. The registry sets it on the context of each call, so nothing here
// does.
func (c *Connector) CallTimeout(call connector.Call) time.Duration {
	if t, ok := c.targetOf(call); ok {
		return t.host.timeout
	}
	return 0
}

// CallTurn waits for the turn of the call at its host.
func (c *Connector) CallTurn(ctx context.Context, call connector.Call) (connector.Turn, *eventlog.Failure) {
	t, ok := c.targetOf(call)
	if !ok || t.host.turns == nil {
		return nil, nil // such a call is refused, or nothing bounds it
	}
	return t.host.turns.Take(ctx, call)
}

// MayWait implements connector.TurnWaiter: calls wait where any host is bounded.
func (c *Connector) MayWait() bool { return len(c.turns) > 0 }

// CallHost is the host of the call's URL.
func (c *Connector) CallHost(call connector.Call) string {
	return c.lookAt(call.Params).grantHost
}
