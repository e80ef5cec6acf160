package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

// problemType is the media type of every error (RFC 9457).
const problemType = "application/problem+json"

// codeDamaged: a part of the log is lost or cannot be read.
const codeDamaged = "log.damaged"

// Problem is an error as every interface answers it (RFC 9457). The client returns it as an error.
type Problem struct {
	// Type is "urn:pawl:problem:" and the Code.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what happened, and to which workflow or run.
	Detail string `json:"detail"`
	// Code is stable, for programs.
	Code string `json:"code"`
	// Hint says what to do next.
	Hint string `json:"hint,omitempty"`
	// Problems of a script that was refused (422).
	Problems []sandbox.Problem `json:"problems,omitempty"`

	// allow lists the methods of a 405.
	allow string
	cause error
}

func (p *Problem) Error() string { return p.Detail }

// Unwrap returns what led to the problem inside this process; nil in a client.
func (p *Problem) Unwrap() error { return p.cause }

func problemf(status int, code, format string, args ...any) *Problem {
	return &Problem{
		Type: "urn:pawl:problem:" + code, Title: http.StatusText(status), Status: status,
		Code: code, Detail: fmt.Sprintf(format, args...),
	}
}

func malformed(code, format string, args ...any) *Problem {
	return problemf(http.StatusBadRequest, code, format, args...)
}

func (p *Problem) hint(text string) *Problem {
	p.Hint = text
	return p
}

func (p *Problem) because(err error) *Problem {
	p.cause = err
	return p
}

// problemOf maps an error onto its problem document. An error that has no place in the list is a
// fault of ours: 500, its text stays in the log.
func problemOf(err error) *Problem {
	var known *Problem
	var refusal *decide.Refusal
	var missing *readmodel.NotFoundError
	var fault *sandbox.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal):
		status := http.StatusUnprocessableEntity
		switch refusal.Kind {
		case decide.NotFound:
			status = http.StatusNotFound
		case decide.Conflict:
			status = http.StatusConflict
		case decide.TooMany:
			status = http.StatusTooManyRequests
		case decide.Invalid:
		}
		return problemf(status, refusal.Code, "%s", refusal.Message).hint(refusal.Hint)
	case errors.As(err, &missing):
		hint := "pawl workflows list shows those there are"
		if missing.What != "workflow" {
			hint = "ids are case-sensitive; the lists show those there are"
		}
		return problemf(http.StatusNotFound, missing.What+".unknown", "%v", missing).hint(hint)
	case errors.Is(err, readmodel.ErrBadCursor):
		return malformed("cursor.invalid", "%v", err).hint("start again without cursor")
	case errors.Is(err, eventlog.ErrTooLarge):
		return problemf(http.StatusRequestEntityTooLarge, "transition.tooLarge", "%v; nothing was changed", err).
			hint("send less at once")
	case errors.As(err, &fault) && fault.Fault == sandbox.FaultTransient:
		return problemf(http.StatusServiceUnavailable, "worker.unavailable", "%v; nothing was changed", err).
			hint("try again; pawl workers shows the processes that read and run scripts").because(err)
	case errors.Is(err, engine.ErrNoRoom):
		return problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			hint("nothing was recorded; send it again when there is room").because(err)
	case errors.Is(err, engine.ErrNothingRecorded):
		return problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			hint("nothing was recorded; send it again in a moment").because(err)
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, eventlog.ErrUnsettled), errors.Is(err, eventlog.ErrClosed),
		errors.Is(err, eventlog.ErrFull), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			hint("ask again in a moment; it may have been recorded nevertheless, repeating it is safe").because(err)
	case damaged(err):
		return problemf(http.StatusInternalServerError, codeDamaged, "%v", err).
			hint("pawl verify says what is missing").because(err)
	}
	return problemf(http.StatusInternalServerError, "internal", "the engine could not carry this out; its log says why").because(err).
		hint("look at the engine's own output: it names this operation and what went wrong")
}

// write sends the problem as the answer. It is called before anything else was written.
func (p *Problem) write(w http.ResponseWriter) {
	limitWrite(w)
	header := w.Header()
	header.Set("Content-Type", problemType)
	header.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	case http.StatusTooManyRequests:
		header.Set("Retry-After", "10") // a backlog takes its time
	}
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="pawl"`)
	}
	if p.allow != "" {
		header.Set("Allow", p.allow)
	}
	document := p.document()
	header.Set("Content-Length", strconv.Itoa(len(document)))
	w.WriteHeader(p.Status)
	// A reader that is gone needs no answer.
	_, _ = w.Write(document)
}

func (p *Problem) document() []byte {
	body, err := json.Marshal(p)
	if err != nil {
		// A Problem holds strings and numbers only.
		panic(err)
	}
	return append(body, '\n')
}
