package connector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parameter is one parameter of an operation, described for a person.
type Parameter struct {
	Name string
	// Type says what it can be, with its values and bounds.
	Type     string
	Required bool
	// Means is what its schema says of it in words, empty for nothing.
	Means string
}

// Parameters are the parameters that a schema names, the required ones first. Whatever cannot be described in words is
// shown as "any JSON value".
func Parameters(schema json.RawMessage) []Parameter {
	whole := described(schema)
	place := func(p Parameter) int {
		if i := slices.Index(whole.Required, p.Name); i >= 0 {
			return i
		}
		return len(whole.Required)
	}
	var all []Parameter
	for _, name := range slices.Sorted(maps.Keys(whole.Properties)) {
		of := described(whole.Properties[name])
		all = append(all, Parameter{Name: name, Type: of.text(0), Required: slices.Contains(whole.Required, name),
			Means: cmp.Or(of.Description, of.Title)})
	}
	slices.SortStableFunc(all, func(a, b Parameter) int { return cmp.Compare(place(a), place(b)) })
	return all
}

// description holds the keywords of a JSON Schema that are described.
type description struct {
	Title                string                     `json:"title"`
	Description          string                     `json:"description"`
	Type                 any                        `json:"type"`
	Enum                 []any                      `json:"enum"`
	AnyOf                []json.RawMessage          `json:"anyOf"`
	OneOf                []json.RawMessage          `json:"oneOf"`
	Items                json.RawMessage            `json:"items"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	MinLength            int                        `json:"minLength"`
	MaxLength            int                        `json:"maxLength"`
	MinItems             int                        `json:"minItems"`
	MaxItems             int                        `json:"maxItems"`
	Minimum              *float64                   `json:"minimum"`
	Maximum              *float64                   `json:"maximum"`
}

// described reads a schema as far as it can: schemas come from connectors in any language, and `true` is a schema, too.
func described(schema json.RawMessage) (d description) {
	_ = json.Unmarshal(schema, &d) // a keyword of the wrong type is left out
	return d
}

// maxDescribedDepth bounds how deep a schema is described, maxDescribedParts how many values or parts of it are listed.
const (
	maxDescribedDepth = 4
	maxDescribedParts = 20
)

// text says in words what a value of the schema can be, at a depth inside another.
func (d *description) text(depth int) string {
	if depth > maxDescribedDepth {
		return "any JSON value"
	}
	var parts []string
	switch kind := d.Type.(type) {
	case string:
		parts = append(parts, kind)
	case []any:
		for _, k := range kind {
			parts = append(parts, fmt.Sprint(k))
		}
	}
	for _, value := range d.Enum {
		shown, isText := value.(string)
		if encoded, err := json.Marshal(value); !isText && err == nil {
			shown = string(encoded)
		}
		parts = append(parts, "`"+shown+"`")
	}
	for _, one := range slices.Concat(d.AnyOf, d.OneOf) {
		of := described(one)
		parts = append(parts, of.text(depth+1))
	}
	if more := len(parts) - maxDescribedParts; more > 0 {
		parts = append(parts[:maxDescribedParts], fmt.Sprintf("%d more", more))
	}
	text := cmp.Or(strings.Join(parts, " or "), "any JSON value")
	if len(d.Items) > 0 {
		of := described(d.Items)
		text += " of " + of.text(depth+1)
	}
	if len(d.AdditionalProperties) > 0 && d.AdditionalProperties[0] == '{' {
		of := described(d.AdditionalProperties)
		text += " with values of " + of.text(depth+1)
	}
	return text + d.bounds()
}

// bounds says how large a value may be.
func (d *description) bounds() string {
	text := ""
	if d.MaxLength > 0 {
		text += fmt.Sprintf(", at most %d characters", d.MaxLength)
	}
	if d.MaxItems > 0 {
		text += fmt.Sprintf(", at most %d entries", d.MaxItems)
	}
	if d.MinLength > 0 || d.MinItems > 0 {
		text += ", not empty"
	}
	number := func(n *float64) string { return strconv.FormatFloat(*n, 'f', -1, 64) }
	switch {
	case d.Minimum != nil && d.Maximum != nil:
		text += " from " + number(d.Minimum) + " to " + number(d.Maximum)
	case d.Minimum != nil:
		text += " from " + number(d.Minimum)
	}
	return text
}
