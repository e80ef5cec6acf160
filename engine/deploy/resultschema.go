package deploy

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// foundMembers are what a schema lists at a place of a result.
type foundMembers struct {
	names []string
	list  bool
}

// resultAt are the schemas of what a path leads to: several where there is a choice.
type resultAt struct {
	root    any
	schemas []map[string]any
	// open tells that something else may be there.
	open bool
}

// maxResultSteps bounds how far a path is followed into a schema that refers to itself.
const maxResultSteps = 1000

// of follows a path.
func (a *resultAt) of(schema any, path []string) { a.follow(schema, path, new(int)) }

func (a *resultAt) follow(schema any, path []string, steps *int) {
	if *steps++; *steps > maxResultSteps {
		a.open = true
		return
	}
	object, ok := schema.(map[string]any)
	if !ok {
		a.open = true
		return
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if choices, ok := object[keyword].([]any); ok {
			for _, choice := range choices {
				a.follow(choice, path, steps)
			}
			return
		}
	}
	switch ref, referring := object["$ref"].(string); {
	case referring:
		a.follow(a.referred(ref), path, steps)
	case object["allOf"] != nil || object["if"] != nil:
		a.open = true
	case len(path) == 0:
		a.schemas = append(a.schemas, object)
	case path[0] == "*":
		if items, ok := object["items"]; ok && object["prefixItems"] == nil {
			a.follow(items, path[1:], steps)
			return
		}
		a.open = true
	default:
		if part, ok := property(object, path[0]); ok {
			a.follow(part, path[1:], steps)
			return
		}
		a.open = true // a warning about that member is given where it is read itself
	}
}

// referred is the part of the schema that a reference names.
func (a *resultAt) referred(ref string) any {
	at := a.root
	names, inside := strings.CutPrefix(ref, "#/")
	if !inside {
		return nil
	}
	for name := range strings.SplitSeq(names, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}

func property(schema map[string]any, name string) (any, bool) {
	properties, _ := schema["properties"].(map[string]any)
	part, ok := properties[name]
	return part, ok
}

// members are all that may be there; known tells that nothing else is.
func (a *resultAt) members() (found foundMembers, known bool) {
	if a.open || len(a.schemas) == 0 {
		return found, false
	}
	for _, schema := range a.schemas {
		types := typesOf(schema)
		if types == nil {
			return found, false
		}
		for _, of := range types {
			switch of {
			case "object":
				properties, listed := schema["properties"].(map[string]any)
				if !listed || schema["patternProperties"] != nil || schema["additionalProperties"] == true {
					return found, false
				}
				if _, described := schema["additionalProperties"].(map[string]any); described {
					return found, false
				}
				found.names = append(found.names, slices.Sorted(maps.Keys(properties))...)
			case "array":
				found.list = true
				found.names = append(found.names, sandbox.ListMembers...)
			case "string", "number", "integer", "boolean":
				return found, false // these have methods of their own, and are rarely taken for objects
			}
		}
	}
	return found, true
}

func typesOf(schema map[string]any) (types []string) {
	switch of := schema["type"].(type) {
	case string:
		return []string{of}
	case []any:
		for _, t := range of {
			if text, ok := t.(string); ok {
				types = append(types, text)
			}
		}
	}
	return types
}

// holdsAnything reports whether the schema names no type for a part of a result.
func holdsAnything(at resultAt) bool {
	return slices.ContainsFunc(at.schemas, func(s map[string]any) bool { return typesOf(s) == nil && s["enum"] == nil })
}
