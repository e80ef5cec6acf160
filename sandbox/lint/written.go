package lint

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// Bounds of what is taken down: a name may stand for a large literal in many places.
const (
	MaxWritten   = 1 << 20 // bytes of all calls of a script, about
	writtenBytes = 100     // of one value, beside its text
	maxNested    = 100
)

// written takes down the parameters of a call that has at most one argument.
func (c *collector) written(t *touch, args []ast.Expression) {
	if c.recorded[t.call] {
		return
	}
	c.recorded[t.call] = true
	params := sandbox.Written{Place: c.in.Position(c.in.Start(t.e)), Kind: sandbox.WrittenObject} // none are {}
	if len(args) == 1 && !c.undefined(args[0]) {
		params = c.value(args[0], 0)
	}
	if params.Kind == sandbox.WrittenObject {
		c.definition.Calls = append(c.definition.Calls, sandbox.WrittenCall{Connector: t.member, Operation: t.operation,
			Params: params})
	}
}

// value takes down an expression. What is not listed here may be anything.
func (c *collector) value(e ast.Expression, depth int) sandbox.Written {
	c.writtenLeft -= writtenBytes
	if h, ok := c.handedOn[e]; ok && len(h.shape.values) == 1 && depth <= maxNested && c.in.Fixed(e) {
		if written := h.written(); len(written) == 1 {
			handed := c.value(written[0], depth+1) // what prepare has returned arrives as it was
			handed.Handed = true
			return handed
		}
	}
	e, constant := c.constant(e)
	if e == nil || depth > maxNested || c.writtenLeft < 0 {
		return sandbox.Written{}
	}
	w := sandbox.Written{Place: c.in.Position(c.in.Start(e))}
	switch e := e.(type) {
	case *ast.StringLiteral:
		return c.writtenText(w, e.Value.String())
	case *ast.TemplateLiteral:
		switch text, known := c.in.TextOf(e); {
		case known:
			return c.writtenText(w, text)
		case e.Tag == nil:
			w.Kind = sandbox.WrittenString
			w.Prefix = c.prefix(e)
		}
	case *ast.BinaryExpression:
		if w.Prefix = c.prefix(e); w.Prefix != "" {
			w.Kind = sandbox.WrittenString // a text and anything else are one text
		}
	case *ast.NumberLiteral:
		return writtenNumber(w, e, 1)
	case *ast.UnaryExpression:
		n, numeral := e.Operand.(*ast.NumberLiteral)
		switch {
		case e.Operator == token.MINUS && numeral:
			return writtenNumber(w, n, -1)
		case e.Operator == token.NOT:
			w.Kind = sandbox.WrittenBoolean
		}
	case *ast.BooleanLiteral:
		w.Kind, w.Value = sandbox.WrittenBoolean, json.RawMessage("false")
		if e.Value {
			w.Value = json.RawMessage("true")
		}
	case *ast.NullLiteral:
		w.Kind = sandbox.WrittenNull
	case *ast.CallExpression:
		if w.Stringified = c.isStringify(e); w.Stringified {
			w.StringifiedAt = c.place(e)
		}
	case *ast.ObjectLiteral:
		if constant {
			return c.object(w, e, depth)
		}
	case *ast.ArrayLiteral:
		if constant {
			return c.array(w, e, depth)
		}
	}
	return w
}

// maxPrefix bounds in bytes what is taken down of how a text begins.
const maxPrefix = 1000

// prefix is how a text begins that is put together of a certain beginning and more; empty where it is not certain.
func (c *collector) prefix(e ast.Expression) string {
	beginning := ""
	for range maxNested {
		e, _ = c.constant(e)
		switch at := e.(type) {
		case *ast.BinaryExpression:
			if at.Operator != token.PLUS {
				return ""
			}
			e = at.Left
			continue
		case *ast.StringLiteral:
			beginning = at.Value.String()
		case *ast.TemplateLiteral:
			if at.Tag == nil && len(at.Elements) > 0 && at.Elements[0].Valid {
				beginning = at.Elements[0].Parsed.String()
			}
		}
		break
	}
	if len(beginning) > maxPrefix || strings.ContainsRune(beginning, utf8.RuneError) {
		return ""
	}
	c.writtenLeft -= len(beginning)
	return beginning
}

// isStringify reports a call of JSON.stringify, whose result is a text or undefined.
func (c *collector) isStringify(call *ast.CallExpression) bool {
	left, name, _, ok := script.SplitProperty(call.Callee)
	id, named := left.(*ast.Identifier)
	return ok && named && name == "stringify" && id.Name.String() == "JSON" && c.in.Refers[id] == nil
}

// constant follows names to what they stand for, and tells whether what is there stays as it is written:
// an object behind a name that is used elsewhere may have been changed.
func (c *collector) constant(e ast.Expression) (ast.Expression, bool) {
	constant := true
	for range 10 {
		id, named := e.(*ast.Identifier)
		if !named {
			return e, constant
		}
		v := c.in.Refers[id]
		if v == nil || v.Hoisted {
			return nil, false
		}
		constant = constant && c.in.Fixed(id) && !c.reached(v)
		e = v.Value
	}
	return nil, false
}

