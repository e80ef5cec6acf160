package value

import (
	"fmt"
	"reflect"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
)

// AsObject is a value as an object; false for a primitive.
func AsObject(v goja.Value) (*goja.Object, bool) {
	obj, ok := v.(*goja.Object)
	return obj, ok
}

// Undefined reports a value that is undefined or absent.
func Undefined(v goja.Value) bool { return v == nil || goja.IsUndefined(v) }

// IsArray reports whether an object is an array.
func IsArray(o *goja.Object) bool { return o.ClassName() == "Array" }

// Number is the value of a primitive Number; anything else would run script code to become one.
func Number(v goja.Value) (float64, bool) {
	if _, ok := v.(*goja.Object); ok || v == nil {
		return 0, false
	}
	switch v.Export().(type) { // null and undefined have no type
	case int64, float64:
		return v.ToFloat(), true
	}
	return 0, false
}

// KindOf names what a value is, without touching it.
func KindOf(v goja.Value) string {
	switch {
	case Undefined(v):
		return "missing"
	case goja.IsNull(v):
		return "null"
	case IsText(v):
		return fmt.Sprintf("the text %q", sandbox.Clip(v.String(), 60))
	}
	if obj, ok := AsObject(v); ok {
		if _, callable := goja.AssertFunction(obj); callable {
			return "a function"
		}
		if IsArray(obj) {
			return "an array"
		}
		return "an object"
	}
	return sandbox.Clip(v.String(), 60)
}

// Texts are the elements of an array of non-empty Texts; nil where it is none.
func Texts(v goja.Value) []string {
	array, ok := AsObject(v)
	if !ok || !IsArray(array) {
		return nil
	}
	names := []string{}
	length, _ := Number(array.Get("length"))
	for i := range int(min(length, 10_000)) {
		element := array.Get(fmt.Sprint(i))
		if element == nil || !IsText(element) || element.String() == "" {
			return nil
		}
		names = append(names, element.String())
	}
	return names
}

// IsText reports whether a value is a primitive string.
func IsText(v goja.Value) bool {
	_, ok := v.(goja.String)
	return ok
}

// IsPromise reports whether a value is a native promise, the usual sign of a forgotten await.
func IsPromise(v goja.Value) bool {
	obj, ok := v.(*goja.Object)
	return ok && obj.ExportType() == promiseType
}

var promiseType = reflect.TypeFor[*goja.Promise]()
