package ops

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
)

// Operation is one row of the table: everything an interface needs to offer it.
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
	// Slow operations read history at length and have no time limit of the server's own.
	Slow bool

	request *binding
	do      func(context.Context, *Call, any) (int, any, error)
	// heavy operations read a long past; only some of them are under way at once.
	heavy bool
	// narrows marks an operation about all workflows that shows a caller of one workflow only that one.
	narrows bool
	// stream is set for an operation that writes its own HTTP answer. It reports false, with nothing
	// written, for a request that do answers.
	stream func(http.ResponseWriter, *http.Request, *Call, any) (bool, error)
	// ingress operations take their body as it is: the path for many small events.
	ingress bool
}

// Call is one call of an operation, whatever interface it came through.
type Call struct {
	Caller
	server *Server
	// most is how many bytes an answer may have; 0 means any number.
	most int
	// leave ends when the interface that answers stops: nothing is waited for any longer.
	leave context.Context
}

// Params lists the names of the operation's path, query and body fields.
func (o *Operation) Params() (path, query, body []string) {
	for _, f := range o.request.fields {
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

// Possible lists what a field of the operation can be, nil where it is no enumeration.
func Possible(id, field string) []string {
	o, ok := Lookup(id)
	if !ok {
		return nil
	}
	f := o.request.field(field)
	if f == nil || knownSchemas[f.typ] == nil {
		return nil
	}
	return possible(f.typ)
}

// operation starts a row: "METHOD /path".
func operation(id, route string, role Role, summary string) Operation {
	method, path, ok := strings.Cut(route, " ")
	if !ok {
		panic("operation " + id + ": route " + route)
	}
	return Operation{ID: id, Method: method, Path: path, Role: role, Summary: summary, Statuses: []int{http.StatusOK}}
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
	o.narrows = true
	return o
}

// define completes a row with its function; the request's fields say where they stand in HTTP.
func define[Request, Answer any](o Operation, do func(context.Context, *Call, *Request) (Answer, error)) Operation {
	return defineStatus(o, func(ctx context.Context, c *Call, r *Request) (int, Answer, error) {
		answer, err := do(ctx, c, r)
		return o.Statuses[0], answer, err
	})
}

func defineStatus[Request, Answer any](o Operation, do func(context.Context, *Call, *Request) (int, Answer, error)) Operation {
	o.request = bindingOf(reflect.TypeFor[Request](), o.Path)
	o.Answer = reflect.TypeFor[Answer]()
	o.do = func(ctx context.Context, c *Call, request any) (int, any, error) {
		status, answer, err := do(ctx, c, request.(*Request))
		return status, answer, err
	}
	return o
}

// table is the one list of operations, in the order of the documentation.
var table = func() []Operation {
	var all []Operation
	for _, part := range [][]Operation{workflowTable, historyTable, insightTable, workersTable, operatorTable, ingressTable, repairTable, jobTable, evidenceTable, connectorTable, tokenTable, clockTable, logTable} {
		all = append(all, part...)
	}
	seen := map[string]bool{}
	for _, o := range all {
		if seen[o.ID] {
			panic(fmt.Sprintf("operation %s is in the table twice", o.ID))
		}
		seen[o.ID] = true
	}
	return all
}()

// Operations returns the table.
func Operations() []Operation { return append([]Operation(nil), table...) }

// Lookup returns the operation with the id.
func Lookup(id string) (Operation, bool) {
	for _, o := range table {
		if o.ID == id {
			return o, true
		}
	}
	return Operation{}, false
}