// reached reports whether a part of the object or array behind a name, itself an object or an array, is
// got hold of: it may be changed there, under whatever name.
func (c *collector) reached(v *script.Variable) bool {
	object, _ := v.Value.(*ast.ObjectLiteral)
	array, _ := v.Value.(*ast.ArrayLiteral)
	if object == nil && array == nil {
		return false
	}
	var plain map[string]bool // the members that hold nothing to be changed
	for _, use := range v.Uses {
		m := c.in.MemberOf(use)
		if m == nil {
			continue
		}
		_, name, _, ok := script.SplitProperty(m)
		if array != nil {
			if !ok || name != "length" {
				return true
			}
			continue
		}
		if plain == nil {
			plain = c.plainMembers(object)
		}
		if !ok || !plain[name] {
			return true
		}
	}
	return false
}

// plainMembers are the members of an object whose values are neither objects nor arrays, as far as they
// are taken down: what is behind other names is not.
func (c *collector) plainMembers(o *ast.ObjectLiteral) map[string]bool {
	plain := make(map[string]bool, len(o.Value))
	for _, p := range o.Value {
		name, _, value, ok := plainMember(p)
		if !ok {
			continue
		}
		kind := c.in.Kind(value)
		if before, twice := plain[name]; kind == "object" || kind == "array" || twice && !before {
			plain[name] = false
		} else {
			plain[name] = true
		}
	}
	return plain
}

func (c *collector) writtenText(w sandbox.Written, text string) sandbox.Written {
	w.Kind = sandbox.WrittenString
	if c.writtenLeft -= len(text); c.writtenLeft < 0 || strings.ContainsRune(text, utf8.RuneError) {
		return w // half of a surrogate pair reads like this too, and is written otherwise
	}
	if value, err := json.Marshal(text); err == nil {
		w.Value = value
	}
	return w
}

func writtenNumber(w sandbox.Written, n *ast.NumberLiteral, sign float64) sandbox.Written {
	var f float64
	switch v := n.Value.(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return w // what JSON has no number for
	}
	if f *= sign; f == 0 {
		f = 0 // -0 is written 0
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return w
	}
	if value, err := json.Marshal(f); err == nil {
		w.Kind, w.Value = sandbox.WrittenNumber, value
	}
	return w
}

func (c *collector) object(w sandbox.Written, o *ast.ObjectLiteral, depth int) sandbox.Written {
	whole := w
	whole.Kind = sandbox.WrittenObject
	seen := make(map[string]bool, len(o.Value))
	// anything may have replaced what stands before, and added members of any name.
	anything := func() {
		whole.Open = true
		for i := range whole.Members {
			whole.Members[i].Value = sandbox.Written{Place: whole.Members[i].Value.Place}
		}
	}
	for _, p := range o.Value {
		if c.writtenLeft -= writtenBytes; c.writtenLeft < 0 {
			return w
		}
		name, at, value, plain := plainMember(p)
		switch {
		case !plain:
			anything()
			continue
		case name == "toJSON" || name == "__proto__":
			return w // the object decides itself what JSON it becomes
		}
		if seen[name] { // the last one counts
			whole.Members = slices.DeleteFunc(whole.Members, func(m sandbox.WrittenMember) bool {
				return m.Name == name
			})
		}
		seen[name] = true
		if c.leftOut(value) {
			continue
		}
		member := c.value(value, depth+1)
		member.Place = c.in.Position(at)
		c.writtenLeft -= len(name)
		whole.Members = append(whole.Members, sandbox.WrittenMember{Name: name, Value: member})
	}
	return whole
}

// undefined reports an expression that is always undefined, by its name or as the compiler writes it.
func (c *collector) undefined(e ast.Expression) bool {
	if u, ok := e.(*ast.UnaryExpression); ok {
		_, literal := u.Operand.(*ast.NumberLiteral)
		return literal && u.Operator == token.VOID
	}
	id, named := e.(*ast.Identifier)
	return named && id.Name.String() == "undefined" && c.in.Refers[id] == nil
}

// leftOut reports a value that JSON has none for: its member is not written.
func (c *collector) leftOut(e ast.Expression) bool {
	if c.undefined(e) {
		return true
	}
	e, _ = c.constant(e)
	_, _, isFunction := script.Function(e)
	return isFunction
}

// plainMember is a member of an object literal with a name and a value of its own.
func plainMember(p ast.Property) (name string, at file.Idx, value ast.Expression, plain bool) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		return p.Name.Name.String(), p.Name.Idx, &p.Name, true
	case *ast.PropertyKeyed:
		key, ok := p.Key.(*ast.StringLiteral)
		if ok && !p.Computed && (p.Kind == ast.PropertyKindValue || p.Kind == ast.PropertyKindMethod) {
			return key.Value.String(), key.Idx, p.Value, true
		}
	}
	return "", 0, nil, false
}

func (c *collector) array(w sandbox.Written, a *ast.ArrayLiteral, depth int) sandbox.Written {
	whole := w
	whole.Kind = sandbox.WrittenArray
	for _, e := range a.Value {
		if c.writtenLeft < 0 {
			return w
		}
		if _, spread := e.(*ast.SpreadElement); spread {
			whole.Open = true
			break
		}
		item := sandbox.Written{}
		if e != nil {
			item = c.value(e, depth+1)
			item.Place = c.in.Position(c.in.Start(e))
		}
		whole.Items = append(whole.Items, item)
	}
	return whole
}
