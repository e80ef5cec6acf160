package worker

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

func exampleSource(t testing.TB) sandbox.Source {
	code, err := os.ReadFile("../testdata/example.js")
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Source{Filename: "example.js", Code: string(code)}
}

// TestExampleWorkflow describes the documented example and runs each of its handlers.
func TestExampleWorkflow(t *testing.T) {
	e := newExecutor(t)
	source := exampleSource(t)
	d, problems, err := e.Describe(t.Context(), source)
	if err != nil || len(problems) != 1 || problems[0].Code != "ui.title" ||
		problems[0].Severity != sandbox.SeverityWarning {
		t.Fatalf("problems %+v, error %v", problems, err)
	}
	d.Places, d.Calls, d.MutateCalls, d.Results = nil, nil, nil, nil
	want := sandbox.Definition{
		Name: "example", Topics: []string{"email.received", "row.created"},
		Producers: []sandbox.ProducerDefinition{{Name: "pollEmail", Bare: true}},
		Consumers: []sandbox.ConsumerDefinition{{Name: "processEmail", Subscribe: []string{"email.received"},
			HasMutate: true, HasNext: true}},
		Uses: []sandbox.OperationUse{
			{Connector: "gmail", Operation: "search", Handler: "pollEmail", Phase: sandbox.Producer, Line: 12,
				Column: 28},
			{Connector: "sheets", Operation: "appendRow", Handler: "processEmail", Phase: sandbox.Mutate, Line: 39,
				Column: 15},
		},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("definition\n got %+v\nwant %+v", d, want)
	}

	base := sandbox.Invocation{Source: source, Topics: d.Topics, Operations: []sandbox.Operation{
		{Connector: "gmail", Operation: "search", Kind: sandbox.KindList}, {Connector: "sheets", Operation: "appendRow",
			Kind: sandbox.KindMutate}}}
	host := fakeHost{"gmail.search": func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		if string(params) != `{"after":"c1"}` {
			t.Errorf("search got %s", params)
		}
		return json.RawMessage(`[{"id":"m1","from":"a@example.com","subject":"Hi"}]`), nil
	}}

	poll := base
	poll.Phase, poll.Handler, poll.State = sandbox.Producer, "pollEmail", json.RawMessage(`{"cursor":"c1"}`)
	r, err := e.Invoke(t.Context(), poll, host)
	if err != nil {
		t.Fatal(err)
	}
	published := []sandbox.Publish{{Topics: []string{"email.received"}, MessageID: "m1",
		Title:   `Email from a@example.com: "Hi"`,
		Payload: json.RawMessage(`{"subject":"Hi","from":"a@example.com"}`)}}
	if !reflect.DeepEqual(r.Publishes, published) || string(r.Value) != `{}` || r.Reads != 1 {
		t.Errorf("producer: %+v", r)
	}

	prepare := base
	prepare.Phase, prepare.Handler = sandbox.Prepare, "processEmail"
	prepare.Pending = map[string][]sandbox.Event{"email.received": {{MessageID: "m1", Topic: "email.received",
		Title: "T", Payload: published[0].Payload}}}
	if r, err = e.Invoke(t.Context(), prepare, host); err != nil {
		t.Fatal(err)
	}
	prepared := `{"reservations":[{"topic":"email.received","ids":["m1"]}],"data":{"email":{"subject":"Hi",` +
		`"from":"a@example.com"}}}`
	if string(r.Value) != prepared {
		t.Errorf("prepare returned %s", r.Value)
	}

	mutate := base
	mutate.Phase, mutate.Handler, mutate.Prepared = sandbox.Mutate, "processEmail", r.Value
	if r, err = e.Invoke(t.Context(), mutate, host); err != nil {
		t.Fatal(err)
	}
	call := &sandbox.MutationCall{Connector: "sheets", Operation: "appendRow",
		Params: json.RawMessage(`{"spreadsheetId":"...","values":["a@example.com","Hi"]}`)}
	if !reflect.DeepEqual(r.Call, call) {
		t.Errorf("mutate named %+v", r.Call)
	}

	next := base
	next.Phase, next.Handler, next.Prepared = sandbox.Next, "processEmail", json.RawMessage(prepared)
	next.MutationResult = json.RawMessage(`{"status":"applied","result":{"rowId":5}}`)
	if r, err = e.Invoke(t.Context(), next, host); err != nil {
		t.Fatal(err)
	}
	if len(r.Publishes) != 1 || string(r.Publishes[0].Payload) != `{"rowId":5}` || r.Value != nil {
		t.Errorf("next: %+v", r)
	}
}
