package connector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// Violation is one reason why parameters do not fit an operation, whatever the parts of them are that are not known.
type Violation struct {
	// Where is the location of the value or member that it is about.
	Where []string
	// Code is that of the failure; CodeParams where it is empty.
	Code string
	// Message is what a call with these parameters fails with, Fix what to write instead: empty where the operation's
	// schema as a whole says it.
	Message, Fix string
	// Perhaps tells that a call fails only if the value, which is not known, is there at all.
	Perhaps bool
	// Rename is the member that has to have another name, To that name; Drop tells that the member has to go.
	Rename, To string
	Drop       bool
	// Write is the JSON of a scalar that has to take the place of the value.
	Write string
}

// Judge is a connector that can tell from (partly known) parameters that a call would fail for a reason that is not in
// the operation's schema, such as a host that is not configured.
type Judge interface {
	Judge(operation string, params *Partial) []Violation
}

// Judge asks a connector that is a [Judge]; nothing is known of the others.
func (r *Registry) Judge(name, operation string, params *Partial) []Violation {
	c, _ := r.Connector(name)
	if judge, ok := c.(Judge); ok {
		return judge.Judge(operation, params)
	}
	return nil
}

// WrittenSecret is the name of a secret that parameters carry, as far as the text of a script shows it.
type WrittenSecret struct {
	Name  string
	Where []string // it is written
}

// SecretWriter is a connector whose calls may carry secrets that the script names.
type SecretWriter interface {
	WrittenSecrets(params *Partial) []WrittenSecret
}

// WrittenSecrets asks a connector that is a [SecretWriter]; calls of the others carry none.
func (r *Registry) WrittenSecrets(name string, params *Partial) []WrittenSecret {
	c, _ := r.Connector(name)
	if writer, ok := c.(SecretWriter); ok {
		return writer.WrittenSecrets(params)
	}
	return nil
}

// ParamSchema is the schema of one operation's parameters.
type ParamSchema struct {
	connector, operation string
	// schema is nil where it cannot be used.
	schema *Schema
	// steps is what may still be spent on the schema, over all calls of a script.
	steps int
}

// ReadParamSchema compiles a schema once for many calls. It reports nothing about a schema that cannot be used: the
// calls report that.
func ReadParamSchema(connector, operation string, schema json.RawMessage) *ParamSchema {
	s := &ParamSchema{connector: connector, operation: operation, steps: maxSchemaSteps}
	for _, dynamic := range []string{`"$dynamicRef"`, `"$recursiveRef"`} {
		if bytes.Contains(schema, []byte(dynamic)) {
			return s // its parts mean something else apart from the whole
		}
	}
	if compiled, err := CompileSchema(schema); err == nil {
		s.schema = compiled
	}
	return s
}

// Violations checks partly known parameters against the schema.
func (s *ParamSchema) Violations(params *Partial) []Violation {
	if s.schema == nil {
		return nil
	}
	f := fitting{ParamSchema: s}
	f.value(s.schema.compiled, params, nil, 0)
	return f.found
}

// otherNames are the names that well-known libraries give a parameter, with the names that it may have here.
var otherNames = map[string][]string{"json": {"body"}, "data": {"body", "values"}, "payload": {"body"},
	"params": {"query"}, "searchParams": {"query"}, "uri": {"url"}, "body": {"text", "content"},
	"text":    {"content", "body"},
	"message": {"text", "content", "body"}, "content": {"text", "body"}, "recipient": {"to"}, "recipients": {"to"},
	"filename": {"path", "file"}, "file": {"path"}, "name": {"path"}, "row": {"values"}, "statement": {"sql"}}

// nameHere is the parameter's name here, for the name that other libraries give it; empty for none.
func nameHere(name string, free []string) string {
	for _, candidate := range otherNames[name] {
		if slices.Contains(free, candidate) {
			return candidate
		}
	}
	return ""
}

// strangers are the names that are not among the others.
func strangers(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func addMember(name string, schema *jsonschema.Schema, strange []string) string {
	if near := similar.Names(name, strange, 1); len(near) > 0 {
		return fmt.Sprintf("rename %s to %s", eventlog.ClipText(near[0]), eventlog.ClipText(name))
	}
	want := ""
	if schema != nil && schema.Types != nil {
		want = schema.Types.ToStrings()[0]
	}
	return "add " + sample([]string{eventlog.ClipText(name)}, want)
}

// sample shows how a value of a type is written, with its name where it has one.
func sample(at []string, of string) string {
	value := map[string]string{"string": `"…"`, "number": "1", "integer": "1", "boolean": "true", "null": "null",
		"array": "[…]", "object": "{ … }"}[of]
	if value == "" {
		value = "…"
	}
	return named(at, value)
}

// named shows a value with its name where it has one.
func named(at []string, value string) string {
	if len(at) == 0 {
		return value
	}
	name := at[len(at)-1]
	if _, err := strconv.Atoi(name); err == nil {
		return value
	}
	return eventlog.ClipText(name) + ": " + value
}
