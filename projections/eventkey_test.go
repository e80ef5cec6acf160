package projections_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/projections"
)

// C2: a key is the canonical JSON of the value at a path.
func TestC2_EventKey(t *testing.T) {
	t.Parallel()
	const payload = `{"customer": {"id": 7, "name": "a\u0062<", "tags": ["x", {"deep": true}]}, "n": 1.0, "big": 1e3,
		"null": null, "list": [1, 2 ,3], "object": {"b": 1, "a": [ ]}, "huge": 1e999, "text": "7",
		"zeros": [-0, {"a": -0.0}]}`
	for path, want := range map[string]string{
		"customer.id": "7", "customer.name": `"ab<"`, "n": "1", "big": "1000", "null": "null", "list": "[1,2,3]",
		"object": `{"a":[],"b":1}`, "customer.tags.0": `"x"`, "customer.tags.1.deep": "true", "huge": "1e999", "text": `"7"`,
		"zeros": `[0,{"a":0}]`, "zeros.0": "0",
		"": "", "none": "", "customer.none": "", "customer.id.more": "", "list.3": "", "list.-1": "", "list.x": "", ".": "",
	} {
		if got := projections.EventKeyAt(path, []byte(payload)); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
	for _, payload := range []string{"", "1", `"customer"`, "null", "{", `{"customer"`} {
		if got := projections.EventKeyAt("customer.id", []byte(payload)); got != "" {
			t.Errorf("%q has the key %s", payload, got)
		}
	}
	long := projections.EventKeyAt("k", []byte(`{"k":"`+strings.Repeat("x", 300)+`"}`))
	other := projections.EventKeyAt("k", []byte(`{"k":"`+strings.Repeat("x", 299)+`y"}`))
	if !strings.HasPrefix(long, "sha256:") || len(long) != len("sha256:")+64 || long == other {
		t.Errorf("long keys are %s and %s", long, other)
	}
}
