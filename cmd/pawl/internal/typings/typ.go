package typings

import (
	"slices"
	"strings"
)

// says is how much a schema says of a value, as far as a type can.
type says int

const (
	something says = iota
	// nothing: every value fits.
	nothing
	// unclear: it says something that no type expresses.
	unclear
)

// typ is the text of a type.
type typ struct {
	text string
	says says
	// sign is what joins the text: "|" for a union, "&" for an intersection, otherwise nothing.
	sign string
}

// item is the text as the type of an item.
func (t typ) item() string { return t.within("") }

// within is the text as a part of what a sign joins.
func (t typ) within(sign string) string {
	if t.sign != "" && t.sign != sign {
		return "(" + t.text + ")"
	}
	return t.text
}

// typeOf is the type of the values that a schema admits.
func (c *converter) typeOf(schema any, level int) typ {
	if c.left--; c.left < 0 || level > maxLevels {
		return typ{text: unknown, says: unclear}
	}
	switch s := schema.(type) {
	case bool:
		if s {
			return typ{text: c.anything, says: nothing}
		}
		return typ{text: "never"}
	case map[string]any:
		return c.typeOfObject(s, level)
	}
	return typ{text: unknown, says: unclear}
}

func (c *converter) typeOfObject(schema map[string]any, level int) typ {
	if reference, ok := schema["$ref"].(string); ok {
		return c.named(reference)
	}
	all := []typ{c.own(schema, level)}
	several, _ := schema["allOf"].([]any)
	for _, one := range several {
		all = append(all, c.typeOf(one, level+1))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if choices, ok := schema[keyword].([]any); ok {
			all = append(all, c.oneOf(choices, level))
		}
	}
	blurred := slices.ContainsFunc(all, func(t typ) bool { return t.says == unclear })
	for _, keyword := range []string{"not", "if", "$dynamicRef", "$recursiveRef"} {
		_, there := schema[keyword]
		blurred = blurred || there
	}
	all = slices.DeleteFunc(all, func(t typ) bool { return t.says != something })
	switch {
	case len(all) > 0:
		return joined(all, "&")
	case blurred:
		return typ{text: unknown, says: unclear}
	}
	return typ{text: c.anything, says: nothing}
}

// oneOf is the type of values that fit one of the schemas at least.
func (c *converter) oneOf(schemas []any, level int) typ {
	var all []typ
	for _, schema := range schemas {
		t := c.typeOf(schema, level+1)
		if t.says != something {
			return t
		}
		if t.text != "never" {
			all = append(all, t)
		}
	}
	switch {
	case len(all) == 0:
		return typ{text: "never"}
	case len(all) > maxChoices:
		return typ{text: unknown, says: unclear}
	}
	return joined(all, "|")
}

// joined is a union or an intersection of types.
func joined(all []typ, sign string) typ {
	var texts []string
	for _, t := range all {
		if text := t.within(sign); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 {
		return all[0]
	}
	text := strings.Join(texts, " "+sign+" ")
	if len(text) > width-20 && !strings.HasPrefix(text, "\n") {
		text = "\n  " + sign + " " + indented(strings.Join(texts, "\n"+sign+" "))
	}
	return typ{text: text, sign: sign}
}
