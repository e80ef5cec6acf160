package connector

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What a tool says of its parameters is told as far as it can be, whatever its schema is.
func TestParameters(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string][]Parameter{
		`{"type": "object", "required": ["to", "at"], "properties": {
			"at": {"type": "string", "minLength": 1, "description": "when it is sent"},
			"to": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
			"how": {"enum": ["fast", 2, null]},
			"any": true,
			"price": {"type": ["number", "null"], "minimum": 0.5, "maximum": 1000000}}}`: {
			{Name: "to", Type: "array of string, at most 3 entries", Required: true},
			{Name: "at", Type: "string, not empty", Required: true, Means: "when it is sent"},
			{Name: "any", Type: "any JSON value"},
			{Name: "how", Type: "`fast` or `2` or `null`"},
			{Name: "price", Type: "number or null from 0.5 to 1000000"},
		},
		`{"properties": {"a": {"type": 7, "title": "what it is"},
			"b": {"additionalProperties": {"oneOf": [{"type": "null"}, {}]}}}}`: {
			{Name: "a", Type: "any JSON value", Means: "what it is"},
			{Name: "b", Type: "any JSON value with values of null or any JSON value"},
		},
		`true`: nil, `{}`: nil, ``: nil, `{"properties": []}`: nil,
	} {
		if got := Parameters(json.RawMessage(schema)); !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", schema, got, want)
		}
	}
	deep := strings.Repeat(`{"items": `, 500) + `{}` + strings.Repeat(`}`, 500)
	many := `{"enum": [0` + strings.Repeat(`, 1`, 500) + `]}`
	for _, p := range Parameters(json.RawMessage(`{"properties": {"deep": ` + deep + `, "many": ` + many + `}}`)) {
		if len(p.Type) > 300 {
			t.Errorf("%s: %s", p.Name, p.Type)
		}
	}
}
