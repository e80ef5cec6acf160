package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// fakeHost answers reads from functions; a missing one is a test's mistake.
type fakeHost map[string]func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

func (h fakeHost) Read(ctx context.Context, connector, operation string, params json.RawMessage) (json.RawMessage,
	error) {
	f, ok := h[connector+"."+operation]
	if !ok {
		return nil, errors.New("no such read: " + connector + "." + operation)
	}
	return f(ctx, params)
}

// answers is a read that always answers the same.
func answers(text string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(text), nil }
}

var errTool = errors.New("503 from the tool")

func fails(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errTool }

// world has one connector with all kinds of operations.
var world = fakeHost{
	"mail.search": answers(`[{"id":"m1","from":"a@example.com","subject":"Hi"}]`),
	"mail.get":    answers(`{"id":"m1","exists":true}`),
	"mail.broken": fails,

	sandbox.OwnConnector + "." + sandbox.GetByIDs: known,
}

// known are the events that getByIds finds beside the pending ones: those whose id ends with their status.
func known(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	var query sandbox.IDsQuery
	if err := json.Unmarshal(params, &query); err != nil {
		return nil, err
	}
	found := []sandbox.Event{}
	for _, id := range slices.Backward(query.IDs) {
		if _, status, ok := strings.Cut(id, ":"); ok {
			found = append(found, sandbox.Event{MessageID: id, Topic: query.Topic, Title: "Known",
				Payload: json.RawMessage(`{"n":9}`), Status: status})
		}
	}
	return json.Marshal(found)
}

var worldOperations = []sandbox.Operation{
	{Connector: "mail", Operation: "search", Kind: sandbox.KindList}, {Connector: "mail", Operation: "get",
		Kind: sandbox.KindGet}, {Connector: "mail", Operation: "broken", Kind: sandbox.KindList},
	{Connector: "mail", Operation: "brokenGet", Kind: sandbox.KindGet}, {Connector: "mail", Operation: "send",
		Kind: sandbox.KindMutate}, {Connector: "sheets", Operation: "appendRow", Kind: sandbox.KindMutate},
}

// handlerSource wraps the body of one handler of phase p into a workflow; the handler's parameters are
// (ctx, a, b). Line 1 of the result is the first line of the body.
func handlerSource(p sandbox.Phase, body string) sandbox.Source {
	if p == sandbox.Producer {
		return sandbox.Source{Filename: "flow.ts",
			Code: `export default Keep.workflow({ name: "w", topics: { "t.a": {}, "t.b": {} }, producers: { async ` +
				`h(ctx, a) { ` + body + "\n} } });"}
	}
	other := ""
	if p != sandbox.Prepare {
		other = "async prepare() { return { reservations: [], data: {} } }, "
	}
	return sandbox.Source{Filename: "flow.ts", Code: `export default Keep.workflow({ name: "w", topics: { "t.a": {}, ` +
		`"t.b": {} }, consumers: { h: Keep.consumer({ subscribe: ["t.a"], ` +
		other + `async ` + string(p) + `(ctx, a, b) { ` + body + "\n} }) } });"}
}

// invocationOf is a complete call of a handler with the given body.
func invocationOf(p sandbox.Phase, body string) sandbox.Invocation {
	return sandbox.Invocation{
		Source: handlerSource(p, body), Phase: p, Handler: "h",
		Topics:     []string{"t.a", "t.b"},
		Operations: worldOperations,
		Pending: map[string][]sandbox.Event{"t.a": {
			{MessageID: "1", Topic: "t.a", Title: "One", Payload: json.RawMessage(`{"n":1}`)},
			{MessageID: "2", Topic: "t.a", Title: "Two", Payload: json.RawMessage(`{"n":2}`)},
			{MessageID: "3", Topic: "t.a", Title: "Three", Payload: json.RawMessage(`null`)},
		}},
		Prepared:       json.RawMessage(`{"reservations":[],"data":{"x":1}}`),
		MutationResult: json.RawMessage(`{"status":"none"}`),
		Now:            time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Seed:           7,
	}
}

// runBody runs a handler body to its end.
func runBody(t *testing.T, p sandbox.Phase, body string) (sandbox.Result, error) {
	t.Helper()
	return newExecutor(t).Invoke(t.Context(), invocationOf(p, body), world)
}

// succeed is runBody for handlers that must end well.
func succeed(t *testing.T, p sandbox.Phase, body string) sandbox.Result {
	t.Helper()
	r, err := runBody(t, p, body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return r
}

// wantFault checks how an invocation failed.
func wantFault(t *testing.T, err error, fault sandbox.Fault, code string) *sandbox.Error {
	t.Helper()
	var e *sandbox.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a fault %s", err, code)
	}
	if e.Fault != fault || e.Code != code {
		t.Fatalf("got %s %v, want %s %s", e.Fault, e, fault, code)
	}
	return e
}

func wantContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not contain %q", text, p)
		}
	}
}
