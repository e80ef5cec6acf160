package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What one check of a value against a schema may cost. A schema comes from a tool, and the nesting of a few
// references makes a check exponential: one step is counted before each check of a part of the value against a part of
// the schema.
const (
	// baseSteps and stepsPerPart, for each part of the value, bound the steps.
	baseSteps    = 50_000
	stepsPerPart = 32
	// checkTime bounds a check whose steps take longer than they should. It is far beyond what an honest check takes,
	// also on a busy machine, since an honest check must not fail there.
	checkTime = 10 * time.Second
	// lookEvery is how many steps there are between two looks at the clock.
	lookEvery = 256
	// stringStep is how many bytes of a string cost a step.
	stringStep = 64
)

// errCostly says that a check was given up because the schema makes it too expensive.
var errCostly = errors.New("the schema takes too much work to check this value")

// meter counts what a check costs. It belongs to one compiled schema, which one check at a time uses.
type meter struct {
	ctx   context.Context
	left  int
	until time.Time
	looks int
}

// stopped is the panic value that ends a check: the library has no other way to stop.
type stopped struct{ error }

func (m *meter) charge(steps int) {
	m.left -= steps
	m.looks -= steps
	if m.left < 0 {
		panic(stopped{errCostly})
	}
	if m.looks > 0 {
		return
	}
	m.looks = lookEvery
	if err := m.ctx.Err(); err != nil {
		panic(stopped{err})
	}
	if time.Now().After(m.until) {
		panic(stopped{errCostly})
	}
}

// run validates a value within so many steps.
func (m *meter) run(ctx context.Context, schema *jsonschema.Schema, value any, steps int) (err error) {
	*m = meter{ctx: ctx, left: steps, until: time.Now().Add(checkTime), looks: lookEvery}
	defer func() {
		if p := recover(); p != nil {
			why, ours := p.(stopped)
			if !ours {
				panic(p)
			}
			err = why.error
		}
	}()
	return schema.Validate(value)
}

// parts counts the parts of a value; long strings count as several.
func parts(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			n += len(name)/stringStep + parts(member)
		}
	case []any:
		for _, item := range value {
			n += parts(item)
		}
	case string:
		n += len(value) / stringStep
	}
	return n
}

// cost is what one check of a part of a value against a part of a schema costs.
type cost struct {
	// itself is paid when the part's turn comes. values is paid before that, by the part that leads to it: the values
	// that the part must equal are compared first.
	itself, values int
}

// install makes each part of a compiled schema count before it leads to other parts. A format is checked before
// anything that leads to other parts, so the count is made with the format.
func (m *meter) install(all map[*jsonschema.Schema]cost) {
	dearest := 0
	for _, c := range all {
		dearest = max(dearest, c.values)
	}
	for schema, c := range all {
		before := schema.Format
		once, each := c.itself, 1
		for _, part := range inPlace(schema) {
			once += all[part].values
		}
		if schema.DynamicRef != nil || schema.RecursiveRef != nil {
			once += dearest // where they lead depends on the way here
		}
		for _, part := range onEach(schema) {
			each += all[part].values
		}
		counting := &jsonschema.Format{Validate: func(value any) error {
			steps := once
			switch value := value.(type) {
			case map[string]any:
				steps += each * len(value)
				for name := range value {
					steps += all[schema.Properties[name]].values
				}
			case []any:
				steps += each * len(value)
				if schema.UniqueItems {
					steps += uniqueCost * parts(value)
				}
			case string:
				steps += len(value) / stringStep
			}
			m.charge(steps)
			if before != nil {
				return before.Validate(value)
			}
			return nil
		}}
		if before != nil {
			counting.Name = before.Name
		}
		schema.Format = counting
	}
}

// inPlace are the parts that check the same value, or one member or item of it.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems, []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then,
		s.Else, s.ContentSchema})
	for _, part := range s.DependentSchemas {
		list = append(list, part)
	}
	for _, part := range s.Dependencies {
		if part, ok := part.(*jsonschema.Schema); ok {
			list = append(list, part)
		}
	}
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		list = append(list, items...)
	}
	return list
}

// onEach are the parts that check each member or item of a value.
func onEach(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.Items2020, s.Contains, s.UnevaluatedProperties, s.UnevaluatedItems}
	for _, part := range s.PatternProperties {
		list = append(list, part)
	}
	for _, part := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		if part, ok := part.(*jsonschema.Schema); ok {
			list = append(list, part)
		}
	}
	return list
}

// uniqueCost is how often the parts of an array are looked at to find equal items.
const uniqueCost = 4

// costOf is what a part of a schema costs by its own keywords.
func costOf(schema map[string]any) cost {
	c := cost{itself: 1}
	for keyword, value := range schema {
		switch value := value.(type) {
		case map[string]any:
			if keyword != "properties" && keyword != "$defs" && keyword != "definitions" { // those are looked up
				c.itself += len(value)
			}
		case []any:
			c.itself += len(value) / cheap
		}
		if keyword == "enum" || keyword == "const" {
			c.values += 1 + comparisons(value)/cheap
		}
	}
	return c
}

// cheap is how many comparisons cost a step.
const cheap = 16

// comparisons counts what it takes to compare with a value; numbers are compared exactly, which is expensive.
func comparisons(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			n += comparisons(member)
		}
	case []any:
		for _, item := range value {
			n += comparisons(item)
		}
	case json.Number:
		n = cheap
	case string:
		n += len(value) / stringStep
	}
	return n
}

// maxPattern bounds a compiled pattern, in instructions: each may be tried at each byte of a string. maxPatternText
// bounds its text, in bytes: a few of them can stand for a thousand instructions, which compiling has in memory.
const (
	maxPattern     = 2000
	maxPatternText = 4 << 10
)

// pattern is a regular expression that counts what it costs.
type pattern struct {
	*regexp.Regexp
	meter *meter
	size  int
}

// compile reads a pattern.
func (m *meter) compile(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPatternText {
		return nil, fmt.Errorf("the pattern is too long: %d bytes, at most %d are allowed", len(text), maxPatternText)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxPattern {
		return nil, fmt.Errorf("the pattern is too big: %d instructions, at most %d are allowed", len(program.Inst),
			maxPattern)
	}
	return pattern{Regexp: re, meter: m, size: len(program.Inst)}, nil
}

func (p pattern) cost(s string) int { return 1 + p.size*(len(s)+1)/stringStep }

// MatchString implements [jsonschema.Regexp].
func (p pattern) MatchString(s string) bool {
	p.meter.charge(p.cost(s))
	return p.Regexp.MatchString(s)
}
