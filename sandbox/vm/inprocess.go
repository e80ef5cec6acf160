package vm

import (
	"context"
	"runtime"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
)

// Config of an in-process executor.
type Config struct {
	// Scripts is how many compiled scripts are kept; 0 means 1024. A compiled script is a few times
	// as large as its text.
	Scripts int
	// Limits are those of Describe; what is left zero is taken from DefaultLimits.
	Limits sandbox.Limits
}

// inProcess runs scripts in the calling goroutine. It bounds their instructions, not the memory or
// time of a single built-in: see the package's documentation.
type inProcess struct {
	scripts *Scripts
	limits  sandbox.Limits
	closing context.Context
	close   context.CancelFunc
}

var _ sandbox.Executor = (*inProcess)(nil)

// NewExecutor makes an executor that runs scripts in the calling goroutine, ready for use.
func NewExecutor(config Config) sandbox.Executor {
	if config.Scripts <= 0 {
		config.Scripts = 1024
	}
	e := &inProcess{scripts: NewScripts(config.Scripts), limits: config.Limits.Effective()}
	e.closing, e.close = context.WithCancel(context.Background())
	return e
}

// Describe implements Executor.
func (e *inProcess) Describe(ctx context.Context, source sandbox.Source) (sandbox.Definition, []sandbox.Problem,
	error) {
	if e.closing.Err() != nil {
		return sandbox.Definition{}, nil, sandbox.ErrClosed
	}
	around, leave := e.enter()
	defer leave()
	return Describe(ctx, around, e.limits, source)
}

// Invoke implements Executor.
func (e *inProcess) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	around, leave := e.enter()
	defer leave()
	return Invoke(ctx, around, call, hostTransport{host})
}

// enter gives the calling goroutine a thread of its own, whose processor time is its script's, until
// leave is called.
func (e *inProcess) enter() (around Surroundings, leave func()) {
	runtime.LockOSThread()
	return Surroundings{Closing: e.closing, Scripts: e.scripts, CPU: cputime.Thread()}, runtime.UnlockOSThread
}

// Close implements Executor. It does not wait for calls in flight; they end with script.cancelled.
func (e *inProcess) Close() error {
	e.close()
	return nil
}
