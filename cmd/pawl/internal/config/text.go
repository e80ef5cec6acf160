package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/schedule"
)

// configText is a configuration file as it is written. It is checked against the types before it is decoded into them:
// the decoder rounds and converts values, and its errors name types of Go.
type configText struct {
	path    string
	anchors map[string]ast.Node
	places  map[string]*token.Position // of each key's value, by the key with dots
}

// readText checks the text against the type and notes the places of all keys. The text is empty when no document in it
// has content.
func readText(path string, text []byte, into reflect.Type) (c *configText, empty bool, err error) {
	c = &configText{path: path, anchors: map[string]ast.Node{}, places: map[string]*token.Position{}}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return c, false, exit.Misconfigured("correct the file", "%s", configFault(path, err))
	}
	var bodies []ast.Node
	for _, document := range file.Docs {
		if document.Body != nil {
			bodies = append(bodies, document.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return c, true, nil
	case 1:
		return c, false, c.check(bodies[0], into, "")
	}
	return c, false, c.fault(bodies[1], "put everything into one document", "a second YAML document begins here")
}

// configFault is the text of a mistake that the library has found, with its place as file:line:column.
func configFault(path string, err error) string {
	if located, ok := err.(yaml.Error); ok && located.GetToken() != nil {
		at := located.GetToken().Position
		return fmt.Sprintf("%s:%d:%d: %s", path, at.Line, at.Column, located.GetMessage())
	}
	return fmt.Sprintf("%s: %v", path, err)
}

func (c *configText) fault(at ast.Node, hint, format string, args ...any) error {
	p := at.GetToken().Position
	return exit.Misconfigured(hint, "%s:%d:%d: %s", c.path, p.Line, p.Column, fmt.Sprintf(format, args...))
}

// place is the place of the key's value; where the key is not written, that of the nearest key above it which is.
func (c *configText) place(key string) string {
	if at, ok := c.written(key); ok {
		return at
	}
	return c.path
}

// written is place, and whether the key or a key above it is written.
func (c *configText) written(key string) (place string, ok bool) {
	for at := key; at != ""; {
		if p, ok := c.places[at]; ok {
			return fmt.Sprintf("%s:%d:%d", c.path, p.Line, p.Column), true
		}
		at = at[:max(0, strings.LastIndexByte(at, '.'))]
	}
	return "", false
}

// check checks a value against the type. A key without a value counts as not set.
func (c *configText) check(node ast.Node, t reflect.Type, key string) error {
	if _, noted := c.places[key]; !noted {
		c.places[key] = node.GetToken().Position
	}
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.TagNode:
		return c.check(n.Value, t, key)
	case *ast.AnchorNode:
		err := c.check(n.Value, t, key)
		c.anchors[n.Name.GetToken().Value] = n.Value // only aliases behind it find it, so no value holds itself
		return err
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if target, ok := c.anchors[name]; ok {
			return c.check(target, t, key)
		}
		return c.fault(n, "", "%s: there is no anchor &%s before this", key, name)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t != sizeType && t != durationType && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		return c.checkKeys(node, t, key)
	default:
		if want := wanted(node, t); want != "" {
			return c.fault(node, "", "%s: want %s, found %s", key, want, found(node))
		}
		return nil
	}
}

// checkKeys checks a mapping against a struct, whose keys are known, or a map.
func (c *configText) checkKeys(node ast.Node, t reflect.Type, key string) error {
	mapping, ok := node.(ast.MapNode)
	if !ok {
		return c.fault(node, "cmd/pawl/CONFIG.md shows how", "%s: want keys with values, found %s", cmp.Or(key, "the file"),
			found(node))
	}
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = yamlFields(t)
	}
	for entry := mapping.MapRange(); entry.Next(); {
		if entry.Key().IsMergeKey() {
			if err := c.check(entry.Value(), t, key); err != nil {
				return err
			}
			continue
		}
		name := scalar(entry.Key())
		value := t
		switch {
		case fields == nil:
			value = t.Elem()
		case fields[name] == nil:
			return c.fault(entry.Key(), "known keys: "+strings.Join(slices.Sorted(maps.Keys(fields)), ", "),
				"there is no key %q here", name)
		case key != "" && t == reflect.TypeFor[File](): // t is a profile
			if name == "profiles" {
				return c.fault(entry.Key(), "write them beside each other", "%s: a profile holds no profiles", key)
			}
			fallthrough
		default:
			value = fields[name]
		}
		if err := c.check(entry.Value(), value, strings.TrimPrefix(key+"."+name, ".")); err != nil {
			return err
		}
	}
	return nil
}

// yamlFields are the keys of a struct with their types.
func yamlFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[schedule.Size]()
	valuesType   = reflect.TypeFor[values]()
)

// wanted says which scalars the type admits; empty if the value is one of them.
func wanted(node ast.Node, t reflect.Type) string {
	switch {
	case t == valuesType:
		if node.Type() != ast.StringType && node.Type() != ast.SequenceType {
			return "${env:NAME} or ${file:PATH}, or a list of them"
		}
	case t == durationType:
		if _, err := time.ParseDuration(scalar(node)); err != nil || node.Type() == ast.IntegerType {
			return "a duration such as 500ms, 10s or 5m"
		}
	case t == sizeType:
		if err := new(schedule.Size).UnmarshalText([]byte(scalar(node))); err != nil {
			return "a size such as 128MiB, 256KiB or 4096"
		}
	case t.Kind() == reflect.Int:
		if _, err := strconv.Atoi(scalar(node)); err != nil || node.Type() != ast.IntegerType {
			return "a whole number"
		}
	case t.Kind() == reflect.Float64:
		_, err := strconv.ParseFloat(strings.TrimPrefix(scalar(node), "."), 64) // as in .inf
		if err != nil && node.Type() != ast.IntegerType && node.Type() != ast.FloatType {
			return "a number"
		}
	case t.Kind() == reflect.Bool:
		if node.Type() != ast.BoolType {
			return "true or false"
		}
	case t.Kind() == reflect.String:
		n, err := strconv.Atoi(scalar(node))
		switch {
		case node.Type() == ast.StringType, node.Type() == ast.LiteralType:
		case node.Type() == ast.IntegerType && err == nil && strconv.Itoa(n) == scalar(node):
		default:
			return "text (in quotes, if it looks like something else)"
		}
	}
	return ""
}

// scalar is the text of a scalar as it is written, without quotes; empty for anything else.
func scalar(node ast.Node) string {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case ast.ScalarNode:
		return n.GetToken().Value
	}
	return ""
}

// found describes a value.
func found(node ast.Node) string {
	switch n := node.(type) {
	case ast.MapNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return strconv.Quote(term.OneLine(n.Value, 80))
	}
	return term.OneLine(cmp.Or(scalar(node), node.Type().YAMLName()), 80)
}

// values are references to the values of one secret: one value, or several while the secret is being replaced.
type values []string

// UnmarshalYAML takes a text or a list of them.
func (v *values) UnmarshalYAML(decode func(any) error) error {
	var several []string
	if err := decode(&several); err == nil {
		*v = several
		return nil
	}
	var one string
	err := decode(&one)
	*v = values{one}
	return err
}
