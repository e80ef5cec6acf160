package rpc

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Components collects the schemas of named types that the document refers to.
type Components struct {
	schemas object
	types   Types
}

// Schema describes the type, a named struct by reference to a component.
func (b *Components) Schema(t reflect.Type) (any, error) {
	switch {
	case t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() && t != reflect.TypeFor[RawJSON]():
		items, err := b.Schema(t.Elem())
		return object{"type": "array", "items": items}, err
	case t.Kind() != reflect.Struct || t.Name() == "":
		return b.types.SchemaOf(t)
	}
	if items, ok := t.FieldByName("Items"); ok && strings.HasPrefix(t.Name(), "Page[") {
		item, err := b.Schema(items.Type.Elem())
		if err != nil {
			return nil, err
		}
		return b.Page(exportedName(items.Type.Elem()), item, "the cursor of the next page, null on the last")
	}
	return b.Component(exportedName(t), t, nil)
}

// Page describes a part of a list.
func (b *Components) Page(name string, item any, next string) (any, error) {
	return b.Component(name+"Page", nil, object{
		"type": "object", "required": []string{"items", "next"}, "additionalProperties": false,
		"properties": object{
			"items": object{"type": "array", "items": item},
			"next":  object{"type": []string{"string", "null"}, "description": next},
			"reached": object{"type": "string",
				"description": "where a page has stopped to look because of `scan`, a time; of the newest part of the log " +
					"where it begins, which `before` takes"},
		},
	})
}

// Component adds a schema under the name, that of the type where none is given, and refers to it.
func (b *Components) Component(name string, t reflect.Type, schema any) (any, error) {
	if _, known := b.schemas[name]; !known {
		if schema == nil {
			var err error
			if schema, err = b.types.SchemaOf(t); err != nil {
				return nil, err
			}
		}
		b.schemas[name] = schema
	}
	return reference(name), nil
}

// OneOrMany is the schema of one item or an array of them.
func OneOrMany(item any) any {
	return object{"oneOf": []any{item, object{"type": "array", "items": item}}}
}

// exportedName names a type's component: connectorView is a Connector.
func exportedName(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "View")
	return strings.ToUpper(name[:1]) + name[1:]
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }
