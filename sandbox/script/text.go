package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
)

// Text is what the text of a script shows without running it. It understands the usual ways
// to write a workflow; what it cannot follow it leaves out, so it proves presence, never absence.
type Text struct {
	*scopes
	file *file.File
	Body []ast.Statement    // of the script itself, inside the wrapper
	root *ast.ObjectLiteral // the argument of Pawl.workflow
	// Code is the generated text, Author what the author wrote.
	Code, Author string
	// found are the places that were asked for: finding one takes long enough to remember it.
	found map[file.Idx]sandbox.Place
}

// Inspect prepares the syntax tree of a compiled script.
func Inspect(tree *ast.Program) *Text {
	in := &Text{file: tree.File, found: make(map[file.Idx]sandbox.Place)}
	if len(tree.Body) == 1 {
		if statement, ok := tree.Body[0].(*ast.ExpressionStatement); ok {
			if wrapper, ok := statement.Expression.(*ast.FunctionLiteral); ok {
				in.Body = wrapper.Body.List
			}
		}
	}
	in.scopes = resolveNames(in.Body)
	for _, statement := range in.Body {
		Walk(statement, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpression); ok && in.isGlobalCall(call, "workflow") &&
				len(call.ArgumentList) > 0 {
				in.root, _ = in.Resolve(call.ArgumentList[0]).(*ast.ObjectLiteral)
			}
			return true
		})
	}
	return in
}

// isGlobalCall reports a call of Pawl.<name>, also by the old name or by a name that a pattern takes of it; a Pawl of
// the script's own is another one.
func (in *Text) isGlobalCall(call *ast.CallExpression, name string) bool {
	if id, ok := call.Callee.(*ast.Identifier); ok {
		v := in.Refers[id]
		if v == nil || in.Assigned(v) {
			return false
		}
		key, ok := in.KeyOf(v)
		declaration, _ := v.pattern.(*ast.Binding)
		return ok && key == name && in.isGlobal(declaration.Initializer)
	}
	dot, ok := call.Callee.(*ast.DotExpression)
	if !ok || dot.Identifier.Name.String() != name {
		return false
	}
	return in.isGlobal(dot.Left)
}

// isGlobal reports Pawl itself.
func (in *Text) isGlobal(e ast.Expression) bool {
	id, ok := e.(*ast.Identifier)
	return ok && in.Refers[id] == nil && (id.Name.String() == Global || id.Name.String() == OldGlobal)
}

// Resolve follows names, members of constant objects and Pawl.consumer(…) to the expression they
// stand for; nil where the text does not show it.
func (in *Text) Resolve(e ast.Expression) ast.Expression {
	in.look()
	for range 10 { // a name may stand for itself
		switch x := e.(type) {
		case *ast.Identifier:
			v := in.Refers[x]
			if v == nil {
				return nil
			}
			e = v.Value
		case *ast.CallExpression:
			if len(x.ArgumentList) == 0 || !in.isGlobalCall(x, "consumer") && !in.isGlobalCall(x, "producer") &&
				!in.isGlobalCall(x, "hook") && !in.isGlobalCall(x, "workflow") {
				return e
			}
			e = x.ArgumentList[0]
		case *ast.DotExpression, *ast.BracketExpression:
			left, name, _, ok := SplitProperty(x)
			if id, named := left.(*ast.Identifier); !ok || !named || in.changed(id) {
				return e
			}
			object, ok := in.Resolve(left).(*ast.ObjectLiteral)
			if !ok {
				return e
			}
			_, value := in.Member(object, name)
			if value == nil {
				return e
			}
			e = value
		default:
			return e
		}
	}
	return nil
}

// changed reports whether a member of the object behind a name is assigned anywhere.
func (in *Text) changed(id *ast.Identifier) bool {
	v := in.Refers[id]
	if v == nil {
		return true
	}
	in.examine(v)
	return v.rewritten
}

// examine looks once at what is done with the object in a variable.
func (in *Text) examine(v *Variable) {
	if v.examined {
		return
	}
	v.examined = true
	for _, use := range v.Uses {
		m := in.MemberOf(use)
		switch p := in.Parent(m).(type) {
		case *ast.CallExpression:
			if p.Callee != m {
				continue
			}
		case *ast.UnaryExpression: // delete
		default:
			if m != nil && !in.IsAssigned(m) {
				continue
			}
		}
		v.rewritten = v.rewritten || m != nil && in.IsAssigned(m)
		if len(v.loose) < 2 {
			v.loose = append(v.loose, use)
		}
	}
}

// Member finds a property of an object literal: where its key stands, and its value.
func (in *Text) Member(o *ast.ObjectLiteral, name string) (at file.Idx, value ast.Expression) {
	for _, p := range o.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			if p.Name.Name.String() == name {
				return p.Name.Idx, &p.Name
			}
		case *ast.PropertyKeyed:
			if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed && key.Value.String() == name {
				return key.Idx, p.Value
			}
		}
	}
	return 0, nil
}

// MemberOfClass finds a method or a field of a class's instances: where its key stands, and its value.
func (in *Text) MemberOfClass(class *ast.ClassLiteral, name string) (at file.Idx, value ast.Expression) {
	for _, element := range class.Body {
		var key ast.Expression
		switch element := element.(type) {
		case *ast.MethodDefinition:
			if element.Static || element.Computed || element.Kind != ast.PropertyKindMethod {
				continue
			}
			key, value = element.Key, element.Body
		case *ast.FieldDefinition:
			if element.Static || element.Computed || element.Initializer == nil {
				continue
			}
			key, value = element.Key, element.Initializer
		}
		if text, ok := key.(*ast.StringLiteral); ok && text.Value.String() == name {
			return text.Idx, value
		}
	}
	return 0, nil
}

// Callee is the function that a call runs: one that has a name, or another method of the object or the class that the
// call stands in; nil where the text does not show it.
func (in *Text) Callee(call *ast.CallExpression) ast.Expression {
	left, name, _, ok := SplitProperty(call.Callee)
	if _, this := left.(*ast.ThisExpression); !ok || !this {
		return in.Resolve(Bare(call.Callee))
	}
	f := in.FunctionAround(call)
	for arrow := true; arrow; {
		if _, arrow = f.(*ast.ArrowFunctionLiteral); arrow {
			f = in.FunctionAround(f)
		}
	}
	if f == nil {
		return nil
	}
	var value ast.Expression
	switch member := in.Parent(f).(type) {
	case *ast.MethodDefinition:
		if class, ok := in.Parent(member).(*ast.ClassLiteral); ok {
			_, value = in.MemberOfClass(class, name)
		}
	case *ast.PropertyKeyed:
		if object, ok := in.Parent(member).(*ast.ObjectLiteral); ok {
			_, value = in.Member(object, name)
		}
	}
	return in.Resolve(value)
}

// Keys are the members of an object literal in the order of the text; closed tells that there are no
// others: no spread, no computed name, no accessor.
func Keys(o *ast.ObjectLiteral) (names []string, at map[string]file.Idx, closed bool) {
	at, closed = make(map[string]file.Idx, len(o.Value)), true
	for _, p := range o.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			names = append(names, p.Name.Name.String())
			at[p.Name.Name.String()] = p.Name.Idx
		case *ast.PropertyKeyed:
			key, ok := p.Key.(*ast.StringLiteral)
			if !ok || p.Computed {
				closed = false
				continue
			}
			names = append(names, key.Value.String())
			at[key.Value.String()] = key.Idx
		default:
			closed = false
		}
	}
	return names, at, closed
}

// TextOf is the value of an expression that always is the same TextOf.
func (in *Text) TextOf(e ast.Expression) (string, bool) {
	switch e := in.Resolve(e).(type) {
	case *ast.StringLiteral:
		return e.Value.String(), true
	case *ast.TemplateLiteral:
		if e.Tag == nil && len(e.Expressions) == 0 && len(e.Elements) == 1 {
			return e.Elements[0].Parsed.String(), true
		}
	}
	return "", false
}

// Find follows a path of members, or of indexes into arrays, from the workflow's object. Where the
// text does not show the rest of the path, value is nil and at the nearest place on the way.
func (in *Text) Find(path ...string) (at file.Idx, value ast.Expression) {
	if in.root == nil {
		return 0, nil
	}
	at, value = in.root.LeftBrace, in.root
	for _, name := range path {
		var memberAt file.Idx
		var member ast.Expression
		switch o := in.Resolve(value).(type) {
		case *ast.ObjectLiteral:
			memberAt, member = in.Member(o, name)
		case *ast.NewExpression:
			class, ok := in.Resolve(o.Callee).(*ast.ClassLiteral)
			if !ok {
				return at, nil
			}
			memberAt, member = in.MemberOfClass(class, name)
		default:
			return at, nil
		}
		if member == nil {
			return at, nil // the place of the object that lacks it
		}
		at, value = memberAt, member
	}
	return at, value
}

// Place is where a path of members is written, or the nearest object on the way to it.
func (in *Text) Place(path ...string) sandbox.Place {
	at, _ := in.Find(path...)
	return in.Position(at)
}

// element is the place of an element of the array at a path, or of the array.
func (in *Text) element(i int, path ...string) sandbox.Place {
	at, value := in.Find(path...)
	if array, ok := in.Resolve(value).(*ast.ArrayLiteral); ok && i < len(array.Value) {
		for _, e := range array.Value[:i+1] {
			if _, spread := e.(*ast.SpreadElement); spread || e == nil {
				return in.Position(at)
			}
		}
		at = in.Start(array.Value[i])
	}
	return in.Position(at)
}

// Position is where in the author's source a place of the generated code is, zero where that is unknown.
func (in *Text) Position(at file.Idx) sandbox.Place {
	if at <= 0 {
		return sandbox.Place{}
	}
	p, known := in.found[at]
	if !known {
		p = authorPlace(in.file.Position(int(at) - in.file.Base()))
		in.found[at] = p
	}
	return p
}
