package ops

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/hooks"
	"github.com/pawl-run/pawl/ops/logread"
	"github.com/pawl-run/pawl/ops/metrics"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/trace"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// backend is what operations work on, whatever interface they come through.
type backend struct {
	cfg     Config
	guard   *auth.Guard
	metrics *metrics.Metrics
	openapi func() ([]byte, error)
	log     logread.Reader
	past    *replay.Past
	hooks   *hooks.Receiver
	// followers bounds the streams of the log and the requests that wait for it to go on; heavy bounds the operations
	// that read a long past; bodies bounds the memory for the bodies of requests.
	followers, heavy, bodies *auth.Quota
	// revocations wakes the streams, so that they look whether their caller's token is still valid.
	revocations auth.Revocations
	// links are the one-time links to the console.
	links *auth.Links
	// life ends when the server stops: log streams end with it.
	life    context.Context
	endLife context.CancelFunc
}

// state returns the workflow's live state.
func (b *backend) state(name eventlog.WorkflowName) (projections.State, error) {
	state, ok := b.cfg.Engine.State(name)
	if !ok {
		return state, &readmodel.NotFoundError{What: "workflow", ID: string(name)}
	}
	return state, nil
}

// workflows yields all workflows, oldest first.
func (b *backend) workflows(ctx context.Context) func(func(eventlog.WorkflowName, error) bool) {
	return func(yield func(eventlog.WorkflowName, error) bool) {
		o := readmodel.ListOptions{Limit: readmodel.MaxLimit}
		for {
			page, err := b.cfg.Reader.Workflows(ctx, o)
			if err != nil {
				yield("", err)
				return
			}
			for _, w := range page.Items {
				if !yield(w.Name, nil) {
					return
				}
			}
			if page.Next == nil {
				return
			}
			o.Cursor = *page.Next
		}
	}
}

// started waits for an engine that is still replaying its log.
func (b *backend) started(ctx context.Context) error {
	select {
	case <-b.cfg.Engine.Ready():
		return nil
	default:
	}
	timeout, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	select {
	case <-b.cfg.Engine.Ready():
		return nil
	case <-timeout.Done():
		return rpc.Problemf(http.StatusServiceUnavailable, "engine.starting",
			"the engine is still reading its log").WithHint("ask again in a moment; /readyz says when it is ready")
	}
}

// traced is the context of a request that came with this header for traces. Where no traces are made, it is unchanged.
func (b *backend) traced(ctx context.Context, header string) context.Context {
	if b.cfg.Traces == nil || header == "" {
		return ctx
	}
	return trace.WithSender(ctx, header)
}

// fault turns an error into its problem, and logs an error that a person must look into.
func (b *backend) fault(id string, err error) *rpc.Problem {
	p := problem.Of(err)
	if p.Code == problem.CodeDamaged {
		b.cfg.Engine.ReportDamage(p.Detail)
	}
	if p.Status == http.StatusInternalServerError {
		b.cfg.Logger.Error("an operation failed", "operation", id, "error", err)
	}
	return p
}

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

func panicked(cause any) error { return fmt.Errorf("panic: %v\n%s", cause, debug.Stack()) }
