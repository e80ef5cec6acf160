package sandbox

import (
	"context"
	"runtime"
)

// Config of an in-process executor.
type Config struct {
	// Scripts is how many compiled scripts are kept; 0 means 1024. A compiled script is a few times
	// as large as its text.
	Scripts int
	// Limits are those of Describe; what is left zero is taken from DefaultLimits.
	Limits Limits
}

// inProcess runs scripts in the calling goroutine. It bounds their instructions, not the memory or
// time of a single built-in: see the package's documentation.
type inProcess struct {
	scripts *cache
	limits  Limits
	closing context.Context
	close   context.CancelFunc
}

var _ Executor = (*inProcess)(nil)

// NewInProcess makes an executor that runs scripts in the calling goroutine, ready for use.
func NewInProcess(config Config) Executor {
	if config.Scripts <= 0 {
		config.Scripts = 1024
	}
	e := &inProcess{scripts: newCache(config.Scripts), limits: config.Limits.effective()}
	e.closing, e.close = context.WithCancel(context.Background())
	return e
}

// Describe implements Executor.
func (e *inProcess) Describe(ctx context.Context, source Source) (Definition, []Problem, error) {
	if e.closing.Err() != nil {
		return Definition{}, nil, errClosed
	}
	around, leave := e.enter()
	defer leave()
	return describe(ctx, around, e.limits, source)
}

// Invoke implements Executor.
func (e *inProcess) Invoke(ctx context.Context, call Invocation, host Host) (Result, error) {
	around, leave := e.enter()
	defer leave()
	return invoke(ctx, around, call, hostTransport{host})
}

// enter gives the calling goroutine a thread of its own, whose processor time is its script's, until
// leave is called.
func (e *inProcess) enter() (around surroundings, leave func()) {
	runtime.LockOSThread()
	return surroundings{closing: e.closing, scripts: e.scripts, cpu: threadCPU()}, runtime.UnlockOSThread
}

// Close implements Executor. It does not wait for calls in flight; they end with script.cancelled.
func (e *inProcess) Close() error {
	e.close()
	return nil
}
