package typings

import "encoding/json"

// own is what a schema says of a value by its type, its constant or its list of values.
func (c *converter) own(schema map[string]any, level int) typ {
	if value, there := schema["const"]; there {
		return c.literal(value)
	}
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 {
		kinds := make([]typ, 0, len(values))
		for _, value := range values {
			t := c.literal(value)
			if len(values) > maxChoices {
				t = kindOf(value)
			}
			kinds = append(kinds, t)
		}
		return joined(kinds, "|")
	}
	var names []string
	switch kind := schema["type"].(type) {
	case string:
		names = []string{kind}
	case []any:
		for _, one := range kind {
			name, _ := one.(string)
			names = append(names, name)
		}
	default:
		names = implied(schema)
	}
	var all []typ
	for _, name := range names {
		switch name {
		case "object":
			all = append(all, typ{text: c.object(schema, level)})
		case "array":
			all = append(all, c.array(schema, level))
		case "integer", "number":
			all = append(all, typ{text: "number"})
		case "string", "boolean", "null":
			all = append(all, typ{text: name})
		default:
			return typ{text: unknown, says: unclear}
		}
	}
	if len(all) == 0 {
		return typ{text: c.anything, says: nothing}
	}
	return joined(all, "|")
}

// implied is the type that a schema without one has by its other keywords.
func implied(schema map[string]any) []string {
	for _, keyword := range []string{"properties", "additionalProperties", "patternProperties"} {
		if _, there := schema[keyword]; there {
			return []string{"object"}
		}
	}
	for _, keyword := range []string{"items", "prefixItems"} {
		if _, there := schema[keyword]; there {
			return []string{"array"}
		}
	}
	return nil
}

// literal is the type of one value.
func (c *converter) literal(value any) typ {
	c.left--
	switch value := value.(type) {
	case nil:
		return typ{text: "null"}
	case bool:
		if value {
			return typ{text: "true"}
		}
		return typ{text: "false"}
	case string:
		if len(value) <= maxText {
			return typ{text: quoted(value)}
		}
	case json.Number:
		if text, ok := numeral(value); ok {
			return typ{text: text}
		}
	}
	return kindOf(value)
}

// kindOf is the type of all values of the same kind.
func kindOf(value any) typ {
	switch value.(type) {
	case nil:
		return typ{text: "null"}
	case bool:
		return typ{text: "boolean"}
	case string:
		return typ{text: "string"}
	case json.Number:
		return typ{text: "number"}
	case []any:
		return typ{text: "any[]"}
	}
	return typ{text: anyObject}
}
