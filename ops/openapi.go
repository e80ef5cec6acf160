package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pawl-run/pawl/engine/decide"
)

const openAPIPath = "/v1/openapi.json"

// object is a JSON object of the document.
type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the table, for a program of the given version.
func OpenAPI(version string) ([]byte, error) {
	b := documentBuilder{components: object{}}
	paths := object{}
	for i := range table {
		o := &table[i]
		described, err := b.operation(o)
		if err != nil {
			return nil, fmt.Errorf("describe operation %s: %w", o.ID, err)
		}
		at, ok := paths[o.Path].(object)
		if !ok {
			at = object{}
			paths[o.Path] = at
		}
		at[strings.ToLower(o.Method)] = described
	}
	for _, p := range plainTable {
		paths[p.path] = object{"get": p.described()}
	}
	document, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Pawl", "version": version,
			"description": "Durable automations: workflows, their runs, events and mutations. Every operation is also an endpoint of the NATS service `pawl`: a request to `pawl.api.<operationId>` holds one JSON object of path, query and body fields. There `readLog` answers in pages; with `follow` it waits a while for what is not there yet. Only `metrics` is not offered there.",
		},
		"paths": paths,
		"components": object{
			"schemas":         b.components,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "The token in the file http.token of the data directory."}},
		},
		"security": []any{object{"token": []any{}}},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return append(document, '\n'), nil
}

func problemResponse() object {
	return object{"description": "A problem", "content": object{problemType: object{"schema": reference("Problem")}}}
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

type documentBuilder struct{ components object }

func (b *documentBuilder) operation(o *Operation) (object, error) {
	if _, err := b.schema(reflect.TypeFor[Problem]()); err != nil {
		return nil, err
	}
	answer, err := b.schema(o.Answer)
	if err != nil {
		return nil, err
	}
	content := object{"application/json": object{"schema": answer}}
	if o.stream != nil {
		content["text/event-stream"] = object{"schema": object{"type": "string"}}
	}
	responses := object{"default": problemResponse()}
	for _, status := range o.Statuses {
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": content}
	}
	described := object{"operationId": o.ID, "summary": o.Summary, "x-pawl-role": o.Role, "responses": responses}
	if err := b.request(o, described); err != nil {
		return nil, err
	}
	return described, nil
}

func (b *documentBuilder) request(o *Operation, described object) error {
	parameters, properties, required := []any{}, object{}, []string{}
	for _, f := range o.request.fields {
		schema, err := b.schema(f.typ)
		if err != nil {
			return err
		}
		where := "query"
		switch f.in {
		case inBody:
			if f.doc != "" {
				schema = object{"allOf": []any{schema}, "description": f.doc}
			}
			properties[f.name] = schema
			if f.required {
				required = append(required, f.name)
			}
			continue
		case inPath:
			where = "path"
		case inQuery:
		}
		parameters = append(parameters, object{"name": f.name, "in": where, "required": f.required, "schema": schema, "description": f.doc})
	}
	if len(parameters) > 0 {
		described["parameters"] = parameters
	}
	if len(properties) == 0 {
		return nil
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	if whole := properties[o.request.whole]; whole != nil {
		schema = object{"oneOf": []any{schema, object{"allOf": []any{whole}, "minProperties": 1}}}
	}
	if o.ingress {
		event, err := b.schema(reflect.TypeFor[pushedEvent]())
		if err != nil {
			return err
		}
		schema = object{"oneOf": []any{event, object{"type": "array", "items": event}}}
	}
	described["requestBody"] = object{"required": len(required) > 0, "content": object{"application/json": object{"schema": schema}}}
	return nil
}

// schema describes the type, a named struct by reference to a component.
func (b *documentBuilder) schema(t reflect.Type) (any, error) {
	switch {
	case t == reflect.TypeFor[oneOrMany]():
		result, err := b.schema(reflect.TypeFor[decide.PushResult]())
		return object{"oneOf": []any{result, object{"type": "array", "items": result}}}, err
	case t == reflect.TypeFor[*logPage]():
		transition, err := b.component("Transition", reflect.TypeFor[transitionDocument](), nil)
		if err != nil {
			return nil, err
		}
		return b.page("Transition", transition, "where the next page begins, as `from` takes it; null where the log ends and nobody follows it")
	case t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() && t != reflect.TypeFor[rawJSON]():
		items, err := b.schema(t.Elem())
		return object{"type": "array", "items": items}, err
	case t.Kind() != reflect.Struct || t.Name() == "":
		return inlineSchema(t)
	}
	if items, ok := t.FieldByName("Items"); ok && strings.HasPrefix(t.Name(), "Page[") {
		item, err := b.schema(items.Type.Elem())
		if err != nil {
			return nil, err
		}
		return b.page(exportedName(items.Type.Elem()), item, "the cursor of the next page, null on the last")
	}
	return b.component(exportedName(t), t, nil)
}

// page describes a part of a list.
func (b *documentBuilder) page(name string, item any, next string) (any, error) {
	return b.component(name+"Page", nil, object{
		"type": "object", "required": []string{"items", "next"}, "additionalProperties": false,
		"properties": object{
			"items": object{"type": "array", "items": item},
			"next":  object{"type": []string{"string", "null"}, "description": next},
		},
	})
}

func (b *documentBuilder) component(name string, t reflect.Type, schema any) (any, error) {
	if _, known := b.components[name]; !known {
		if schema == nil {
			var err error
			if schema, err = inlineSchema(t); err != nil {
				return nil, err
			}
		}
		b.components[name] = schema
	}
	return reference(name), nil
}

// exportedName names a type's component: connectorView is a Connector.
func exportedName(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "View")
	return strings.ToUpper(name[:1]) + name[1:]
}

// inlineSchema describes the type without references.
func inlineSchema(t reflect.Type) (*jsonschema.Schema, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: knownSchemas})
	if err != nil {
		return nil, err
	}
	settle(schema)
	return schema, nil
}

// settle corrects what Go types cannot say: lists are never null here, and an enumeration that may
// be null lists null.
func settle(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	if slices.Contains(s.Types, "null") && len(s.Enum) > 0 {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
	for _, property := range s.Properties {
		settle(property)
	}
	settle(s.Items)
	settle(s.AdditionalProperties)
}
