package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// fitting checks a partly known value against a schema. It looks at a part of the schema only where the whole requires
// that part, and reports only what is wrong whatever the unknown rest of the value is.
type fitting struct {
	*ParamSchema
	found []Violation
}

func (f *fitting) value(schema *jsonschema.Schema, w *Partial, at []string, depth int) {
	if f.steps--; w.Kind == "" || depth > maxSchemaDepth || f.steps < 0 {
		return
	}
	found := len(f.found)
	switch {
	case schema.Bool != nil:
		if !*schema.Bool {
			f.report(at, "remove it", at, &kind.FalseSchema{})
		}
		return
	case schema.Types != nil && !fits(schema.Types.ToStrings(), w.Kind):
		want := schema.Types.ToStrings()
		value := scalar(w, want[0])
		fix := "write " + sample(at, want[0])
		if value != "" {
			fix = "write " + named(at, value)
		}
		f.report(at, fix, at, &kind.Type{Got: w.Kind, Want: want})
		if last := f.last(at); last != nil {
			last.Write = value
		}
		return
	}
	if schema.Ref != nil {
		f.value(schema.Ref, w, at, depth+1)
	}
	for _, part := range schema.AllOf {
		f.value(part, w, at, depth+1)
	}
	switch w.Kind {
	case "object":
		f.object(schema, w, at, depth)
	case "array":
		f.array(schema, w, at, depth)
	}
	if len(f.found) > found {
		return // the rest may follow from it
	}
	if value, complete := complete(w); complete {
		if problems := ParamProblems(at, f.validate(schema, value)); problems != nil {
			f.add(at, "", problems...)
		}
	}
}

func (f *fitting) object(schema *jsonschema.Schema, w *Partial, at []string, depth int) {
	written := make([]string, 0, len(w.Members))
	for i := range w.Members {
		written = append(written, w.Members[i].Name)
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	if !w.Open {
		var missing, fixes []string
		for _, name := range schema.Required {
			if !slices.Contains(written, name) {
				missing, fixes = append(missing, name),
					append(fixes, addMember(name, schema.Properties[name], strangers(written, known)))
			}
		}
		if missing != nil {
			strange := strangers(written, known)
			from, to := "", missing[0]
			if len(missing) == 1 && len(strange) == 1 && f.mayBe(schema, w, strange[0], to) {
				from = strange[0] // the one unknown member is meant to be the one that is missing
				fixes[0] = fmt.Sprintf("rename %s to %s", eventlog.ClipText(from), eventlog.ClipText(to))
			} else if near := similar.Names(to, strange, 1); len(missing) == 1 && len(near) > 0 {
				from = near[0]
			}
			f.report(at, strings.Join(fixes, "; "), at, &kind.Required{Missing: missing})
			if last := f.last(at); last != nil && from != "" {
				last.Rename, last.To = from, to
			}
		}
	}
	for i := range w.Members {
		m := &w.Members[i]
		inside := slices.Concat(at, []string{m.Name})
		part, listed := schema.Properties[m.Name]
		if listed {
			f.value(part, &m.Value, inside, depth+1)
		}
		for pattern, part := range schema.PatternProperties {
			if f.matches(pattern, m.Name) {
				listed = true
				f.value(part, &m.Value, inside, depth+1)
			}
		}
		switch others := schema.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			if !listed {
				f.value(others, &m.Value, inside, depth+1)
			}
		case bool:
			if !listed && !others && (m.Value.Kind != "" || !w.Open) {
				f.stranger(schema, w, m, at)
			}
		}
	}
}

