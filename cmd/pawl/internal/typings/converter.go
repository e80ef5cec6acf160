package typings

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// These constants bound the declarations of one schema. What exceeds them is `unknown`.
const (
	maxLevels  = 20
	maxParts   = 1500
	maxNamed   = 100
	maxMembers = 200
	maxChoices = 60
)

// unknown is the type for values that no type can express.
const unknown = "unknown"

// anyObject is the type of an object of which nothing is known. Its members are `any`: with another type for them an
// interface, which has no index signature, would not fit.
const anyObject = "{ [name: string]: any }"

// converter turns one schema into a type.
type converter struct {
	document any
	// stem begins the names of the types that the schema refers to.
	stem string
	// anything is the type of values that the schema does not describe.
	anything string
	// names are the names of types by the references to them; order lists the references in the order of their
	// declarations.
	names map[string]string
	order []string
	taken map[string]bool
	// relative says that references within the document may be meant relative to a part of it.
	relative bool
	left     int
}

// newConverter reads a schema. A schema that cannot be read counts as one that says nothing.
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

// hasOwnBase says that a part of the schema, not the whole, has an id of its own.
func hasOwnBase(value any, whole bool) bool {
	switch value := value.(type) {
	case map[string]any:
		if _, named := value["$id"].(string); named && !whole {
			return true
		}
		for _, part := range value {
			if hasOwnBase(part, false) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return hasOwnBase(item, false) })
	}
	return false
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

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_]`)
