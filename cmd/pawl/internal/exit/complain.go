package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/rpc"
)

// StartOne is the hint where no engine answers.
const StartOne = "start one: pawl up FILE…, or pawl serve to run what is deployed; or say where it is: --url URL, or " +
	"PAWL_URL"

// Complain prints the error for a person and returns the exit code. ctx is that of the command.
func Complain(ctx context.Context, to io.Writer, err error) int {
	var quiet Silent
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	code, hint := CodeFailed, ""
	var own *Failure
	var problem *rpc.Problem
	switch {
	case errors.As(err, &own):
		code, hint = own.Code, own.Hint
	case errors.As(err, &problem):
		hint = problem.Hint
		if problem.Status == http.StatusBadRequest {
			code, err = CodeUsage, errors.New(asWritten(problem.Detail))
		}
		for _, p := range problem.Problems {
			fmt.Fprintln(to, term.Problem("", p))
		}
	case errors.Is(err, rpc.ErrUnreachable):
		code = CodeUnreachable
		hint = StartOne
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(to, "pawl: interrupted")
		return CodeFailed
	}
	fmt.Fprintf(to, "pawl: %s\n", strings.TrimSpace(err.Error()))
	if hint != "" {
		fmt.Fprintf(to, "  %s\n", hint)
	}
	return code
}

// asWritten names a parameter of the interface as the command line does.
func asWritten(detail string) string {
	if rest, ok := strings.CutPrefix(detail, "query parameter "); ok {
		return "--" + rest
	}
	if _, rest, ok := strings.Cut(detail, "}: "); ok && strings.HasPrefix(detail, "path segment {") {
		return rest
	}
	// Over NATS a path, a query and a body have their fields in one object.
	if name, rest, ok := strings.Cut(strings.TrimPrefix(detail, "field "), " "); ok &&
		strings.HasPrefix(detail, "field ") {
		switch {
		case !strings.HasSuffix(name, ":"):
			return "--" + name + " " + rest
		case !strings.HasPrefix(rest, "found "): // the rest says which kind of value it is
			return rest
		}
	}
	return detail
}
