package value

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// LostError tells of a part of a value that JSON would drop or change in silence.
type LostError struct {
	// Path leads to the part: .data.items[2]; empty for the value itself.
	Path string
	// What it is, and what JSON makes of it.
	What, Becomes string
}

func (e *LostError) Error() string {
	where := strings.TrimPrefix(e.Path, ".")
	if where == "" {
		where = "it"
	}
	return fmt.Sprintf("%s is %s, of which JSON makes %s", where, e.What, e.Becomes)
}

// lostClasses are those whose instances JSON makes {} of, whatever they hold.
var lostClasses = map[string]string{"Map": "a Map", "Set": "a Set", "WeakMap": "a WeakMap", "WeakSet": "a WeakSet",
	"RegExp": "a regular expression", "Error": "an Error", "Promise": "a promise; await it"}

// maxLooked bounds how many parts of a value are looked at. MarshalJSON has read all of them before, so that there is
// no circle among them.
const maxLooked = 200_000

// lost finds the first part of an object that JSON loses. It runs getters, so only under the deadline. The path is put
// together on the way back: nearly always nothing is lost, and every key would cost memory.
func lost(o *goja.Object, left *int) *LostError {
	if *left--; *left < 0 {
		return nil
	}
	if _, own := goja.AssertFunction(o.Get("toJSON")); own {
		return nil // it says itself what it becomes
	}
	class := o.ClassName()
	if tag := o.GetSymbol(goja.SymToStringTag); tag != nil && IsText(tag) && lostClasses[tag.String()] != "" {
		class = tag.String()
	}
	if what, ok := lostClasses[class]; ok {
		return &LostError{What: what, Becomes: "{}"}
	}
	if IsPromise(o) {
		return &LostError{What: lostClasses["Promise"], Becomes: "{}"}
	}
	list := class == "Array"
	for _, key := range o.Keys() {
		if e := lostPart(o.Get(key), list, left); e != nil {
			e.Path = step(key) + e.Path
			return e
		}
	}
	return nil
}

// step is the part of a path that leads to a member.
func step(key string) string {
	if _, err := strconv.Atoi(key); err == nil {
		return "[" + key + "]"
	}
	return "." + key
}

func lostPart(v goja.Value, inList bool, left *int) *LostError {
	becomes := "nothing"
	if inList {
		becomes = "null"
	}
	switch v := v.(type) {
	case nil:
		return nil
	case *goja.Symbol:
		return &LostError{What: "a symbol", Becomes: becomes}
	case *goja.Object:
		if _, callable := goja.AssertFunction(v); callable {
			return &LostError{What: "a function", Becomes: becomes}
		}
		return lost(v, left)
	}
	if goja.IsUndefined(v) && inList {
		return &LostError{What: "undefined", Becomes: becomes}
	}
	if _, text := v.(goja.String); text || v.ExportType() == nil || v.ExportType().Kind() != reflect.Float64 {
		return nil
	}
	if math.IsNaN(v.ToFloat()) || math.IsInf(v.ToFloat(), 0) {
		return &LostError{What: v.String(), Becomes: "null"}
	}
	return nil
}
