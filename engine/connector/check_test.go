package connector

import (
	"encoding/json"
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
