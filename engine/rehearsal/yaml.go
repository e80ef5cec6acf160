package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// translate writes a test file of the YAML form as one of the TypeScript form, line by line.
func translate(text string) (string, error) {
	body, err := documentOf(text)
	if err != nil {
		return "", err
	}
	members, err := mappingOf(body, "the file", []string{"cases", "tools", "vars"})
	if err != nil {
		return "", err
	}
	cases, ok := members["cases"].(ast.MapNode)
	if !ok {
		return "", faultAt(body, "the file has no cases: write them below the key cases, each as a list of steps")
	}
	out := &lineWriter{now: 1}
	out.add(1, "export default Pawl.tests({")
	for entry := cases.MapRange(); entry.Next(); {
		name, err := nameOf(entry.Key())
		if err != nil {
			return "", err
		}
		steps, ok := entry.Value().(*ast.SequenceNode)
		if !ok {
			return "", faultAt(entry.Key(), "the case %s must be a list of steps, each behind a dash", name)
		}
		out.add(lineAt(entry.Key()), "["+quoted(name)+"](t) {")
		for _, step := range steps.Values {
			call, err := callOf(step)
			if err != nil {
				return "", err
			}
			out.add(lineAt(step), "t."+call+";")
		}
		out.add(out.now, "},")
	}
	out.add(out.now, "}, {")
	for _, option := range []string{"tools", "vars"} {
		if members[option] == nil {
			continue
		}
		value, err := argument(members[option])
		if err != nil {
			return "", err
		}
		out.add(lineAt(members[option]), option+": "+value+",")
	}
	out.add(out.now, "});")
	return out.String() + "\n", nil
}

// documentOf is what the file holds.
func documentOf(text string) (ast.Node, error) {
	if err := BoundYAML(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, located(err)
	}
	var found ast.Node
	for _, document := range file.Docs {
		switch {
		case document.Body == nil:
		case found != nil:
			return nil, faultAt(document.Body, "a second YAML document begins here: put all cases into one")
		default:
			found = document.Body
		}
	}
	if found == nil {
		return nil, &ReadError{Message: "the file is empty: write cases below the key cases, each as a list of steps"}
	}
	return found, nil
}

// located is an error of the library with its line.
func located(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return &ReadError{Line: at.GetToken().Position.Line, Message: "this is no YAML: " + at.GetMessage()}
	}
	return &ReadError{Message: fmt.Sprintf("this is no YAML: %v", err)}
}

// mappingOf are the values of a mapping by their keys, which must be known ones.
func mappingOf(node ast.Node, what string, known []string) (map[string]ast.Node, error) {
	mapping, ok := node.(ast.MapNode)
	if !ok {
		return nil, faultAt(node, "%s must be keys with values", what)
	}
	members := map[string]ast.Node{}
	for entry := mapping.MapRange(); entry.Next(); {
		name, err := nameOf(entry.Key())
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, name) {
			return nil, faultAt(entry.Key(), "%s has no key %s; it has %s", what, quoted(name), strings.Join(known, ", "))
		}
		members[name] = entry.Value()
	}
	return members, nil
}

// argument writes a value as JavaScript. Lists and objects are parsed from JSON, where a key such as __proto__ is a key
// like any other.
func argument(node ast.Node) (string, error) {
	var text strings.Builder
	if err := writeJSON(&text, node); err != nil {
		return "", err
	}
	switch node.(type) {
	case ast.MapNode, *ast.SequenceNode:
		return "JSON.parse(" + quoted(text.String()) + ")", nil
	}
	return text.String(), nil
}

// writeJSON writes a value as JSON, its members in their order.
func writeJSON(out *strings.Builder, node ast.Node) error {
	switch n := node.(type) {
	case *ast.NullNode:
		out.WriteString("null")
	case *ast.StringNode:
		out.WriteString(quoted(n.Value))
	case *ast.LiteralNode:
		out.WriteString(quoted(n.Value.Value))
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		text, err := json.Marshal(node.(ast.ScalarNode).GetValue())
		if err != nil {
			return faultAt(node, "this value cannot be written as JSON: %v", err)
		}
		out.Write(text)
	case *ast.SequenceNode:
		out.WriteString("[")
		for i, item := range n.Values {
			if i > 0 {
				out.WriteString(",")
			}
			if err := writeJSON(out, item); err != nil {
				return err
			}
		}
		out.WriteString("]")
	case ast.MapNode:
		out.WriteString("{")
		separator := ""
		for entry := n.MapRange(); entry.Next(); {
			name, err := nameOf(entry.Key())
			if err != nil {
				return err
			}
			out.WriteString(separator + quoted(name) + ":")
			if err := writeJSON(out, entry.Value()); err != nil {
				return err
			}
			separator = ","
		}
		out.WriteString("}")
	default:
		return faultAt(node, "anchors, aliases, tags, NaN and infinite numbers have no place in tests: write the value here")
	}
	return nil
}

// nameOf is a key.
func nameOf(key ast.MapKeyNode) (string, error) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return key.GetToken().Value, nil
	}
	return "", faultAt(key, "a key must be a text")
}

// faultAt is what the author of a test file has to correct at the node.
func faultAt(node ast.Node, format string, args ...any) error {
	return &ReadError{Line: lineAt(node), Message: fmt.Sprintf(format, args...)}
}

// lineAt is where a node begins: a mapping's own token is the first colon in it.
func lineAt(node ast.Node) int {
	if mapping, ok := node.(ast.MapNode); ok {
		if entry := mapping.MapRange(); entry.Next() {
			return entry.Key().GetToken().Position.Line
		}
	}
	return node.GetToken().Position.Line
}

func quoted(text string) string {
	written, err := json.Marshal(text)
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return string(written)
}

// lineWriter writes text at given lines.
type lineWriter struct {
	strings.Builder
	now int
}

// add writes at a line, or at the present one where that has passed.
func (l *lineWriter) add(line int, text string) {
	for ; l.now < line; l.now++ {
		l.WriteByte('\n')
	}
	l.WriteString(text)
}
