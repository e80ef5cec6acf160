package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pawl-run/pawl/engine/connector"
)

// The bounds of the schemas of one operation; what is beyond them accepts anything.
const (
	maxDepth = 12
	maxParts = 2000
)

// shapes writes schemas of a description as JSON Schema, each reference in its place.
type shapes struct {
	parts int
	open  []*openapi3.Schema // those that are being written: one that comes again is recursive
}

// of writes a schema. What a request must not hold is no part of it where sent is true.
func (s *shapes) of(ref *openapi3.SchemaRef, sent bool) map[string]any {
	s.parts++
	if ref == nil || ref.Value == nil || s.parts > maxParts || len(s.open) > maxDepth ||
		slices.Contains(s.open, ref.Value) {
		return map[string]any{}
	}
	schema := ref.Value
	s.open = append(s.open, schema)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	made := map[string]any{}
	if kinds := schema.Type.Slice(); len(kinds) > 0 {
		if schema.Nullable && !slices.Contains(kinds, "null") {
			kinds = append(slices.Clone(kinds), "null")
		}
		made["type"] = kinds
	}
	if schema.Description != "" {
		made["description"] = schema.Description
	}
	if len(schema.Enum) > 0 {
		values := slices.Clone(schema.Enum)
		if schema.Nullable && !slices.Contains(values, any(nil)) {
			values = append(values, nil)
		}
		made["enum"] = values
	}
	for name, bound := range map[string]*float64{"minimum": schema.Min, "maximum": schema.Max} {
		if bound != nil {
			made[name] = *bound
		}
	}
	if schema.MinLength > 0 {
		made["minLength"] = schema.MinLength
	}
	if schema.MaxLength != nil {
		made["maxLength"] = *schema.MaxLength
	}
	if schema.MinItems > 0 {
		made["minItems"] = schema.MinItems
	}
	if schema.MaxItems != nil {
		made["maxItems"] = *schema.MaxItems
	}
	if schema.Items != nil {
		made["items"] = s.of(schema.Items, sent)
	}
	s.members(schema, made, sent)
	s.combined(schema, made, sent)
	return made
}

// combined writes what a schema is made of. A oneOf becomes an anyOf: the service says which of them it is, and a part
// whose schema is left open here would fit several.
func (s *shapes) combined(schema *openapi3.Schema, made map[string]any, sent bool) {
	var all []any
	for _, one := range schema.AllOf {
		all = append(all, s.of(one, sent))
	}
	for _, choice := range []openapi3.SchemaRefs{schema.AnyOf, schema.OneOf} {
		var list []any
		for _, one := range choice {
			list = append(list, s.of(one, sent))
		}
		if len(list) > 0 {
			all = append(all, map[string]any{"anyOf": list})
		}
	}
	if len(all) > 0 {
		made["allOf"] = all
	}
}

// members writes what an object has.
func (s *shapes) members(schema *openapi3.Schema, made map[string]any, sent bool) {
	required := slices.Clone(schema.Required)
	if len(schema.Properties) > 0 {
		properties := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			property := schema.Properties[name]
			if property != nil && property.Value != nil &&
				(sent && property.Value.ReadOnly || !sent && property.Value.WriteOnly) {
				required = slices.DeleteFunc(required, func(r string) bool { return r == name })
				continue
			}
			properties[name] = s.of(property, sent)
		}
		made["properties"] = properties
	}
	if len(required) > 0 {
		made["required"] = required
	}
	switch more := schema.AdditionalProperties; {
	case more.Has != nil && !*more.Has:
		made["additionalProperties"] = false
	case more.Schema != nil:
		made["additionalProperties"] = s.of(more.Schema, sent)
	}
}

// resultOf is the schema of what an operation answers: that of the http connector, with the body that the description
// gives its first success.
func resultOf(o *openapi3.Operation, shapes *shapes) map[string]any {
	body := map[string]any{}
	if o.Responses != nil {
		for _, status := range slices.Sorted(maps.Keys(o.Responses.Map())) {
			answer := o.Responses.Value(status)
			if !strings.HasPrefix(status, "2") || answer == nil || answer.Value == nil {
				continue
			}
			if media := jsonOf(answer.Value.Content); media != nil {
				body = shapes.of(media.Schema, false)
			}
			break
		}
	}
	return map[string]any{"type": "object", "required": []string{"status", "headers", "body"},
		"properties": map[string]any{"status": map[string]any{"type": "integer"}, "body": body,
			"headers": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}}}
}

// jsonOf is what a content has as JSON, nil for none.
func jsonOf(content openapi3.Content) *openapi3.MediaType {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		kind, _, _ := strings.Cut(name, ";")
		if kind = strings.TrimSpace(kind); kind == "application/json" || strings.HasSuffix(kind, "+json") {
			return content[name]
		}
	}
	return nil
}

func schemaText(schema map[string]any) (json.RawMessage, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("write its schema: %w", err)
	}
	_, err = connector.CompileSchema(text)
	return text, err
}
