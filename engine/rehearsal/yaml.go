package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// sentence is how a step stands in the YAML form: its name with its first argument, and the keys beside it.
type sentence struct {
	// alone steps have no first argument, optional ones may have one.
	alone, optional bool
	// second is the key of the second argument; spread makes the items of its list arguments of their own.
	second string
	spread bool
	// members are the keys that together are the second argument.
	members []string
}

// sentences are all steps.
var sentences = map[string]sentence{
	"clock":  {},
	"state":  {second: "value"},
	"grants": {},

	"answer":   {members: []string{"with", "result", "fails", "lost", "times"}},
	"fail":     {second: "fails"},
	"recorded": {second: "case"},

	"push": {second: "events"},
	"hook": {members: []string{"method", "query", "headers", "contentType", "body", "unsigned", "refused",
		"answers"}},
	"poll":    {alone: true},
	"run":     {optional: true},
	"advance": {},
	"crash":   {optional: true},
	"approve": {alone: true},
	"reject":  {alone: true},
	"resolve": {second: "result"},
	"resume":  {alone: true},
	"skip":    {second: "ids", spread: true},
	"redrive": {second: "ids", spread: true},

	"expectCall":    {second: "params"},
	"expectNoCalls": {alone: true},
	"expectEvents":  {second: "events"},
	"expectState":   {second: "value"},
	"expectWaiting": {members: []string{"code", "message", "line"}},
	"expectLog":     {},
}

// keys are those that may stand beside the step.
func (s sentence) keys() []string {
	if s.second != "" {
		return []string{s.second}
	}
	return s.members
}

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
	if err := boundYAML(text); err != nil {
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

// callOf writes one step as a call of the builder.
func callOf(step ast.Node) (string, error) {
	if word, ok := step.(*ast.StringNode); ok {
		how, known := sentences[word.Value]
		switch {
		case !known:
			return "", unknownStep(step, word.Value)
		case !how.alone && !how.optional:
			return "", faultAt(step, "%s says of what: write %s: and its value", word.Value, word.Value)
		}
		return word.Value + "()", nil
	}
	mapping, ok := step.(ast.MapNode)
	if !ok {
		return "", faultAt(step, "a step is a name such as run, or a key with a value such as push: TOPIC")
	}
	verb, how, other := "", sentence{}, ""
	for entry := mapping.MapRange(); entry.Next(); {
		name, err := nameOf(entry.Key())
		if err != nil {
			return "", err
		}
		known, ok := sentences[name]
		switch {
		case ok && verb != "":
			return "", faultAt(entry.Key(), "%s and %s are two steps: write a dash before each", verb, name)
		case ok:
			verb, how = name, known
		case other == "":
			other = name
		}
	}
	if verb == "" {
		return "", unknownStep(step, other)
	}
	members, err := mappingOf(step, "the step "+verb, append([]string{verb}, how.keys()...))
	if err != nil {
		return "", err
	}
	arguments, err := how.arguments(step, verb, members)
	if err != nil {
		return "", err
	}
	return verb + "(" + strings.Join(arguments, ", ") + ")", nil
}

// arguments are those of the call.
func (s sentence) arguments(step ast.Node, verb string, members map[string]ast.Node) ([]string, error) {
	_, empty := members[verb].(*ast.NullNode)
	switch {
	case s.alone && !empty:
		return nil, faultAt(step, "%s takes no value", verb)
	case s.alone, s.optional && empty:
		return nil, nil
	}
	first, err := argument(members[verb])
	if err != nil {
		return nil, err
	}
	arguments := []string{first}
	if list, ok := members[s.second].(*ast.SequenceNode); ok && s.spread {
		for _, item := range list.Values {
			value, err := argument(item)
			if err != nil {
				return nil, err
			}
			arguments = append(arguments, value)
		}
		return arguments, nil
	}
	if second := members[s.second]; second != nil {
		value, err := argument(second)
		if err != nil {
			return nil, err
		}
		return append(arguments, value), nil
	}
	var parts []string
	for _, name := range s.members {
		if members[name] == nil {
			continue
		}
		value, err := argument(members[name])
		if err != nil {
			return nil, err
		}
		parts = append(parts, name+": "+value)
	}
	if len(parts) > 0 || verb == string(DoAnswer) {
		arguments = append(arguments, "{ "+strings.Join(parts, ", ")+" }")
	}
	return arguments, nil
}

func unknownStep(at ast.Node, name string) error {
	return faultAt(at, "there is no step %s; there are %s", quoted(name),
		strings.Join(slices.Sorted(maps.Keys(sentences)), ", "))
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

// argument writes a value as JavaScript: JSON, which is parsed as such so that a key is never more than a key.
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
