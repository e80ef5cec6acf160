package ops

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/console"
	"github.com/pawl-run/pawl/ops/feed"
	"github.com/pawl-run/pawl/ops/hooks"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Operation is one row of the table: its description, and what it does here.
type Operation struct {
	rpc.Operation

	do func(context.Context, *Call, any) (int, any, error)
	// heavy operations read a long past; only a few of them may be under way at once.
	heavy bool
	// stream is set for an operation that writes its own HTTP answer. It writes nothing and reports false for a request
	// that the function do has to answer.
	stream func(http.ResponseWriter, *http.Request, *Call, any) (bool, error)
}

// Call is one call of an operation, whatever interface it came through.
type Call struct {
	rpc.Caller
	backend *backend
	// most is how many bytes an answer may have; 0 means any number.
	most int
	// leave ends when the interface that answers stops: then the call must not wait any longer.
	leave context.Context
}

// operation starts a row: "METHOD /path".
func operation(id, route string, role rpc.Role, summary string) Operation {
	return Operation{Operation: rpc.Describe(id, route, role, summary)}
}

func (o Operation) answering(statuses ...int) Operation {
	o.Statuses = statuses
	return o
}

func (o Operation) slow() Operation {
	o.Slow = true
	return o
}

func (o Operation) reading() Operation {
	o.Slow, o.heavy = true, true
	return o
}

func (o Operation) narrowing() Operation {
	o.Narrows = true
	return o
}

func (o Operation) private() Operation {
	o.Private = true
	return o
}

// define completes a row with its function; tags of the request's fields say where they are in an HTTP request.
func define[Request, Answer any](o Operation, do func(context.Context, *Call, *Request) (Answer, error)) Operation {
	return defineStatus(o, func(ctx context.Context, c *Call, r *Request) (int, Answer, error) {
		answer, err := do(ctx, c, r)
		return o.Statuses[0], answer, err
	})
}

func defineStatus[Request, Answer any](o Operation, do func(context.Context, *Call, *Request) (int, Answer,
	error)) Operation {
	o.Request = rpc.NewBinding(reflect.TypeFor[Request](), o.Path, knownTypes)
	o.Answer = reflect.TypeFor[Answer]()
	o.do = func(ctx context.Context, c *Call, request any) (int, any, error) {
		status, answer, err := do(ctx, c, request.(*Request))
		return status, answer, err
	}
	return o
}

// inWorkflow is the part of the path that names the workflow.
type inWorkflow struct {
	Workflow eventlog.WorkflowName `json:"workflow" in:"path" jsonschema:"the workflow's name"`
}

func (r *inWorkflow) Scope() *eventlog.WorkflowName { return &r.Workflow }

// noRequest is the request of an operation that takes nothing.
type noRequest struct{}

// neverNull is s, which is [] in JSON where it would be null.
func neverNull[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

var plainTable = []plainOperation{
	{rpc.Plain{ID: "openapi", Path: rpc.OpenAPIPath, Summary: "This document", Media: "application/json"},
		(*backend).describe},
	{rpc.Plain{ID: "healthz", Path: "/healthz", Summary: "Whether the process answers", Media: "application/json",
		Public: true}, (*backend).healthz},
	{rpc.Plain{ID: "readyz", Path: "/readyz", Summary: "Whether the engine is ready for new work",
		Media: "application/json", Public: true}, (*backend).readyz},
	{rpc.Plain{ID: "metrics", Path: "/metrics", Summary: "Figures for Prometheus", Media: "text/plain"}, nil},
}

// receiveHook is the path by which other systems reach the hooks of workflows. It is no operation: each hook says which
// requests it takes, and what they may hold.
var receiveHook = rpc.Plain{ID: "receiveHook", Method: http.MethodPost, Path: hooks.Path + "{workflow}/{hook}",
	Summary: "Post to a workflow's hook; what it verifies becomes an event", Media: "application/json", Public: true}

// public says which requests are answered without a token. Pages are: they ask for a login.
func public(r *http.Request) bool {
	path := r.URL.Path
	return strings.HasPrefix(path, hooks.Path) || console.Owns(r) ||
		slices.ContainsFunc(plainTable, func(p plainOperation) bool { return p.Public && p.Path == path })
}

// document is the OpenAPI document of everything here, for a program of the given version.
func document(version string) ([]byte, error) {
	var beside []rpc.Plain
	for _, p := range plainTable {
		beside = append(beside, p.Plain)
	}
	return rpc.OpenAPI(version, Table(), append(beside, receiveHook), knownTypes)
}

// DescribeFeed returns the AsyncAPI document of the feed, for a program of the given version.
func DescribeFeed(version string) ([]byte, error) { return feed.AsyncAPI(version, knownTypes) }

func described(rows []Operation) rpc.Table {
	var t rpc.Table
	for i := range rows {
		t = append(t, &rows[i].Operation)
	}
	return t
}
