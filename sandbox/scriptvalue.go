package sandbox

import (
	"fmt"

	"github.com/dop251/goja"
)

func object(v goja.Value) (*goja.Object, bool) {
	obj, ok := v.(*goja.Object)
	return obj, ok
}

func undefined(v goja.Value) bool { return v == nil || goja.IsUndefined(v) }

func isArray(o *goja.Object) bool { return o.ClassName() == "Array" }

// number is the value of a primitive number; anything else would run script code to become one.
func number(v goja.Value) (float64, bool) {
	if _, ok := v.(*goja.Object); ok || v == nil {
		return 0, false
	}
	switch v.ExportType().Kind().String() {
	case "int64", "float64":
		return v.ToFloat(), true
	}
	return 0, false
}

// kindOf names what a value is, without touching it.
func kindOf(v goja.Value) string {
	switch {
	case undefined(v):
		return "missing"
	case goja.IsNull(v):
		return "null"
	case isText(v):
		return fmt.Sprintf("the text %q", clip(v.String(), 60))
	}
	if obj, ok := object(v); ok {
		if _, callable := goja.AssertFunction(obj); callable {
			return "a function"
		}
		if isArray(obj) {
			return "an array"
		}
		return "an object"
	}
	return clip(v.String(), 60)
}

// texts are the elements of an array of non-empty texts; nil where it is none.
func texts(v goja.Value) []string {
	array, ok := object(v)
	if !ok || !isArray(array) {
		return nil
	}
	names := []string{}
	length, _ := number(array.Get("length"))
	for i := range int(min(length, 10_000)) {
		element := array.Get(fmt.Sprint(i))
		if element == nil || !isText(element) || element.String() == "" {
			return nil
		}
		names = append(names, element.String())
	}
	return names
}

// isText reports whether a value is a primitive string.
func isText(v goja.Value) bool {
	_, ok := v.(goja.String)
	return ok
}
