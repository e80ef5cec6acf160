package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// calls refuses calls whose parameters, as they are written, cannot fit the operation's schema: the call
// would end the run in the same words. What the text does not show is left to the call.
func (c *check) calls() {
	schemas := make(map[string]*jsonschema.Schema)
	for i := range c.in.Definition.Calls {
		call := &c.in.Definition.Calls[i]
		pin, ok := c.accepted.Operation(call.Connector, call.Operation)
		if !ok {
			continue
		}
		schema, compiled := schemas[pin.Capability()]
		if !compiled {
			schema = usableSchema(pin)
			schemas[pin.Capability()] = schema
		}
		if schema != nil {
			p := params{check: c, call: call, said: make(map[string]bool)}
			p.value(schema, &call.Params, nil, 0)
		}
	}
}

// usableSchema is nil for a schema that does not compile, which its calls report, and for one whose parts
// mean something else apart from the whole.
func usableSchema(pin eventlog.Operation) *jsonschema.Schema {
	for _, dynamic := range []string{`"$dynamicRef"`, `"$recursiveRef"`} {
		if bytes.Contains(pin.Schema, []byte(dynamic)) {
			return nil
		}
	}
	schema, err := connector.CompileSchema(json.RawMessage(pin.Schema))
	if err != nil {
		return nil
	}
	return schema
}

// params holds the written parameters of one call against a schema. A part of a schema is looked at only
// where the whole requires it, and about a part of a value only what holds whatever the rest may be.
type params struct {
	*check
	call  *sandbox.WrittenCall
	said  map[string]bool
	found int
	steps int
}

// A schema that refers to itself would go on forever, or into ever more branches.
const (
	maxSchemaDepth = 200
	maxSchemaSteps = 100_000
)

func (p *params) value(schema *jsonschema.Schema, w *sandbox.Written, at []string, depth int) {
	if p.steps++; w.Kind == "" || depth > maxSchemaDepth || p.steps > maxSchemaSteps {
		return
	}
	found := p.found
	switch {
	case schema.Bool != nil:
		if !*schema.Bool {
			p.report(w, "remove it", at, &kind.FalseSchema{})
		}
		return
	case schema.Types != nil && !fits(schema.Types.ToStrings(), w.Kind):
		want := schema.Types.ToStrings()
		p.report(w, "write "+sample(at, want[0]), at, &kind.Type{Got: string(w.Kind), Want: want})
		return
	}
	if schema.Ref != nil {
		p.value(schema.Ref, w, at, depth+1)
	}
	for _, part := range schema.AllOf {
		p.value(part, w, at, depth+1)
	}
	switch w.Kind {
	case sandbox.WrittenObject:
		p.object(schema, w, at, depth)
	case sandbox.WrittenArray:
		p.array(schema, w, at, depth)
	}
	if p.found > found {
		return // the rest may follow from it
	}
	if value, complete := complete(w); complete {
		if problems := connector.ParamProblems(at, schema.Validate(value)); problems != nil {
			p.add(w, p.lookUpFix(), problems...)
		}
	}
}

func fits(types []string, of sandbox.WrittenKind) bool {
	return slices.Contains(types, string(of)) || of == sandbox.WrittenNumber && slices.Contains(types, "integer")
}

func (p *params) object(schema *jsonschema.Schema, w *sandbox.Written, at []string, depth int) {
	written := make([]string, 0, len(w.Members))
	for i := range w.Members {
		written = append(written, w.Members[i].Name)
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	if !w.Open {
		var missing, fixes []string
		for _, name := range schema.Required {
			if !slices.Contains(written, name) {
				missing, fixes = append(missing, name), append(fixes, addMember(name, schema.Properties[name], strangers(written, known)))
			}
		}
		if missing != nil {
			p.report(w, strings.Join(fixes, "; "), at, &kind.Required{Missing: missing})
		}
	}
	for i := range w.Members {
		m := &w.Members[i]
		inside := slices.Concat(at, []string{m.Name})
		part, listed := schema.Properties[m.Name]
		if listed {
			p.value(part, &m.Value, inside, depth+1)
		}
		for pattern, part := range schema.PatternProperties {
			if pattern.MatchString(m.Name) {
				listed = true
				p.value(part, &m.Value, inside, depth+1)
			}
		}
		switch others := schema.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			if !listed {
				p.value(others, &m.Value, inside, depth+1)
			}
		case bool:
			if !listed && !others && m.Value.Kind != "" {
				fix := "remove it; " + p.call.Connector + "." + p.call.Operation + " takes " + list(known) + " here"
				if near := similar.Names(m.Name, strangers(known, written), 1); len(near) > 0 {
					fix = fmt.Sprintf("rename %s to %s", clip(m.Name), clip(near[0]))
				}
				p.report(&m.Value, fix, at, &kind.AdditionalProperties{Properties: []string{m.Name}})
			}
		}
	}
}

func (p *params) array(schema *jsonschema.Schema, w *sandbox.Written, at []string, depth int) {
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
			p.value(part, &w.Items[i], slices.Concat(at, []string{strconv.Itoa(i)}), depth+1)
		}
	}
}

// strangers are the names that are not among the others.
func strangers(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func (p *params) report(w *sandbox.Written, fix string, at []string, what jsonschema.ErrorKind) {
	p.add(w, fix, connector.ParamProblem(at, what))
}

// add says what is wrong with a value, once.
func (p *params) add(w *sandbox.Written, fix string, problems ...string) {
	p.found++
	message := connector.UnfitParams(p.call.Connector, p.call.Operation, problems)
	key := fmt.Sprintf("%d:%d %s", w.Line, w.Column, message)
	if p.said[key] {
		return
	}
	p.said[key] = true
	p.refuse(connector.CodeParams, fix, "%s", message)
	p.at(w.Place)
}

func (p *params) lookUpFix() string {
	return "see what it takes: pawl connectors show " + p.call.Connector
}

func addMember(name string, schema *jsonschema.Schema, strange []string) string {
	if near := similar.Names(name, strange, 1); len(near) > 0 {
		return fmt.Sprintf("rename %s to %s", clip(near[0]), clip(name))
	}
	want := ""
	if schema != nil && schema.Types != nil {
		want = schema.Types.ToStrings()[0]
	}
	return "add " + sample([]string{clip(name)}, want)
}

// sample shows how a value of a type is written, with its name where it has one.
func sample(at []string, of string) string {
	value := map[string]string{"string": `"…"`, "number": "1", "integer": "1", "boolean": "true", "null": "null", "array": "[…]", "object": "{ … }"}[of]
	if value == "" {
		value = "…"
	}
	if len(at) == 0 {
		return value
	}
	name := at[len(at)-1]
	if _, err := strconv.Atoi(name); err == nil {
		return value
	}
	return clip(name) + ": " + value
}

// complete is the value if all of it is written.
func complete(w *sandbox.Written) (any, bool) {
	switch w.Kind {
	case sandbox.WrittenNull:
		return nil, true
	case sandbox.WrittenObject:
		object := make(map[string]any, len(w.Members))
		for i := range w.Members {
			value, ok := complete(&w.Members[i].Value)
			if !ok {
				return nil, false
			}
			object[w.Members[i].Name] = value
		}
		return object, !w.Open
	case sandbox.WrittenArray:
		items := make([]any, len(w.Items))
		for i := range w.Items {
			value, ok := complete(&w.Items[i])
			if !ok {
				return nil, false
			}
			items[i] = value
		}
		return items, !w.Open
	}
	if len(w.Value) == 0 {
		return nil, false
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Value))
	return value, err == nil
}
