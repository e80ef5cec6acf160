package deploy

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// results warns where a script reads a member of an operation's result that the schema of the result does not list
// among its members. Where a schema lists no members, nothing is said.
func (c *check) results() {
	if c.in.Catalog == nil {
		return
	}
	schemas := make(map[string]any)
	for i := range c.in.Definition.Results {
		r := &c.in.Definition.Results[i]
		if len(c.found) > maxFound {
			return
		}
		name, operation, ok := c.resultOf(r)
		if !ok {
			continue
		}
		capability := name + "." + operation
		schema, read := schemas[capability]
		if !read {
			op, _ := c.in.Catalog.Operation(name, operation)
			if json.Unmarshal(op.Result, &schema) != nil {
				schema = nil
			}
			schemas[capability] = schema
		}
		at := resultAt{root: schema}
		at.of(schema, r.Path)
		if found, known := at.members(); known && !slices.Contains(found.names, r.Name) {
			c.resultUnknown(r, name, operation, schema, found)
		}
	}
}

// resultOf is the operation whose result is read: for the outcome of a mutation, the only one that the mutate of the
// consumer calls.
func (c *check) resultOf(r *sandbox.ResultRead) (name, operation string, ok bool) {
	if r.Handler == "" {
		return r.Connector, r.Operation, true
	}
	for _, call := range c.in.Definition.MutateCalls {
		if call.Handler != r.Handler {
			continue
		}
		op, known := c.in.Catalog.Operation(call.Connector, call.Operation)
		if known && op.Kind != connector.Mutate {
			continue
		}
		if !known || ok && (call.Connector != name || call.Operation != operation) {
			return "", "", false
		}
		name, operation, ok = call.Connector, call.Operation, true
	}
	return name, operation, ok
}

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

// usualPlaces are the names that well-known libraries give a member of a result, with the name that it has here.
var usualPlaces = map[string]string{"data": "body", "json": "body", "text": "body", "payload": "body",
	"statusCode": "status", "code": "status", "items": "entries", "files": "entries", "results": "entries",
	"messages": "mails", "emails": "mails",
	"mail": "mails", "cursor": "next", "nextCursor": "next", "body": "content"}

// resultUnknown says that a result has no such member, and where a member of that name, or the one that was meant, is.
func (c *check) resultUnknown(r *sandbox.ResultRead, name, operation string, schema any, found foundMembers) {
	full := "ctx." + eventlog.ClipName(name) + "." + eventlog.ClipName(operation)
	member := eventlog.ClipName(r.Name)
	where := "the result of " + full
	if len(r.Path) > 0 {
		where = strings.ReplaceAll(strings.Join(r.Path, "."), "*", "[…]") + " of " + where
	}
	fix, edit := "", sandbox.Edit{}
	names := found.names
	if found.list {
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
			return slices.Contains(sandbox.ListMembers, n)
		})
	}
	switch inside := insideOf(schema, r, found); {
	case inside != "":
		fix = "did you mean " + strings.Join(append(shown(r.Path), inside, member), ".") + "?"
		if r.Pattern {
			edit = c.amend().Nest(r.Place, r.Name, inside)
		} else {
			edit = c.amend().Path(r.Place, r.Name, inside)
		}
	case found.list:
		fix = "it is a list: take an element of it, or go over all of them"
	default:
		if usual := usualPlaces[r.Name]; slices.Contains(names, usual) {
			fix, edit = "write "+usual, c.amend().Rename(r.Place, r.Name, usual)
		} else if near := similar.Meant(r.Name, names); near != "" {
			fix, edit = "write "+near, c.amend().Rename(r.Place, r.Name, near)
		}
	}
	has := "it is a list"
	if !found.list {
		has = "it has " + list(names)
	}
	c.warn(CodeResult, fix, "%s has no %s; %s", where, member, has)
	c.at(r.Place)
	c.edit(edit)
	if fix == "" {
		c.hint(hint.Connector, eventlog.ClipName(name))
	}
}

func shown(path []string) (names []string) {
	for _, name := range path {
		if _, err := strconv.Atoi(name); err == nil || name == "*" {
			name = "[…]"
		}
		names = append(names, eventlog.ClipName(name))
	}
	return names
}

// insideOf is the member inside of which the taken member is, or may be: the only member that lists it, else the only
// member that may hold anything, such as the body of an answer.
func insideOf(schema any, r *sandbox.ResultRead, found foundMembers) string {
	if found.list || slices.Contains(found.names, usualPlaces[r.Name]) {
		return ""
	}
	listed, anything := "", ""
	for _, name := range found.names {
		at := resultAt{root: schema}
		at.of(schema, append(slices.Clone(r.Path), name))
		members, known := at.members()
		switch {
		case known && slices.Contains(members.names, r.Name) && !members.list:
			if listed != "" {
				return ""
			}
			listed = name
		case !known && holdsAnything(at):
			if anything != "" {
				anything = "-"
				continue
			}
			anything = name
		}
	}
	if listed != "" {
		return listed
	}
	if anything == "-" || len(similar.Names(r.Name, found.names, 1)) > 0 {
		return ""
	}
	return anything
}

// holdsAnything reports whether the schema names no type for a part of a result.
func holdsAnything(at resultAt) bool {
	return slices.ContainsFunc(at.schemas, func(s map[string]any) bool { return typesOf(s) == nil && s["enum"] == nil })
}
