package typings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is written for one schema. What lies beyond is `unknown`.
const (
	maxLevels  = 20
	maxParts   = 1500
	maxNamed   = 100
	maxMembers = 200
	maxChoices = 60
)

// unknown is the type of what cannot be expressed.
const unknown = "unknown"

// converter turns one schema into a type.
type converter struct {
	document any
	// stem begins the names of the types that the schema refers to.
	stem string
	// anything is the type of what nothing describes.
	anything string
	// names are the types by what refers to them, in the order in which they are to be declared.
	names map[string]string
	order []string
	taken map[string]bool
	// relative says that references within the document may be meant relative to a part of it.
	relative bool
	left     int
}

// newConverter reads a schema; one that cannot be read is one that says nothing.
func newConverter(schema json.RawMessage, stem string, result bool, taken map[string]bool) *converter {
	c := &converter{stem: stem, anything: unknown, names: make(map[string]string), taken: taken, left: maxParts}
	if result {
		c.anything = "any"
	}
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	if err := decoder.Decode(&c.document); err != nil || c.document == nil {
		c.document = true
	}
	c.relative = hasOwnBase(c.document, true)
	return c
}

// hasOwnBase says that a part of the schema, not the whole, names itself.
func hasOwnBase(value any, whole bool) bool {
	switch value := value.(type) {
	case map[string]any:
		if _, named := value["$id"].(string); named && !whole {
			return true
		}
		for _, member := range value {
			if hasOwnBase(member, false) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return hasOwnBase(item, false) })
	}
	return false
}

// whole is the type of the schema.
func (c *converter) whole() string { return c.typeOf(c.document, 0).text }

// parameter is how a function takes what the schema describes: as one object, which may be left out where nothing in it
// is required.
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
	for i := 0; i < len(c.order); i++ { // declaring one may name another
		pointer := c.order[i]
		body := unknown
		if part, found := c.at(pointer); found && !c.circular(pointer) {
			body = c.typeOf(part, 0).text
		}
		fmt.Fprintf(&out, "type %s = %s;\n", c.names[pointer], body)
	}
	return out.String()
}

// at is the part of the document that a reference leads to.
func (c *converter) at(reference string) (any, bool) {
	path, ok := strings.CutPrefix(reference, "#")
	if !ok || path != "" && path[0] != '/' || c.relative {
		return nil, false
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, false
	}
	part := c.document
	if path == "" {
		return part, true
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch inside := part.(type) {
		case map[string]any:
			if part, ok = inside[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(inside) {
				return nil, false
			}
			part = inside[i]
		default:
			return nil, false
		}
	}
	return part, true
}

// named is the type of what a reference leads to, by a name of its own: a schema may refer to itself.
func (c *converter) named(reference string) typ {
	if _, found := c.at(reference); !found {
		return typ{text: unknown, says: unclear}
	}
	name := c.names[reference]
	if name == "" {
		if len(c.order) == maxNamed {
			return typ{text: unknown, says: unclear}
		}
		last := notInNames.ReplaceAllString(reference[strings.LastIndexAny(reference, "#/")+1:], "")
		if last == "" {
			last = "Itself"
		}
		stem := c.stem + capital(last)
		name = stem
		for n := 2; c.taken[name]; n++ {
			name = stem + strconv.Itoa(n)
		}
		c.names[reference], c.taken[name] = name, true
		c.order = append(c.order, reference)
	}
	return typ{text: name, says: something}
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_]`)

// circular says that a part is, without anything around it, itself again: no type can be.
func (c *converter) circular(reference string) bool {
	seen := map[string]bool{}
	ahead := []string{reference}
	for len(ahead) > 0 {
		part, _ := c.at(ahead[len(ahead)-1])
		ahead = ahead[:len(ahead)-1]
		for _, next := range equated(part, nil) {
			if next == reference {
				return true
			}
			if !seen[next] {
				seen[next] = true
				ahead = append(ahead, next)
			}
		}
	}
	return false
}

// equated are the references that a part consists of, not counting those of its members and items.
func equated(part any, found []string) []string {
	schema, ok := part.(map[string]any)
	if !ok {
		return found
	}
	if reference, refers := schema["$ref"].(string); refers {
		return append(found, reference)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		several, _ := schema[keyword].([]any)
		for _, one := range several {
			found = equated(one, found)
		}
	}
	return found
}
