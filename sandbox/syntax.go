package sandbox

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// inspection is what the text of a script shows without running it. It understands the usual ways
// to write a workflow; what it cannot follow it leaves out, so it proves presence, never absence.
type inspection struct {
	*scopes
	file *file.File
	body []ast.Statement    // of the script itself, inside the wrapper
	root *ast.ObjectLiteral // the argument of Pawl.workflow
	// code is the generated text.
	code string
	// found are the places that were asked for: finding one takes long enough to remember it.
	found map[file.Idx]Place
}

// inspect prepares the syntax tree of a compiled script.
func inspect(tree *ast.Program) *inspection {
	in := &inspection{file: tree.File, found: make(map[file.Idx]Place)}
	if len(tree.Body) == 1 {
		if statement, ok := tree.Body[0].(*ast.ExpressionStatement); ok {
			if wrapper, ok := statement.Expression.(*ast.FunctionLiteral); ok {
				in.body = wrapper.Body.List
			}
		}
	}
	in.scopes = resolveNames(in.body)
	for _, statement := range in.body {
		walk(statement, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpression); ok && in.isGlobalCall(call, "workflow") && len(call.ArgumentList) > 0 {
				in.root, _ = in.resolve(call.ArgumentList[0]).(*ast.ObjectLiteral)
			}
			return true
		})
	}
	return in
}

// isGlobalCall reports a call of Pawl.<name>, also by the old name; a Pawl of the script's own is another one.
func (in *inspection) isGlobalCall(call *ast.CallExpression, name string) bool {
	dot, ok := call.Callee.(*ast.DotExpression)
	if !ok || dot.Identifier.Name.String() != name {
		return false
	}
	left, ok := dot.Left.(*ast.Identifier)
	return ok && in.refers[left] == nil && (left.Name.String() == scriptGlobal || left.Name.String() == oldGlobal)
}

// resolve follows names, members of constant objects and Pawl.consumer(…) to the expression they
// stand for; nil where the text does not show it.
func (in *inspection) resolve(e ast.Expression) ast.Expression {
	for range 10 { // a name may stand for itself
		switch x := e.(type) {
		case *ast.Identifier:
			v := in.refers[x]
			if v == nil {
				return nil
			}
			e = v.value
		case *ast.CallExpression:
			if len(x.ArgumentList) == 0 || !in.isGlobalCall(x, "consumer") && !in.isGlobalCall(x, "producer") && !in.isGlobalCall(x, "workflow") {
				return e
			}
			e = x.ArgumentList[0]
		case *ast.DotExpression, *ast.BracketExpression:
			left, name, _, ok := splitProperty(x)
			if id, named := left.(*ast.Identifier); !ok || !named || in.changed(id) {
				return e
			}
			object, ok := in.resolve(left).(*ast.ObjectLiteral)
			if !ok {
				return e
			}
			_, value := in.member(object, name)
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
func (in *inspection) changed(id *ast.Identifier) bool {
	v := in.refers[id]
	if v == nil {
		return true
	}
	in.examine(v)
	return v.rewritten
}

// examine looks once at what is done with the object in a variable.
func (in *inspection) examine(v *variable) {
	if v.examined {
		return
	}
	v.examined = true
	for _, use := range v.uses {
		m := in.memberOf(use)
		switch p := in.parent(m).(type) {
		case *ast.CallExpression:
			if p.Callee != m {
				continue
			}
		case *ast.UnaryExpression: // delete
		default:
			if m != nil && !in.isAssigned(m) {
				continue
			}
		}
		v.rewritten = v.rewritten || m != nil && in.isAssigned(m)
		if len(v.loose) < 2 {
			v.loose = append(v.loose, use)
		}
	}
}

// member finds a property of an object literal: where its key stands, and its value.
func (in *inspection) member(o *ast.ObjectLiteral, name string) (at file.Idx, value ast.Expression) {
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

// keys are the members of an object literal in the order of the text; closed tells that there are no
// others: no spread, no computed name, no accessor.
func keys(o *ast.ObjectLiteral) (names []string, at map[string]file.Idx, closed bool) {
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

// text is the value of an expression that always is the same text.
func (in *inspection) text(e ast.Expression) (string, bool) {
	switch e := in.resolve(e).(type) {
	case *ast.StringLiteral:
		return e.Value.String(), true
	case *ast.TemplateLiteral:
		if e.Tag == nil && len(e.Expressions) == 0 && len(e.Elements) == 1 {
			return e.Elements[0].Parsed.String(), true
		}
	}
	return "", false
}

// find follows a path of members, or of indexes into arrays, from the workflow's object. Where the
// text does not show the rest of the path, value is nil and at the nearest place on the way.
func (in *inspection) find(path ...string) (at file.Idx, value ast.Expression) {
	if in.root == nil {
		return 0, nil
	}
	at, value = in.root.LeftBrace, in.root
	for _, name := range path {
		o, ok := in.resolve(value).(*ast.ObjectLiteral)
		if !ok {
			return at, nil
		}
		memberAt, member := in.member(o, name)
		if member == nil {
			return at, nil // the place of the object that lacks it
		}
		at, value = memberAt, member
	}
	return at, value
}

// place is where a path of members is written, or the nearest object on the way to it.
func (in *inspection) place(path ...string) Place {
	at, _ := in.find(path...)
	return in.position(at)
}

// element is the place of an element of the array at a path, or of the array.
func (in *inspection) element(i int, path ...string) Place {
	at, value := in.find(path...)
	if array, ok := in.resolve(value).(*ast.ArrayLiteral); ok && i < len(array.Value) {
		for _, e := range array.Value[:i+1] {
			if _, spread := e.(*ast.SpreadElement); spread || e == nil {
				return in.position(at)
			}
		}
		at = in.start(array.Value[i])
	}
	return in.position(at)
}

func (in *inspection) position(at file.Idx) Place {
	if at <= 0 {
		return Place{}
	}
	p, known := in.found[at]
	if !known {
		p = authorPlace(in.file.Position(int(at) - in.file.Base()))
		in.found[at] = p
	}
	return p
}

// function is the parameters and body of a function literal of either kind.
func function(e ast.Expression) (params *ast.ParameterList, body ast.Node, ok bool) {
	switch f := e.(type) {
	case *ast.FunctionLiteral:
		return f.ParameterList, f.Body, true
	case *ast.ArrowFunctionLiteral:
		return f.ParameterList, f.Body, true
	}
	return nil, nil, false
}

// isAsync reports whether a call of the function gives a promise.
func isAsync(e ast.Expression) bool {
	switch f := e.(type) {
	case *ast.FunctionLiteral:
		return f.Async
	case *ast.ArrowFunctionLiteral:
		return f.Async
	}
	return false
}
