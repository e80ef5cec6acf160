package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"

	"github.com/dop251/goja"
)

// errNotJSON is the reason a value has no JSON form.
var errNotJSON = errors.New("is not JSON")

// Encode is the JSON text of a value, nil for undefined. Plain data is written here; other objects go through the
// interpreter's own JSON.stringify (not the global, which the script may have replaced). Getters run, some of them
// several times, and toJSON runs, so Encode is called only under the deadline. err is errNotJSON, a *[LostError] for a
// part that JSON would drop or change in silence, or what the script's code threw.
func Encode(rt *goja.Runtime, v goja.Value) (json.RawMessage, error) {
	switch {
	case v == nil || goja.IsUndefined(v):
		return nil, nil
	case goja.IsNull(v):
		return json.RawMessage("null"), nil
	}
	if obj, ok := v.(*goja.Object); ok {
		if _, callable := goja.AssertFunction(obj); callable {
			return nil, errNotJSON
		}
		if raw, err := plainJSON(rt, obj); raw != nil || err != nil {
			return raw, err
		}
		raw, err := obj.MarshalJSON()
		left := maxLooked
		if err == nil {
			if e := lost(obj, &left); e != nil {
				return nil, e
			}
		}
		return raw, err
	}
	if _, ok := v.(*goja.Symbol); ok {
		return nil, errNotJSON
	}
	if IsText(v) {
		return quote(v.String())
	}
	switch v.ExportType().Kind() {
	case reflect.Bool, reflect.Int64:
		return json.RawMessage(v.String()), nil
	case reflect.Float64:
		if f := v.ToFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			return json.RawMessage("null"), nil // as JSON.stringify does
		}
		return json.RawMessage(v.String()), nil
	}
	return nil, errNotJSON // BigInt
}

func quote(s string) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
