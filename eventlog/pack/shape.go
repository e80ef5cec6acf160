package pack

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// Style says how structs and numbers are written.
type Style struct {
	positional bool
	shapes     *sync.Map // reflect.Type → *shape
}

// The styles.
var (
	// Named writes structs as maps by the names of their fields, and numbers in the width of
	// their type.
	Named = Style{false, new(sync.Map)}
	// Positional writes structs as arrays, and numbers in as few bytes as they need.
	Positional = Style{true, new(sync.Map)}
)

// shape is how a type is written.
type shape struct {
	write  func(b []byte, v reflect.Value, s *shape) []byte
	elem   *shape  // of a pointer, a slice, a map
	fields []field // of a struct
}

type field struct {
	index int
	name  []byte // as it is written
	omit  bool   // when empty
	*shape
}

// of returns the shape of the type.
func (s Style) of(t reflect.Type) (*shape, error) {
	if known, ok := s.shapes.Load(t); ok {
		return known.(*shape), nil
	}
	sh, err := s.look(t, nil)
	if err != nil {
		return nil, err
	}
	s.shapes.Store(t, sh)
	return sh, nil
}

var custom = []reflect.Type{
	reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

func (s Style) look(t reflect.Type, inside []reflect.Type) (*shape, error) {
	refuse := func(why string) (*shape, error) {
		return nil, fmt.Errorf("%s cannot be packed: %s", t, why)
	}
	for _, i := range custom {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return refuse("it encodes itself")
		}
	}
	for _, outer := range inside {
		if outer == t {
			return refuse("it holds itself")
		}
	}
	inside = append(inside, t)
	var elem *shape
	var err error
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		data := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 // needs no shape for its bytes
		if elem, err = s.look(t.Elem(), inside); err != nil && !data {
			return nil, err
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &shape{write: writeBool}, nil
	case reflect.Int:
		return &shape{write: writeInt}, nil
	case reflect.Int64:
		if s.positional {
			return &shape{write: writeInt}, nil
		}
		return &shape{write: writeInt64}, nil
	case reflect.Uint32:
		if s.positional {
			return &shape{write: writeUint}, nil
		}
		return refuse("it holds a number of 32 bits")
	case reflect.Uint64:
		if s.positional {
			return &shape{write: writeUint}, nil
		}
		return &shape{write: writeUint64}, nil
	case reflect.String:
		return &shape{write: writeString}, nil
	case reflect.Pointer:
		return &shape{write: writePointer, elem: elem}, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{write: writeBytes}, nil
		}
		return &shape{write: writeSlice, elem: elem}, nil
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{write: writeByteArray}, nil
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return &shape{write: writeMap, elem: elem}, nil
		}
	case reflect.Struct:
		fields, err := s.fields(t, inside)
		if err != nil {
			return nil, err
		}
		if s.positional {
			return &shape{write: writeArray, fields: fields}, nil
		}
		return &shape{write: writeStruct, fields: fields}, nil
	}
	return refuse("it is a " + t.Kind().String())
}

// maxFields is how many of them fit a struct's set of those that are left out.
const maxFields = 64

func (s Style) fields(t reflect.Type, inside []reflect.Type) ([]field, error) {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous || f.Name == "_msgpack" || options != "" && options != "omitempty" || len(fields) == maxFields:
			return nil, fmt.Errorf("%s cannot be packed: field %s", t, f.Name)
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		sh, err := s.look(f.Type, inside)
		if err != nil {
			return nil, err
		}
		omit := options == "omitempty" && !s.positional
		if _, zero := f.Type.MethodByName("IsZero"); omit && (zero || f.Type.Kind() == reflect.Struct) {
			return nil, fmt.Errorf("%s cannot be packed: whether field %s is empty", t, f.Name)
		}
		fields = append(fields, field{index: i, name: AppendString(nil, name), omit: omit, shape: sh})
	}
	return fields, nil
}

// Append appends what v points to.
func (s Style) Append(b []byte, v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	sh, err := s.of(value.Type())
	if err != nil {
		return b, err
	}
	return sh.write(b, value, sh), nil
}

func writeBool(b []byte, v reflect.Value, _ *shape) []byte   { return AppendBool(b, v.Bool()) }
func writeInt(b []byte, v reflect.Value, _ *shape) []byte    { return AppendInt(b, v.Int()) }
func writeInt64(b []byte, v reflect.Value, _ *shape) []byte  { return AppendInt64(b, v.Int()) }
func writeUint(b []byte, v reflect.Value, _ *shape) []byte   { return AppendUint(b, v.Uint()) }
func writeUint64(b []byte, v reflect.Value, _ *shape) []byte { return AppendUint64(b, v.Uint()) }
func writeString(b []byte, v reflect.Value, _ *shape) []byte { return AppendString(b, v.String()) }
func writeBytes(b []byte, v reflect.Value, _ *shape) []byte  { return AppendBytes(b, v.Bytes()) }

func writeByteArray(b []byte, v reflect.Value, _ *shape) []byte {
	b = appendSize(b, codeBin, v.Len())
	if v.CanAddr() {
		return append(b, v.Bytes()...)
	}
	for i := range v.Len() {
		b = append(b, byte(v.Index(i).Uint()))
	}
	return b
}

func writePointer(b []byte, v reflect.Value, s *shape) []byte {
	if v.IsNil() {
		return append(b, codeNil)
	}
	return s.elem.write(b, v.Elem(), s.elem)
}

func writeSlice(b []byte, v reflect.Value, s *shape) []byte {
	if v.IsNil() {
		return append(b, codeNil)
	}
	b = AppendArray(b, v.Len())
	for i := range v.Len() {
		b = s.elem.write(b, v.Index(i), s.elem)
	}
	return b
}

func writeMap(b []byte, v reflect.Value, s *shape) []byte {
	if v.IsNil() {
		return append(b, codeNil)
	}
	b = AppendMap(b, v.Len())
	keys := v.MapKeys()
	slices.SortFunc(keys, func(k, l reflect.Value) int { return cmp.Compare(k.String(), l.String()) })
	for _, k := range keys {
		b = s.elem.write(AppendString(b, k.String()), v.MapIndex(k), s.elem)
	}
	return b
}

func writeArray(b []byte, v reflect.Value, s *shape) []byte {
	b = AppendArray(b, len(s.fields))
	for i := range s.fields {
		f := &s.fields[i]
		b = f.write(b, v.Field(f.index), f.shape)
	}
	return b
}

func writeStruct(b []byte, v reflect.Value, s *shape) []byte {
	var left uint64 // the fields that are left out
	n := len(s.fields)
	for i := range s.fields {
		if f := &s.fields[i]; f.omit && empty(v.Field(f.index)) {
			left |= 1 << i
			n--
		}
	}
	b = AppendMap(b, n)
	for i := range s.fields {
		if left&(1<<i) == 0 {
			f := &s.fields[i]
			b = f.write(append(b, f.name...), v.Field(f.index), f.shape)
		}
	}
	return b
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}
