package typings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// What each part of JSON Schema becomes: first as a function takes what the schema describes, then as it is returned,
// each followed by the types that it has by name.
func TestTypesOfSchemas(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/schemas.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 60 {
		t.Fatalf("only %d schemas", len(archive.Files))
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			schema, want, _ := strings.Cut(string(file.Data), "\n")
			params := newConverter(json.RawMessage(schema), "X", false, map[string]bool{})
			result := newConverter(json.RawMessage(schema), "X", true, map[string]bool{})
			got := "=> " + params.parameter() + "\n" + params.declarations() +
				"=> " + result.whole() + "\n" + result.declarations()
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Types of different operations that have the same name are told apart.
func TestNamesAreTakenOnce(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"items": {"$ref": "#/$defs/a-b"}, "prefixItems": [{"$ref": "#/$defs/ab"}],
		"$defs": {"ab": {"const": 1}, "a-b": {"const": 2}}}`)
	declared := Declare([]Connector{
		{Name: "a", Operations: []Operation{{Name: "bC", Kind: "get", Schema: schema}}},
		{Name: "aB", Operations: []Operation{{Name: "c", Kind: "get", Schema: schema}}},
	})
	for _, want := range []string{
		"params?: [ABCParamsAb?, ...ABCParamsAb2[]]", "type ABCParamsAb = 1;", "type ABCParamsAb2 = 2;",
		"params?: [ABCParamsAb3?, ...ABCParamsAb4[]]", "type ABCParamsAb3 = 1;", "type ABCParamsAb4 = 2;",
	} {
		if strings.Count(declared, want) != 1 {
			t.Errorf("not once: %s", want)
		}
	}
}
