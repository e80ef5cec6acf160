package vm

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// hash is ctx.hash(algorithm, data): the digest of a text, as UTF-8, or of bytes, as lower-case hex. It answers at
// once, in every phase, and the same for the same data: an id can be made of it.
func (inv *invocation) hash(call goja.FunctionCall) goja.Value {
	inv.alive()
	const usage = `write ctx.hash("sha256", text)`
	if !value.IsText(call.Argument(0)) {
		inv.abort(sandbox.ScriptFault("call.params", "ctx.hash takes the name of an algorithm first: %s", usage))
	}
	data, ok := bytesOf(call.Argument(1))
	if !ok {
		inv.abort(sandbox.ScriptFault("call.params", "ctx.hash takes a text, a Uint8Array or an ArrayBuffer, and got %s: "+
			"turn other values into a text first, with String or JSON.stringify", value.KindOf(call.Argument(1))))
	}
	var sum []byte
	switch algorithm := call.Argument(0).String(); algorithm {
	case "sha256":
		s := sha256.Sum256(data)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(data)
		sum = s[:]
	case "sha1": // other systems still ask for it
		s := sha1.Sum(data)
		sum = s[:]
	default:
		inv.abort(sandbox.ScriptFault("call.params", `ctx.hash knows "sha256", "sha512" and "sha1", and not %q`,
			sandbox.Clip(algorithm, 40)))
	}
	return inv.rt.ToValue(hex.EncodeToString(sum))
}

// bytesOf is a text as UTF-8, or the contents of a Uint8Array or ArrayBuffer. The type is asked first: exporting any
// other object would run its getters.
func bytesOf(v goja.Value) ([]byte, bool) {
	if value.IsText(v) {
		return []byte(v.String()), true
	}
	if obj, ok := v.(*goja.Object); ok {
		switch obj.ExportType().String() {
		case "[]uint8", "goja.ArrayBuffer":
			switch data := obj.Export().(type) {
			case []byte:
				return data, true
			case goja.ArrayBuffer:
				return data.Bytes(), true
			}
		}
	}
	return nil, false
}
