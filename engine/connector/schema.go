package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/pawl-run/pawl/eventlog"
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

// CompileSchema compiles the JSON Schema of an operation's parameters; empty accepts any object.
// It reads nothing but its argument.
func CompileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) == 0 {
		raw = anyObject
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("add JSON Schema: %w", err)
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile JSON Schema: %w", err)
	}
	return schema, nil
}

// compiled is a schema kept with the bytes it came from, so that a connector that changes its
// operations is checked against what it says now.
type compiled struct {
	raw    json.RawMessage
	schema *jsonschema.Schema
	err    error
}

// schemaOf returns the operation's compiled schema, compiling it once per connector, operation and text.
func (r *Registry) schemaOf(connector string, op Operation) (*jsonschema.Schema, error) {
	key := connector + "." + op.Name
	if kept, ok := r.schemas.Load(key); ok {
		if c := kept.(*compiled); bytes.Equal(c.raw, op.Schema) {
			return c.schema, c.err
		}
	}
	schema, err := CompileSchema(op.Schema)
	r.schemas.Store(key, &compiled{raw: bytes.Clone(op.Schema), schema: schema, err: err})
	return schema, err
}

// checkParams says why the parameters do not fit the operation, or nil.
func (r *Registry) checkParams(call Call, op Operation) *eventlog.Failure {
	schema, err := r.schemaOf(call.Connector, op)
	if err != nil {
		return Failf(eventlog.Internal, CodeSchema, "the parameter schema of %s.%s is unusable, its connector must be corrected: %v",
			call.Connector, call.Operation, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(call.Params))
	if err != nil {
		return Failf(eventlog.Logic, CodeParams, "the parameters of %s.%s are not JSON: %v", call.Connector, call.Operation, err)
	}
	err = schema.Validate(value)
	if err == nil {
		return nil
	}
	problems := ParamProblems(nil, err)
	if problems == nil {
		return Failf(eventlog.Logic, CodeParams, "the parameters of %s.%s cannot be checked: %v", call.Connector, call.Operation, err)
	}
	return Failf(eventlog.Logic, CodeParams, "%s", UnfitParams(call.Connector, call.Operation, problems))
}

// UnfitParams says that parameters do not fit an operation, and why: the same words when a deploy finds
// it and when the call does.
func UnfitParams(connector, operation string, problems []string) string {
	if len(problems) > maxSchemaProblems {
		problems = append(problems[:maxSchemaProblems:maxSchemaProblems], fmt.Sprintf("and %d more", len(problems)-maxSchemaProblems))
	}
	return fmt.Sprintf("the parameters of %s.%s do not fit: %s", connector, operation, strings.Join(problems, "; "))
}

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
