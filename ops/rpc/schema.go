package rpc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// RawJSON is any JSON; an empty one is null.
type RawJSON json.RawMessage

// MarshalJSON implements json.Marshaler.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *RawJSON) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}

// Check fails for a value that its type cannot have, by the type's own rule or by its schema in the OpenAPI document.
// The name is that of the field, for the error.
func (t Types) Check(name string, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if named, ok := v.Interface().(interface{ Validate() error }); ok {
		if err := named.Validate(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	schema := t[v.Type()]
	if schema == nil {
		return nil
	}
	if v.CanInt() {
		n := float64(v.Int())
		low, high := schema.Minimum, schema.Maximum
		switch {
		case low != nil && high != nil && (n < *low || n > *high):
			return fmt.Errorf("%s is %v; it must be %v to %v", name, n, *low, *high)
		case low != nil && n < *low:
			return fmt.Errorf("%s is %v; it must be %v or more", name, n, *low)
		}
		return nil
	}
	if len(schema.Enum) == 0 || slices.Contains(schema.Enum, any(v.String())) {
		return nil
	}
	return fmt.Errorf("%s is %q; it must be one of %s", name, eventlog.ClipName(v.String()),
		strings.Join(t.Possible(v.Type()), ", "))
}

// Possible are the values of an enumeration, nil for a type that is none.
func (t Types) Possible(of reflect.Type) []string {
	if t[of] == nil {
		return nil
	}
	var values []string
	for _, v := range t[of].Enum {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

// OpenAPIPath is the path of the document.
const OpenAPIPath = "/v1/openapi.json"
