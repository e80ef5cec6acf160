package typings

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/sandbox"
)

// Connector is what scripts may call, as an engine lists it.
type Connector struct {
	Name       string
	Operations []Operation
}

// Operation is one operation of a connector.
type Operation struct {
	Name string
	// Kind is list, get or mutate.
	Kind    string
	Summary string
	// Schema and Result are the JSON schemas of the parameters and of the result; empty where nothing is said.
	Schema, Result json.RawMessage
}

// Of lists what the registry offers now.
func Of(registry *connector.Registry) []Connector {
	var all []Connector
	for _, name := range registry.Names() {
		c, ok := registry.Connector(name)
		if !ok {
			continue // it went away meanwhile
		}
		one := Connector{Name: name}
		for _, op := range c.Operations() {
			one.Operations = append(one.Operations, Operation{Name: op.Name, Kind: string(op.Kind), Summary: op.Summary,
				Schema: op.Schema, Result: op.Result})
		}
		all = append(all, one)
	}
	return all
}

// word is the form of the names of connectors and operations.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// Declare returns the declarations of scripts with those of the connectors. A connector or operation with an invalid
// name or kind is left out.
func Declare(connectors []Connector) string {
	var out strings.Builder
	out.WriteString(sandbox.Typings)
	taken := make(map[string]bool)
	for _, c := range connectors {
		if word.MatchString(c.Name) {
			out.WriteString(declared(c, taken))
		}
	}
	return out.String()
}

// declared is the part of one connector; taken are the names of types so far.
func declared(c Connector, taken map[string]bool) string {
	var operations, named strings.Builder
	for _, op := range c.Operations {
		if !word.MatchString(op.Name) || op.Kind != "list" && op.Kind != "get" && op.Kind != "mutate" {
			continue
		}
		stem := capital(c.Name) + capital(op.Name)
		params := newConverter(op.Schema, stem+"Params", false, taken)
		result := newConverter(op.Result, stem+"Result", true, taken)
		operations.WriteString(comment(op.Summary))
		operations.WriteString(method(op, params.parameter(), result.whole()))
		named.WriteString(params.declarations())
		named.WriteString(result.declarations())
	}
	return fmt.Sprintf("\ninterface PawlConnectors {\n  readonly %s: {%s\n  };\n}\n%s", c.Name,
		indented(indented("\n"+strings.TrimSuffix(operations.String(), "\n"))), named.String())
}

// method is an operation as a member of its connector, under the name of its kind.
func method(op Operation, parameter, result string) string {
	const room = width - 4 // the member is indented twice
	line := fmt.Sprintf("%s(%s): Promise<%s>", op.Kind, parameter, result)
	if whole := fmt.Sprintf("readonly %s: { %s };\n", op.Name, line); fits(whole, room) {
		return whole
	}
	if !fits(line+";", room-2) {
		line = fmt.Sprintf("%s(%s): Promise<\n  %s\n>", op.Kind, parameter, indented(result))
	}
	return fmt.Sprintf("readonly %s: {\n  %s;\n};\n", op.Name, indented(line))
}

// fits says whether no line of the text is longer than columns.
func fits(text string, columns int) bool {
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
			return false
		}
	}
	return true
}

// whole is the type of the schema.
func (c *converter) whole() string { return c.typeOf(c.document, 0).text }

// parameter is the parameter of a function that takes what the schema describes: one object, which may be left out
// where nothing in it is required.
func (c *converter) parameter() string {
	schema, _ := c.document.(map[string]any)
	whole := c.typeOf(c.document, 0)
	if whole.says == nothing {
		return "params?: object"
	}
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "const"} {
		if _, there := schema[keyword]; there {
			return "params: " + whole.text
		}
	}
	if required, _ := schema["required"].([]any); schema == nil || len(required) > 0 {
		return "params: " + whole.text
	}
	return "params?: " + whole.text
}

// declarations are the types that the schema refers to by a name.
func (c *converter) declarations() string {
	var out strings.Builder
	for i := 0; i < len(c.order); i++ { // the declaration of one type may add another one to the order
		pointer := c.order[i]
		body := unknown
		if part, found := c.at(pointer); found && !c.circular(pointer) {
			body = c.typeOf(part, 0).text
		}
		fmt.Fprintf(&out, "type %s = %s;\n", c.names[pointer], body)
	}
	return out.String()
}
