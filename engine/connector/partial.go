package connector

import (
	"bytes"
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Partial is a JSON value of which perhaps only a part is known.
type Partial struct {
	// Kind is its type, named as in a JSON Schema; empty where it may be anything, or may not be there at all.
	Kind string
	// Value is a scalar's JSON, empty where only its type is known.
	Value json.RawMessage
	// Members are those of an object, each name once; Items those of an array, from its first on.
	Members []PartialMember
	Items   []Partial
	// Open tells that there may be more members or items than these.
	Open bool
	// Prefix is how a text begins that is not wholly certain; empty where that is not certain either.
	Prefix string
}

// PartialMember is a member of a partly known object.
type PartialMember struct {
	Name  string
	Value Partial
}

// complete is the value if all of it is written.
func complete(w *Partial) (any, bool) {
	switch w.Kind {
	case "null":
		return nil, true
	case "object":
		object := make(map[string]any, len(w.Members))
		for i := range w.Members {
			value, ok := complete(&w.Members[i].Value)
			if !ok {
				return nil, false
			}
			object[w.Members[i].Name] = value
		}
		return object, !w.Open
	case "array":
		items := make([]any, len(w.Items))
		for i := range w.Items {
			value, ok := complete(&w.Items[i])
			if !ok {
				return nil, false
			}
			items[i] = value
		}
		return items, !w.Open
	}
	if len(w.Value) == 0 {
		return nil, false
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Value))
	return value, err == nil
}
