package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// Parameters that one schema has accepted are still checked against every other, and what is refused is refused again.
func TestF14_AcceptedParametersAreCheckedAgainstAnotherSchema(t *testing.T) {
	t.Parallel()
	number := json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}},"additionalProperties":false}`)
	text := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)
	call := Call{Connector: "shop", Operation: "order"}
	var schemas Schemas
	for range 3 {
		for _, c := range []struct {
			schema json.RawMessage
			params string
			fits   bool
		}{
			{number, `{"a":1}`, true},
			{text, `{"a":1}`, false},
			{text, `{"a":"1"}`, true},
			{number, `{"a":"1"}`, false},
			{number, `{"a":`, false},
			{nil, `{"a":1}`, true},
			{nil, `1`, false},
		} {
			call.Params = json.RawMessage(c.params)
			failure := schemas.check(t.Context(), call, Operation{Name: "order", Schema: c.schema})
			if (failure == nil) != c.fits {
				t.Errorf("%s against %s: %v", c.params, c.schema, failure)
			}
			pinned := eventlog.Operation{Connector: "shop", Operation: "order", Schema: c.schema}
			passes := c.fits || !json.Valid(call.Params) // what is not JSON is left to the check of the call itself
			if failure := schemas.CheckPinned(t.Context(), pinned, call.Params); (failure == nil) != passes {
				t.Errorf("%s against the pinned %s: %v", c.params, c.schema, failure)
			}
		}
	}
}

// Of an operation whose schema changes again and again, a few texts are kept; the one that is in use is not compiled
// again.
func TestSchemasKeepFewTextsOfAnOperation(t *testing.T) {
	t.Parallel()
	var schemas Schemas
	of := operationName{"shop", "order"}
	text := func(i int) json.RawMessage { return fmt.Appendf(nil, `{"type":"object","maxProperties":%d}`, i) }
	first, err := schemas.compile(of, text(0))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 20; i++ {
		if _, err := schemas.compile(of, text(i)); err != nil {
			t.Fatal(err)
		}
		if again, err := schemas.compile(of, text(0)); err != nil || again != first {
			t.Fatalf("after %d other texts, the one in use was compiled again, %v", i, err)
		}
		if n := len(schemas.compiled[of]); n > maxTexts {
			t.Fatalf("%d texts are kept, want at most %d", n, maxTexts)
		}
	}
	other, err := schemas.compile(operationName{"shop", "cancel"}, text(0))
	if err != nil || other == first {
		t.Errorf("two operations share a schema, %v", err)
	}
	if _, err := schemas.compile(of, make(json.RawMessage, maxSchemaBytes+1)); err == nil {
		t.Error("a text that is too large is accepted")
	}
}

// What is kept answers for the check alone: a read whose context has ended does not reach its connector.
func TestReadAfterTheEndReachesNoConnector(t *testing.T) {
	t.Parallel()
	reads := 0
	r, err := NewRegistry(&counting{reads: &reads})
	if err != nil {
		t.Fatal(err)
	}
	call := Call{Connector: "counting", Operation: "look", Params: json.RawMessage(`{}`)}
	if _, err := r.Read(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 20 {
		if _, err := r.Read(ended, call); err == nil {
			t.Fatal("a read whose context has ended was answered")
		}
	}
	if reads != 1 {
		t.Errorf("the connector was asked %d times, want once", reads)
	}
}

// counting counts its reads.
type counting struct{ reads *int }

func (*counting) Name() string { return "counting" }

func (*counting) Operations() []Operation { return []Operation{{Name: "look", Kind: Get}} }

func (c *counting) Read(context.Context, Call) (json.RawMessage, error) {
	*c.reads++
	return json.RawMessage(`1`), nil
}

func (*counting) Perform(context.Context, Call) Outcome { return Outcome{} }

func (*counting) Reconcile(context.Context, Call) Reconciliation { return Reconciliation{} }
