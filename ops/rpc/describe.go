package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema is the part of JSON Schema that the Go types of the table need. The zero Schema is that of any JSON.
type Schema struct {
	// Type or Types, not both.
	Type             string
	Types            []string
	Description      string
	Enum             []any
	Minimum, Maximum *float64
	items            *Schema
	// length is the length of an array that always has the same length.
	length *int
	// properties are the properties of an object, in the order of its fields; nil for any other type.
	properties []property
	required   []string
	// values is the schema of an object's other members, such as those of a map; with closed there are no others.
	values *Schema
	closed bool
}

type property struct {
	name   string
	schema *Schema
}

// MarshalJSON implements json.Marshaler.
func (s *Schema) MarshalJSON() ([]byte, error) {
	written := struct {
		Type        any             `json:"type,omitempty"`
		Properties  json.RawMessage `json:"properties,omitempty"`
		Items       *Schema         `json:"items,omitempty"`
		Description string          `json:"description,omitempty"`
		Enum        []any           `json:"enum,omitempty"`
		Minimum     *float64        `json:"minimum,omitempty"`
		Maximum     *float64        `json:"maximum,omitempty"`
		MinItems    *int            `json:"minItems,omitempty"`
		MaxItems    *int            `json:"maxItems,omitempty"`
		Required    []string        `json:"required,omitempty"`
		Others      any             `json:"additionalProperties,omitempty"`
	}{Items: s.items, Description: s.Description, Enum: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum,
		MinItems: s.length, MaxItems: s.length, Required: s.required}
	switch {
	case s.Type != "":
		written.Type = s.Type
	case len(s.Types) > 0:
		written.Type = s.Types
	}
	switch {
	case s.closed:
		written.Others = new(bool) // a pointer to false, since omitempty would leave out a plain false
	case s.values != nil:
		written.Others = s.values
	}
	if s.properties != nil {
		var object bytes.Buffer
		for i, p := range s.properties {
			name, err := json.Marshal(p.name)
			if err != nil {
				return nil, err
			}
			schema, err := json.Marshal(p.schema)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&object, "%c%s:%s", "{,"[min(i, 1)], name, schema)
		}
		if len(s.properties) == 0 {
			object.WriteByte('{')
		}
		written.Properties = append(object.Bytes(), '}')
	}
	text, err := json.Marshal(written)
	if string(text) == "{}" {
		return []byte("true"), err
	}
	return text, err
}

// nullable makes null possible too.
func (s *Schema) nullable() {
	switch {
	case s.Type != "":
		s.Types, s.Type = []string{"null", s.Type}, ""
	case len(s.Types) > 0 && !slices.Contains(s.Types, "null"):
		s.Types = append([]string{"null"}, s.Types...)
	}
	if slices.Contains(s.Types, "null") && len(s.Enum) > 0 && !slices.Contains(s.Enum, any(nil)) {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
}

// NullableLists makes null possible wherever s has a list or a map: encoding/json writes null for a nil one.
func (s *Schema) NullableLists() {
	if s.items != nil || s.values != nil {
		s.nullable()
	}
	for _, below := range []*Schema{s.items, s.values} {
		if below != nil {
			below.NullableLists()
		}
	}
	for _, p := range s.properties {
		p.schema.NullableLists()
	}
}

// SchemaOf describes the JSON that encoding/json makes of a type: a field without omitempty is always there, the tag
// `jsonschema` is the description of a field, a list is never null here, and a pointer may be null. The types in t have
// the schemas that are given there. It fails for a type that holds itself, and for a type without a form in JSON.
func (t Types) SchemaOf(of reflect.Type) (*Schema, error) {
	return t.schemaBelow(of, nil)
}

func (t Types) schemaBelow(of reflect.Type, above []reflect.Type) (*Schema, error) {
	if of.Kind() == reflect.Pointer {
		s, err := t.schemaBelow(of.Elem(), above)
		if err == nil {
			s.nullable()
		}
		return s, err
	}
	if known := t[of]; known != nil {
		s := *known
		return &s, nil
	}
	if of == reflect.TypeFor[time.Time]() {
		return &Schema{Type: "string"}, nil
	}
	if slices.Contains(above, of) {
		return nil, fmt.Errorf("type %s holds itself", of)
	}
	above = append(slices.Clip(above), of)
	s := &Schema{}
	var err error
	switch of.Kind() {
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int, reflect.Int64:
		s.Type = "integer"
	case reflect.Uint, reflect.Uint64:
		s.Type, s.Minimum = "integer", new(float64)
	case reflect.Float64:
		s.Type = "number"
	case reflect.String:
		s.Type = "string"
	case reflect.Interface:
	case reflect.Map:
		s.Type = "object"
		s.values, err = t.schemaBelow(of.Elem(), above)
	case reflect.Slice, reflect.Array:
		s.Type = "array"
		if of.Kind() == reflect.Array {
			length := of.Len()
			s.length = &length
		}
		s.items, err = t.schemaBelow(of.Elem(), above)
	case reflect.Struct:
		err = t.object(s, of, above)
	default:
		return nil, fmt.Errorf("type %s has no JSON Schema here", of)
	}
	return s, err
}

// object describes a struct with its fields, and those of its embedded structs.
func (t Types) object(s *Schema, of reflect.Type, above []reflect.Type) error {
	s.Type, s.closed, s.properties = "object", true, []property{}
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		schema, err := t.schemaBelow(f.Type, above)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		if doc := f.Tag.Get("jsonschema"); doc != "" {
			schema.Description = doc
		}
		s.properties = slices.DeleteFunc(s.properties, func(p property) bool { return p.name == name })
		s.properties = append(s.properties, property{name, schema})
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			s.required = append(s.required, name)
		}
	}
	return nil
}

// object is a JSON object of the document.
type object = map[string]any

// Types are the types whose JSON does not follow from their Go kind. The values of an enumeration here are the
// constants of its type. There is no other list: requests are checked against this one.
type Types map[reflect.Type]*Schema

// Enum is the schema of a text that can be one of the values.
func Enum[S ~string](values ...S) *Schema {
	s := &Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// Field is one field of an operation's request in the form of one JSON object.
type Field struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Fields lists the fields of the request, wherever they are in HTTP.
func (b *Binding) Fields() ([]Field, error) {
	fields := make([]Field, 0, len(b.fields))
	for _, f := range b.fields {
		schema, err := b.types.SchemaOf(f.typ)
		if err != nil {
			return nil, fmt.Errorf("describe field %s: %w", f.name, err)
		}
		if f.doc != "" {
			schema.Description = f.doc
		}
		fields = append(fields, Field{Name: f.name, Schema: schema, Required: f.required})
	}
	return fields, nil
}
