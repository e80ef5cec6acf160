package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// anyObject is the schema of an operation that names none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// schemaURL names a schema inside its compiler; nothing is ever loaded from it.
const schemaURL = "pawl:params"

// maxSchemaProblems bounds how many problems one failure lists.
const maxSchemaProblems = 5

var english = message.NewPrinter(language.English)

// noLoader refuses every reference that leaves a schema: schemas come from connectors in any
// language, and the library's own loader would open files.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: a schema may only refer to itself", url)
}

// Bounds of a schema: a tool sends any schema it likes, so nothing else bounds it.
const (
	maxSchemaBytes  = 256 << 10
	maxSchemaParts  = 20_000
	maxSchemaLevels = 100
	// maxNumber bounds a number, in characters, and maxExponent its exponent: numbers are compared exactly,
	// and 1e999999999 would be written out.
	maxNumber   = 1000
	maxExponent = 1000
	// maxValueLevels bounds the depth of a value that is checked.
	maxValueLevels = 1000
)

// Schema is a JSON Schema that checks values at a bounded cost. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	meter    *meter
	// turn is held by the check that uses the meter.
	turn chan struct{}
}

// CompileSchema compiles the JSON Schema of an operation's parameters; empty accepts any object.
// It reads nothing but its argument. It fails for a schema that is malformed, too large or too deep.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = anyObject
	}
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("read JSON Schema: it has %d bytes, at most %d are allowed", len(raw), maxSchemaBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	if err := bounded(doc, maxSchemaLevels); err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	if n := parts(doc); n > maxSchemaParts {
		return nil, fmt.Errorf("read JSON Schema: it has %d parts, at most %d are allowed", n, maxSchemaParts)
	}
	s := &Schema{meter: &meter{}, turn: make(chan struct{}, 1)}
	// The schema is compiled twice. The first time, as it stands, shows whether it is a schema. The second time uses a
	// vocabulary of its own, only to be told of every part; that vocabulary would switch other checks of a schema off.
	if _, err := s.compile(doc, nil); err != nil {
		return nil, err
	}
	all := make(map[*jsonschema.Schema]cost)
	if s.compiled, err = s.compile(doc, all); err != nil {
		return nil, err
	}
	s.meter.install(all)
	return s, nil
}

// compile compiles a document. It collects every part that has keywords in all, with its cost.
func (s *Schema) compile(doc any, all map[*jsonschema.Schema]cost) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(s.meter.compile)
	if all != nil {
		compiler.AssertVocabs()
		compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "pawl:meter",
			Compile: func(ctx *jsonschema.CompilerContext, part map[string]any) (jsonschema.SchemaExt, error) {
				all[ctx.Enqueue(nil)] = costOf(part) // nothing below it: the part itself
				return nil, nil
			}})
	}
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("add JSON Schema: %w", err)
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile JSON Schema: %w", err)
	}
	return schema, nil
}

// Validate checks a value, as [jsonschema.UnmarshalJSON] reads it. The error is a
// [jsonschema.ValidationError] for a value that does not fit; any other says that it could not be checked:
// ctx has ended, or the schema makes it too expensive.
func (s *Schema) Validate(ctx context.Context, value any) error {
	if err := bounded(value, maxValueLevels); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.meter.run(ctx, s.compiled, value, baseSteps+stepsPerPart*parts(value))
}

// bounded refuses what is nested too deep, and numbers that are too long.
func bounded(value any, levels int) error {
	if levels == 0 {
		return errors.New("it is nested too deeply")
	}
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if err := bounded(member, levels-1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range value {
			if err := bounded(item, levels-1); err != nil {
				return err
			}
		}
	case json.Number:
		text := value.String()
		if len(text) > maxNumber {
			return fmt.Errorf("the number %s… has %d characters, at most %d are allowed", text[:20], len(text),
				maxNumber)
		}
		if at := strings.IndexAny(text, "eE"); at >= 0 {
			if e, err := strconv.Atoi(strings.TrimPrefix(text[at+1:], "+")); err != nil || e > maxExponent ||
				e < -maxExponent {
				return fmt.Errorf("the number %.40s is out of range", text)
			}
		}
	}
	return nil
}

// UnfitParams says that parameters do not fit an operation, and why: the same words when a deploy finds
// it and when the call does.
func UnfitParams(connector, operation string, problems []string) string {
	return fmt.Sprintf("the parameters of %s.%s do not fit: %s", connector, operation, some(problems))
}

// some joins the first of the problems.
func some(problems []string) string {
	if len(problems) > maxSchemaProblems {
		problems = append(problems[:maxSchemaProblems:maxSchemaProblems],
			fmt.Sprintf("and %d more", len(problems)-maxSchemaProblems))
	}
	return strings.Join(problems, "; ")
}

// SomeProblems says why a value does not fit a schema: the first causes in the schema's error. It is empty
// for an error that is no schema's.
func SomeProblems(err error) string { return some(ParamProblems(nil, err)) }

// ParamProblems lists the innermost causes in the error of a schema that was asked about the value at a
// location: they name the field that is wrong. It is nil for an error that is no schema's.
func ParamProblems(at []string, err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	if len(invalid.Causes) == 0 {
		return []string{ParamProblem(slices.Concat(at, invalid.InstanceLocation), invalid.ErrorKind)}
	}
	var problems []string
	for _, cause := range invalid.Causes {
		problems = append(problems, ParamProblems(at, cause)...)
	}
	return problems
}

// ParamProblem says what is wrong at a location in parameters.
func ParamProblem(at []string, what jsonschema.ErrorKind) string {
	where := strings.Join(at, ".")
	if where != "" {
		where += ": "
	}
	return where + what.LocalizedString(english)
}
