package sandbox

import (
	"context"
	"errors"
)

// Executor turns script text into definitions and results, in worker processes (package worker) or in this
// one (package vm). Safe for concurrent use.
type Executor interface {
	// Describe transforms and compiles the source and reads its definition. Problems are the
	// author's; err is set only when the executor itself failed.
	Describe(ctx context.Context, source Source) (Definition, []Problem, error)
	// Invoke runs one handler in a fresh context, and mutate in another after it where the call asks for it
	// (ThenMutate). A failure is always a *Error; logs written before it are in the Result beside it.
	Invoke(ctx context.Context, call Invocation, host Host) (Result, error)
	// Close ends the executor; calls in flight end with an error.
	Close() error
}

// ErrClosed is what Describe says after Close.
var ErrClosed = errors.New("describe script: the executor is closed")
