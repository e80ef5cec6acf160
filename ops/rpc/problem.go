package rpc

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pawl-run/pawl/sandbox"
)

// ProblemType is the media type of every error (RFC 9457).
const ProblemType = "application/problem+json"

// CodeStopping is the code of the problem of an engine that is about to end.
const CodeStopping = "engine.stopping"

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

	// Allow lists the methods of a 405, for its header.
	Allow string `json:"-"`
	cause error
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// Unwrap returns the cause of the problem inside this process; nil in a client.
func (p *Problem) Unwrap() error { return p.cause }

// Problemf makes a problem of an HTTP status, a stable code and what happened.
func Problemf(status int, code, format string, args ...any) *Problem {
	return &Problem{
		Type: "urn:pawl:problem:" + code, Title: http.StatusText(status), Status: status,
		Code: code, Detail: fmt.Sprintf(format, args...),
	}
}

// Malformed is the problem of a request that cannot be read (400).
func Malformed(code, format string, args ...any) *Problem {
	return Problemf(http.StatusBadRequest, code, format, args...)
}

// WithHint adds what to do next.
func (p *Problem) WithHint(text string) *Problem {
	p.Hint = text
	return p
}

// WithCause adds the cause of the problem inside this process.
func (p *Problem) WithCause(err error) *Problem {
	p.cause = err
	return p
}

// Stopping is the problem of an engine that is about to end.
func Stopping() *Problem {
	return Problemf(http.StatusServiceUnavailable, CodeStopping,
		"the engine is shutting down").WithHint("ask again once it is back")
}

// Document is the problem's JSON, as every interface sends it.
func (p *Problem) Document() []byte {
	body, err := json.Marshal(p)
	if err != nil {
		// A Problem holds strings and numbers only.
		panic(err)
	}
	return append(body, '\n')
}
