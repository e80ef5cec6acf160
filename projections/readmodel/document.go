package readmodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/projections"
)

// sections name the kinds of entities.
var sections = map[projections.EntityKind]string{
	projections.KindHandler: "handlers", projections.KindScript: "scripts", projections.KindSession: "sessions",
	projections.KindRun: "runs", projections.KindMutation: "mutations", projections.KindEvent: "events",
	projections.KindInput: "inputs",
}

// Diff names the entities that differ between the states, with the fields in which they do; it
// is empty when the states hold the same.
func Diff(a, b *projections.State) []string {
	var differing []string
	left, right := a.Keys(), b.Keys()
	only := map[projections.Key]bool{}
	for _, k := range right {
		only[k] = true
	}
	for _, k := range left {
		if !only[k] {
			differing = append(differing, entityName(k)+": only in the first")
			continue
		}
		delete(only, k)
		if fields := differ(a.Entity(k), b.Entity(k)); len(fields) > 0 {
			differing = append(differing, entityName(k)+": "+strings.Join(fields, ", "))
		}
	}
	for k := range only {
		differing = append(differing, entityName(k)+": only in the second")
	}
	slices.Sort(differing)
	return differing
}

func entityName(k projections.Key) string {
	switch k.Kind {
	case projections.KindWorkflow:
		return "workflow"
	case projections.KindEvent:
		ref := k.Event()
		return fmt.Sprintf("event %q of topic %s", ref.MessageID, ref.Topic)
	default:
		return strings.TrimSuffix(sections[k.Kind], "s") + " " + k.ID
	}
}

// differ names the fields in which two entities of a kind differ.
func differ(a, b any) []string {
	left, _ := plain(reflect.ValueOf(a)).(map[string]any)
	right, _ := plain(reflect.ValueOf(b)).(map[string]any)
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if !reflect.DeepEqual(left[name], right[name]) {
			fields = append(fields, name)
		}
	}
	return fields
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// plain turns a value into maps, lists and scalars, under the names that it is stored with. What
// is stored the same comes out the same: nil and empty are one.
func plain(v reflect.Value) any {
	switch v := v.Interface().(type) {
	case json.RawMessage:
		return rawValue(v)
	case projections.Ordinal:
		return map[string]any{"seq": v.Seq, "n": v.N}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for f, value := range v.Fields() {
			if f.IsExported() {
				fields[fieldName(f)] = plain(value)
			}
		}
		return fields
	case reflect.Map:
		entries := map[string]any{}
		for _, k := range v.MapKeys() {
			entries[fmt.Sprint(k.Interface())] = plain(v.MapIndex(k))
		}
		return entries
	case reflect.Slice, reflect.Array:
		if text, ok := v.Interface().(fmt.Stringer); ok {
			return text.String()
		}
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			return rawValue(v.Bytes())
		}
		items := make([]any, v.Len())
		for i := range items {
			items[i] = plain(v.Index(i))
		}
		return items
	}
	if v.Type().Implements(marshaler) {
		return v.Interface() // a time
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	}
	return v.Interface()
}

// rawValue keeps stored JSON as it is, byte by byte, and shows what is none as text.
func rawValue(b []byte) any {
	switch {
	case len(b) == 0:
		return nil
	case json.Valid(b):
		return json.RawMessage(b)
	case utf8.Valid(b):
		return string(b)
	}
	return b
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
	if name == "" {
		name = strings.ToLower(f.Name[:1]) + f.Name[1:]
	}
	return name
}
