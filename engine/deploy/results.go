package deploy

import (
	"encoding/json"
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
