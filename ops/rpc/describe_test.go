package rpc

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestSchemaOf: a type is described as encoding/json writes it.
func TestSchemaOf(t *testing.T) {
	t.Parallel()
	type colour string
	type size int
	type base struct {
		Name string `json:"name" jsonschema:"its name"`
	}
	type thing struct {
		base
		Colour  *colour        `json:"colour"`
		Size    size           `json:"size,omitempty"`
		Count   uint64         `json:"count"`
		Many    []*bool        `json:"many"`
		Three   [3]float64     `json:"three"`
		ByName  map[string]int `json:"byName"`
		Raw     RawJSON        `json:"raw" jsonschema:"any"`
		Value   any            `json:"value"`
		Hidden  string         `json:"-"`
		private int
	}
	types := Types{reflect.TypeFor[colour](): Enum[colour]("red", "blue"), reflect.TypeFor[RawJSON](): {}}
	s, err := types.SchemaOf(reflect.TypeFor[thing]())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"name":{"type":"string","description":"its name"},` +
		`"colour":{"type":["null","string"],"enum":["red","blue",null]},"size":{"type":"integer"},` +
		`"count":{"type":"integer","minimum":0},"many":{"type":"array","items":{"type":["null","boolean"]}},` +
		`"three":{"type":"array","items":{"type":"number"},"minItems":3,"maxItems":3},` +
		`"byName":{"type":"object","additionalProperties":{"type":"integer"}},"raw":{"description":"any"},` +
		`"value":true},"required":["name","colour","count","many","three","byName","raw","value"],` +
		`"additionalProperties":false}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again, err := json.Marshal(types[reflect.TypeFor[colour]()])
	if err != nil || string(again) != `{"type":"string","enum":["red","blue"]}` {
		t.Errorf("the table's own schema was changed: %s", again)
	}
	type circle struct {
		Next *circle `json:"next"`
	}
	type empty struct{}
	for of, want := range map[reflect.Type]string{
		reflect.TypeFor[circle]():   "",
		reflect.TypeFor[chan int](): "",
		reflect.TypeFor[empty]():    `{"type":"object","properties":{},"additionalProperties":false}`,
	} {
		s, err := types.SchemaOf(of)
		if (err == nil) != (want != "") {
			t.Errorf("%s: %v", of, err)
		}
		if err == nil {
			if got, _ := json.Marshal(s); string(got) != want {
				t.Errorf("%s: %s", of, got)
			}
		}
	}
	_ = thing{private: 1}
}
