package typings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// object is the type of the objects that a schema admits.
func (c *converter) object(schema map[string]any, level int) string {
	listed, _ := schema["properties"].(map[string]any)
	var required []string
	several, _ := schema["required"].([]any)
	for _, one := range several {
		if name, ok := one.(string); ok {
			required = append(required, name)
		}
	}
	names := slices.Sorted(maps.Keys(listed))
	for _, name := range required {
		if _, there := listed[name]; !there && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxMembers {
		return anyObject
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(required, a) - place(required, b) })
	others, _ := schema["additionalProperties"].(map[string]any)
	var members []string
	for _, name := range names {
		part, there := listed[name]
		if !there {
			part = others
		}
		about := ""
		if s, ok := part.(map[string]any); ok {
			about, _ = s["description"].(string)
		}
		sign := "?:"
		if slices.Contains(required, name) {
			sign = ":"
		}
		members = append(members, comment(about)+member(memberName(name)+sign, c.typeOf(part, level+1)))
	}
	if index := c.index(schema, len(listed) > 0, len(members) > 0, level); index != "" {
		members = append(members, member("[name: string]:", typ{text: index}))
	}
	line := "{ " + strings.Join(members, "; ") + " }"
	if len(line) <= width-20 && !strings.Contains(line, "\n") {
		return line
	}
	return "{" + indented("\n"+strings.Join(members, ";\n")) + ";\n}"
}

// member is a name with its type, which may begin on a line of its own.
func member(name string, t typ) string {
	if strings.HasPrefix(t.text, "\n") {
		return name + t.text
	}
	return name + " " + t.text
}

// place orders members: first those that are required, as they are listed there.
func place(required []string, name string) int {
	if i := slices.Index(required, name); i >= 0 {
		return i
	}
	return len(required)
}

// index is the type of the members that are not listed; empty where there are none, or none are meant.
func (c *converter) index(schema map[string]any, listed, members bool, level int) string {
	others, said := schema["additionalProperties"]
	_, patterns := schema["patternProperties"].(map[string]any)
	switch {
	case others == false && !patterns && members:
		return ""
	case others == false && !patterns:
		return "never"
	case listed && !said && !patterns:
		return "" // a member that is not listed is more often misspelt than meant
	case listed || patterns || !said:
		return "any" // another type would have to fit the listed members too
	}
	if t := c.typeOf(others, level+1); t.says == something {
		return t.text
	}
	return "any"
}

// array is the type of the arrays that a schema admits.
func (c *converter) array(schema map[string]any, level int) typ {
	first, _ := schema["prefixItems"].([]any)
	rest, limited := schema["items"]
	if old, ok := rest.([]any); ok { // drafts before 2020 list the items here
		first = old
		rest, limited = schema["additionalItems"]
	}
	if !limited {
		rest = true
	}
	if len(first) == 0 || len(first) > maxChoices {
		if len(first) > 0 {
			rest = true
		}
		return typ{text: c.typeOf(rest, level+1).item() + "[]"}
	}
	least := 0
	if n, ok := schema["minItems"].(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			least = int(min(max(i, 0), maxChoices))
		}
	}
	var items []string
	for i, item := range first {
		text := c.typeOf(item, level+1)
		if i < least {
			items = append(items, text.text)
		} else {
			items = append(items, text.item()+"?")
		}
	}
	if rest != false {
		items = append(items, "..."+c.typeOf(rest, level+1).item()+"[]")
	}
	return typ{text: "[" + strings.Join(items, ", ") + "]"}
}
