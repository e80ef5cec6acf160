package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// place says where a field of a request is in HTTP.
type place int

const (
	inBody place = iota
	inPath
	inQuery
)

type boundField struct {
	name     string
	in       place
	index    []int
	typ      reflect.Type
	required bool
	doc      string
}

// Binding fills a request from HTTP (path, query, body) or from one JSON object with the same
// fields. Field names come from the json tag; `in:"path"` and `in:"query"` move a field out of the
// body; body and path fields without omitempty are required. A value in path or query must be one that its type can
// have: otherwise it would find nothing, and that would look like an answer.
type Binding struct {
	typ    reflect.Type
	types  Types
	fields []boundField
	body   bool
	// whole names a body field, a map of texts, that may also be the whole body over HTTP; empty for none. No key of
	// that map may be the name of a field.
	whole string
}

// NewBinding reads the tags of a request type for a route's path. It panics on a mistake in the table, which every test
// finds.
func NewBinding(t reflect.Type, path string, types Types) *Binding {
	b := &Binding{typ: t, types: types}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		bound := boundField{name: name, index: f.Index, typ: f.Type, doc: f.Tag.Get("jsonschema")}
		switch f.Tag.Get("in") {
		case "path":
			bound.in, bound.required = inPath, true
			if !strings.Contains(path, "{"+name+"}") {
				panic(fmt.Sprintf("%s: %s has no segment {%s}", t, path, name))
			}
		case "query":
			bound.in = inQuery
		case "":
			bound.required = !strings.Contains(options, "omitempty")
			b.body = true
			if f.Tag.Get("body") == "whole" {
				b.whole = name
			}
		}
		b.fields = append(b.fields, bound)
	}
	if segments := strings.Count(path, "{"); segments != len(slices.DeleteFunc(slices.Clone(b.fields),
		func(f boundField) bool {
			return f.in != inPath
		})) {
		panic(fmt.Sprintf("%s does not bind every segment of %s", t, path))
	}
	return b
}

func (b *Binding) field(name string) *boundField {
	for i := range b.fields {
		if b.fields[i].name == name {
			return &b.fields[i]
		}
	}
	return nil
}

// Possible lists what a field can be, nil where it is no enumeration.
func (b *Binding) Possible(name string) []string {
	f := b.field(name)
	if f == nil {
		return nil
	}
	return b.types.Possible(f.typ)
}

// New is an empty request.
func (b *Binding) New() any { return reflect.New(b.typ).Interface() }

// FromObject reads all fields from one JSON object. The error is a *[Problem] with status 400.
func (b *Binding) FromObject(object []byte) (any, error) {
	request := reflect.New(b.typ)
	if err := b.decode(object, request, func(boundField) bool { return true }); err != nil {
		return nil, err
	}
	return request.Interface(), nil
}

// FromHTTP reads path, query and body. The error is a *[Problem] with status 400.
func (b *Binding) FromHTTP(r *http.Request, body []byte) (any, error) {
	request := reflect.New(b.typ)
	if b.whole != "" {
		body = b.fromWhole(body)
	}
	if b.body || len(body) > 0 { // where no body is wanted, one with fields is refused
		if err := b.decode(body, request, func(f boundField) bool { return f.in == inBody }); err != nil {
			return nil, err
		}
	}
	for _, f := range b.fields {
		if f.in != inPath {
			continue
		}
		if err := b.set(f, "path segment {"+f.name+"}", request, r.PathValue(f.name)); err != nil {
			return nil, Malformed("path.invalid", "%v",
				err).WithHint("a name or an id is one percent-encoded segment; the lists show those there are")
		}
	}
	return request.Interface(), b.query(r.URL.RawQuery, request)
}

// fromWhole makes an object of fields from a body that is the value of one field, a map of texts. A body with the name
// of a field is such an object already, and an empty body stays as it is.
func (b *Binding) fromWhole(body []byte) []byte {
	var given map[string]*string
	if json.Unmarshal(body, &given) != nil || len(given) == 0 {
		return body // decode reports what is wrong with it, if anything
	}
	for name := range given {
		if b.field(name) != nil {
			return body
		}
	}
	return fmt.Appendf(nil, "{%q:%s}", b.whole, body)
}

func (b *Binding) query(raw string, request reflect.Value) error {
	if raw == "" {
		return nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Malformed("query.invalid", "the query cannot be read: %v",
			err).WithHint("percent-encode what is neither letter nor digit")
	}
	for name, given := range values {
		f := b.field(name)
		if f == nil || f.in != inQuery {
			return Malformed("query.unknown", "there is no query parameter %q here", name).WithHint(b.listQuery())
		}
		if len(given) != 1 {
			return Malformed("query.invalid", "query parameter %s is given %d times", name,
				len(given)).WithHint("give each parameter once")
		}
		if err := b.set(*f, "query parameter "+name, request, given[0]); err != nil {
			return Malformed("query.invalid", "%v", err).WithHint(OpenAPIPath + " says what each parameter can be")
		}
	}
	return nil
}

// decode reads the object strictly: a field that is unknown (by its exact name), misplaced or
// missing is an error, and so is anything after the object.
func (b *Binding) decode(object []byte, request reflect.Value, expected func(boundField) bool) error {
	var given map[string]json.RawMessage
	if len(bytes.TrimSpace(object)) == 0 {
		object = []byte("{}")
	}
	if !utf8.Valid(object) { // the decoder would replace invalid bytes in silence
		return Malformed("json.invalid", "the body is not UTF-8").WithHint("send one JSON object, encoded as UTF-8")
	}
	if err := json.Unmarshal(object, &given); err != nil {
		return Malformed("json.invalid", "the body cannot be read: %s",
			JSONFault(err, object)).WithHint("send one JSON object, encoded as UTF-8")
	}
	for name := range given {
		if f := b.field(name); f == nil || !expected(*f) {
			return Malformed("field.unknown", "there is no field %q here", name).WithHint(b.listFields(expected))
		}
	}
	for _, f := range b.fields {
		raw, ok := given[f.name]
		if !expected(f) {
			continue
		}
		if ok && string(raw) != "null" {
			value := request.Elem().FieldByIndex(f.index)
			if err := json.Unmarshal(raw, value.Addr().Interface()); err != nil {
				return Malformed("field.invalid", "field %s: %s", f.name, JSONFault(err, raw)).WithHint(fieldsHint)
			}
			if f.in == inBody {
				continue
			}
			if err := b.types.Check("field "+f.name, value); err != nil {
				return Malformed("field.invalid", "%v", err).WithHint(fieldsHint)
			}
		} else if f.required {
			return Malformed("field.missing", "field %s is required", f.name).WithHint(b.listFields(expected))
		}
	}
	return nil
}

// set reads a path or query value into its field, if it is one that the field can have.
func (b *Binding) set(f boundField, name string, request reflect.Value, text string) error {
	value := request.Elem().FieldByIndex(f.index)
	if err := setScalar(value, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return b.types.Check(name, value)
}

// setScalar reads a path or query value.
func setScalar(v reflect.Value, text string) error {
	if v.Type() == reflect.TypeFor[eventlog.Instant]() {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return fmt.Errorf("%q is no time; write RFC 3339, such as 2026-01-31T08:00:00Z", eventlog.ClipName(text))
		}
		v.SetInt(int64(eventlog.At(t)))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number of 0 or more", text)
		}
		v.SetUint(n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setScalar(v.Elem(), text)
	default:
		return fmt.Errorf("cannot be given as text")
	}
	return nil
}
