package typings

import (
	"slices"
	"strconv"
	"strings"
)

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

// named is the type that a reference leads to. It gets a name, since a schema may refer to itself.
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

// circular says that a part consists of itself alone, which no type can express.
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
