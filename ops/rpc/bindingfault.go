package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

func (b *Binding) listQuery() string {
	var names []string
	for _, f := range b.fields {
		if f.in == inQuery {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return "this operation has no query parameters"
	}
	return "known parameters: " + strings.Join(names, ", ")
}

// fieldsHint is what to do about a field whose value is refused.
const fieldsHint = OpenAPIPath + " says what each field can be"

func (b *Binding) listFields(expected func(boundField) bool) string {
	var names []string
	for _, f := range b.fields {
		if expected(f) {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return "this operation takes no fields"
	}
	return "known fields: " + strings.Join(names, ", ")
}

// JSONFault says what is wrong with a JSON text, in the sender's terms.
func JSONFault(err error, text []byte) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
		return fmt.Sprintf("%v (line %d, byte %d)", syntax, line, syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Sprintf("found a JSON %s where %s is wanted", kind.Value, jsonKind(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return err.Error()
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	}
	return t.String()
}
