package pack

import (
	"cmp"
	"reflect"
	"slices"
)

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