// stranger reports a member that the schema does not list. Whatever its value is, the member has another name here or
// has to go. A member whose value is not known may be undefined, and then it is not sent.
func (f *fitting) stranger(schema *jsonschema.Schema, w *Partial, m *PartialMember, at []string) {
	written := make([]string, 0, len(w.Members))
	for i := range w.Members {
		written = append(written, w.Members[i].Name)
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	free := strangers(known, written)
	missing := slices.DeleteFunc(slices.Clone(schema.Required), func(name string) bool {
		return !slices.Contains(free, name)
	})
	fix, to := "remove it", ""
	if len(known) > 0 {
		fix = fmt.Sprintf("remove it; %s.%s takes %s here", f.connector, f.operation,
			eventlog.ClipText(strings.Join(known, ", ")))
	}
	if elsewhere := nameHere(m.Name, free); elsewhere != "" {
		to = elsewhere
	} else if near := similar.Names(m.Name, free, 1); len(near) > 0 {
		to = near[0]
	} else if len(missing) == 1 && len(strangers(written, known)) == 1 && f.mayBe(schema, w, m.Name, missing[0]) {
		to = missing[0]
	}
	if to != "" {
		fix = fmt.Sprintf("rename %s to %s", eventlog.ClipText(m.Name), eventlog.ClipText(to))
	}
	inside := slices.Concat(at, []string{m.Name})
	f.report(inside, fix, at, &kind.AdditionalProperties{Properties: []string{m.Name}})
	if last := f.last(inside); last != nil {
		last.Perhaps, last.Drop = m.Value.Kind == "", to == ""
		if to != "" {
			last.Rename, last.To = m.Name, to
		}
	}
}

// mayBe reports whether a member that the schema does not allow can be meant by the name of another one.
func (f *fitting) mayBe(schema *jsonschema.Schema, w *Partial, member, name string) bool {
	if others, isBool := schema.AdditionalProperties.(bool); !isBool || others {
		return false
	}
	part := schema.Properties[name]
	if part == nil || part.Types == nil {
		return true
	}
	i := slices.IndexFunc(w.Members, func(m PartialMember) bool { return m.Name == member })
	return i >= 0 && (w.Members[i].Value.Kind == "" || fits(part.Types.ToStrings(), w.Members[i].Value.Kind))
}

func (f *fitting) array(schema *jsonschema.Schema, w *Partial, at []string, depth int) {
	for i := range w.Items {
		var part *jsonschema.Schema
		switch items := schema.Items.(type) { // as drafts before 2020 have it
		case *jsonschema.Schema:
			part = items
		case []*jsonschema.Schema:
			if i < len(items) {
				part = items[i]
			} else if rest, ok := schema.AdditionalItems.(*jsonschema.Schema); ok {
				part = rest
			}
		}
		if i < len(schema.PrefixItems) {
			part = schema.PrefixItems[i]
		} else if schema.Items2020 != nil {
			part = schema.Items2020
		}
		if part != nil {
			f.value(part, &w.Items[i], slices.Concat(at, []string{strconv.Itoa(i)}), depth+1)
		}
	}
}

// scalar is the JSON of a scalar in another type that says the same, empty for none.
func scalar(w *Partial, want string) string {
	if len(w.Value) == 0 {
		return ""
	}
	switch {
	case want == "string" && (w.Kind == "number" || w.Kind == "boolean"):
		return strconv.Quote(string(w.Value))
	case (want == "number" || want == "integer" || want == "boolean") && w.Kind == "string":
		var text string
		if json.Unmarshal(w.Value, &text) != nil {
			return ""
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return ""
		}
		_, number := value.(float64)
		if _, flag := value.(bool); want == "boolean" && flag || want != "boolean" && number {
			return text
		}
	}
	return ""
}

// last is what was just reported at a location, nil if it had been before.
func (f *fitting) last(where []string) *Violation {
	if len(f.found) == 0 || !slices.Equal(f.found[len(f.found)-1].Where, where) {
		return nil
	}
	return &f.found[len(f.found)-1]
}

// validate checks a fully known value against a part of the schema, as far as there are steps for it: what is not found
// here is found by the call.
func (f *fitting) validate(part *jsonschema.Schema, value any) error {
	if bounded(value, maxValueLevels) != nil {
		return nil
	}
	f.schema.turn <- struct{}{}
	defer func() { <-f.schema.turn }()
	m := f.schema.meter
	err := m.run(context.Background(), part, value, f.steps)
	f.steps = m.left
	return err
}

// matches tries a pattern of the schema on a name.
func (f *fitting) matches(re jsonschema.Regexp, name string) bool {
	counted, ok := re.(pattern)
	if !ok {
		return false
	}
	f.steps -= counted.cost(name)
	return f.steps > 0 && counted.Regexp.MatchString(name)
}

func fits(types []string, of string) bool {
	return slices.Contains(types, of) || of == "number" && slices.Contains(types, "integer")
}

// report says what is wrong at a location, about the value or member there is: where.
func (f *fitting) report(where []string, fix string, at []string, what jsonschema.ErrorKind) {
	f.add(where, fix, ParamProblem(at, what))
}

// add reports each problem once, even where several parts of the schema find it.
func (f *fitting) add(where []string, fix string, problems ...string) {
	if len(f.found) == maxViolations {
		return
	}
	m := Violation{Where: where, Message: UnfitParams(f.connector, f.operation, problems), Fix: fix}
	if !slices.ContainsFunc(f.found, func(o Violation) bool {
		return o.Message == m.Message && slices.Equal(o.Where, m.Where)
	}) {
		f.found = append(f.found, m)
	}
}

// A schema that refers to itself would go on forever, or into ever more branches.
const (
	maxSchemaDepth = 200
	maxSchemaSteps = 1_000_000
)

// maxViolations bounds what is said about one call: more would not be read.
const maxViolations = 20
