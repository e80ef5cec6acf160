package pack

import (
	"encoding"
	"fmt"
	"reflect"
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
