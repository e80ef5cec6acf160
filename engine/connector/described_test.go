package connector_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/engine/connector"
)

// wantDescribed holds a result against the schema of its operation, member by member: one that the schema does not list
// has no type.
func wantDescribed(t *testing.T, registry *connector.Registry, name, operation string, result json.RawMessage) {
	t.Helper()
	o, _ := registry.Operation(name, operation)
	var schema map[string]any
	if err := json.Unmarshal(o.Result, &schema); err != nil {
		t.Fatalf("the schema of the result of %s.%s: %v", name, operation, err)
	}
	text, err := json.Marshal(closed(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := connector.CompileSchema(text)
	if err != nil {
		t.Fatalf("the schema of the result of %s.%s: %v", name, operation, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(result))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(t.Context(), value); err != nil {
		t.Errorf("the result of %s.%s is not what its schema says: %v\n%s", name, operation, err, result)
	}
}

// closed is the schema that admits listed members only.
func closed(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		for name := range schema {
			schema[name] = closed(schema[name])
		}
		if _, lists := schema["properties"].(map[string]any); lists {
			schema["additionalProperties"] = false
		}
		return schema
	case []any:
		for i := range schema {
			schema[i] = closed(schema[i])
		}
	}
	return schema
}
