package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/ops/rpc"
)

// The exit codes. They are part of the interface.
const (
	exitDone        = 0
	exitFailed      = 1 // refused or failed
	exitUsage       = 2 // the command line or the configuration is wrong
	exitNeedsPerson = 3 // finished, and a workflow waits for a person
	exitUnreachable = 4 // no engine answers
)

// failure is an error with its exit code and the next thing to do.
type failure struct {
	code int
	what string
	hint string
	err  error
}

func (f *failure) Error() string {
	switch {
	case f.what == "":
		return f.err.Error()
	case f.err == nil:
		return f.what
	}
	return f.what + ": " + f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// failed, misconfigured and unreachable make the usual failures.
func failed(hint string, err error) error { return &failure{code: exitFailed, hint: hint, err: err} }

func misconfigured(hint, format string, args ...any) error {
	return &failure{code: exitUsage, hint: hint, what: fmt.Sprintf(format, args...)}
}

// silent ends the command with a code after everything has been said.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// asWritten names a parameter of the interface as the command line does.
func asWritten(detail string) string {
	if rest, ok := strings.CutPrefix(detail, "query parameter "); ok {
		return "--" + rest
	}
	if _, rest, ok := strings.Cut(detail, "}: "); ok && strings.HasPrefix(detail, "path segment {") {
		return rest
	}
	// Over NATS a path, a query and a body have their fields in one object.
	if name, rest, ok := strings.Cut(strings.TrimPrefix(detail, "field "), " "); ok && strings.HasPrefix(detail, "field ") {
		switch {
		case !strings.HasSuffix(name, ":"):
			return "--" + name + " " + rest
		case !strings.HasPrefix(rest, "found "): // what it is says the rest
			return rest
		}
	}
	return detail
}

// complain prints the error for a person and returns the exit code.
func (a *app) complain(err error) int {
	var quiet silent
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	code, hint := exitFailed, ""
	var own *failure
	var problem *rpc.Problem
	switch {
	case errors.As(err, &own):
		code, hint = own.code, own.hint
	case errors.As(err, &problem):
		hint = problem.Hint
		if problem.Status == http.StatusBadRequest {
			code, err = exitUsage, errors.New(asWritten(problem.Detail))
		}
		for _, p := range problem.Problems {
			fmt.Fprintln(a.screen.Err, formatProblem("", p))
		}
	case errors.Is(err, rpc.ErrUnreachable):
		code, hint = exitUnreachable, "start one with: pawl up; or say where it is: --url URL or PAWL_URL"
	case a.ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(a.screen.Err, "pawl: interrupted")
		return exitFailed
	}
	fmt.Fprintf(a.screen.Err, "pawl: %s\n", strings.TrimSpace(err.Error()))
	if hint != "" {
		fmt.Fprintf(a.screen.Err, "  %s\n", hint)
	}
	return code
}
