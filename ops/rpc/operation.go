package rpc

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
)

// Operation describes one row of a table: everything an interface needs to offer it, and a client to call it.
type Operation struct {
	// ID is the OpenAPI operationId and the last token of the NATS subject.
	ID string
	// Method and Path are a net/http pattern; each {name} is one percent-encoded segment.
	Method, Path string
	Role         Role
	Summary      string
	// Statuses are the success statuses; the first one is the usual one. Refusals are problems.
	Statuses []int
	// Answer is the type of the answer's JSON.
	Answer reflect.Type
	// Request fills the operation's request.
	Request *Binding
	// Slow operations read much history, and the server sets no time limit for them.
	Slow bool
	// Narrows marks an operation about all workflows. To a caller whose token is for one workflow it shows only that
	// one.
	Narrows bool
	// Private operations answer with a secret. They are not offered over NATS: on NATS servers of one's own all
	// operators may be one user in one account, where each can read the answers to the others.
	Private bool
	// Streams marks an operation that can answer with server-sent events over HTTP.
	Streams bool
	// RawBody names the field that is the whole body over HTTP; empty where the body is an object of fields.
	RawBody string
	// DescribeBody and DescribeAnswer give schemas that do not follow from the Go types; nil where they do.
	DescribeBody, DescribeAnswer func(*Components) (any, error)
}

// Describe starts a row: "METHOD /path". It panics on a mistake in the table, which every test finds.
func Describe(id, route string, role Role, summary string) Operation {
	method, path, ok := strings.Cut(route, " ")
	if !ok {
		panic("operation " + id + ": route " + route)
	}
	return Operation{ID: id, Method: method, Path: path, Role: role, Summary: summary, Statuses: []int{http.StatusOK}}
}

// NotOverNATS is the problem for a private operation that was asked for over NATS; nil for any other operation.
func (o *Operation) NotOverNATS() *Problem {
	if !o.Private {
		return nil
	}
	return Problemf(http.StatusForbidden, "operation.private",
		"%s is not offered over NATS: its answer is a secret, and other operators could read it", o.ID).
		WithHint("nothing was changed; ask over HTTP (pawl --url)")
}

// Params lists the names of the operation's path, query and body fields.
func (o *Operation) Params() (path, query, body []string) {
	for _, f := range o.Request.fields {
		switch f.in {
		case inPath:
			path = append(path, f.name)
		case inQuery:
			query = append(query, f.name)
		case inBody:
			body = append(body, f.name)
		}
	}
	return path, query, body
}

// Table is a list of operations, in the order of the documentation.
type Table []*Operation

// Lookup returns the operation with the id, nil if there is none.
func (t Table) Lookup(id string) *Operation {
	for _, o := range t {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// Plain is an operation beside the table. It is a GET without parameters, unless it has a Method of its own; then it
// takes any body, and answers 202 beside 200.
type Plain struct {
	Method string
	// ID is as in Operation; Media is the type of the answer.
	ID, Path, Summary, Media string
	// Public operations are answered without a token.
	Public bool
}

// CheckIDs fails for an id that is in the table twice. The error names it.
func (t Table) CheckIDs() error {
	seen := map[string]bool{}
	for _, o := range t {
		if seen[o.ID] {
			return fmt.Errorf("operation %s is in the table twice", o.ID)
		}
		seen[o.ID] = true
	}
	return nil
}

// Permit refuses an operation that the caller may not carry out. It is the one place where roles are
// enforced: each interface asks it before the operation runs. It narrows a request about all workflows
// to the caller's own.
func (o *Operation) Permit(c *Caller, request any) *Problem {
	if p := o.Ask(c); p != nil {
		return p
	}
	if c.Workflow == "" || o.Narrows {
		return nil
	}
	s, ok := request.(Scoped)
	if !ok {
		return Problemf(http.StatusForbidden, "workflow.forbidden",
			"%s is about more than workflow %s, the only one that this token is for", o.ID, c.Workflow).
			WithHint("use a token that is for all workflows")
	}
	of := s.Scope()
	if *of == "" {
		*of = c.Workflow
	}
	return c.Sees(*of)
}

// Ask refuses a caller whose role is not sufficient for the operation. It needs no request, so it can be asked before
// one is read.
func (o *Operation) Ask(c *Caller) *Problem {
	if c.Role.Covers(o.Role) {
		return nil
	}
	return Problemf(http.StatusForbidden, "role.insufficient", "%s needs the role %s; this caller has the role %s", o.ID,
		o.Role, c.Role).
		WithHint("nothing was changed; ask with a token of that role")
}
