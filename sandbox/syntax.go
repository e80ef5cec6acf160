package sandbox

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// inspection is what the text of a script shows without running it. It understands the usual ways
// to write a workflow; what it cannot follow it leaves out, so it proves presence, never absence.
type inspection struct {
	file *file.File
	body []ast.Statement // of the script itself, inside the wrapper
	// named are the functions and values that a name stands for anywhere in the file; a name that is
	// declared twice stands for nothing.
	named map[string]ast.Expression
	// declared are all names that the file declares in any way.
	declared map[string]struct{}
	root     *ast.ObjectLiteral // the argument of Keep.workflow
}

// inspect prepares the syntax tree of a compiled script.
func inspect(tree *ast.Program) *inspection {
	in := &inspection{file: tree.File, named: make(map[string]ast.Expression), declared: make(map[string]struct{})}
	if len(tree.Body) == 1 {
		if statement, ok := tree.Body[0].(*ast.ExpressionStatement); ok {
			if wrapper, ok := statement.Expression.(*ast.FunctionLiteral); ok {
				in.body = wrapper.Body.List
			}
		}
	}
	var workflow ast.Expression
	declare := func(name string, value ast.Expression) {
		in.declared[name] = struct{}{}
		if _, twice := in.named[name]; twice {
			value = nil
		}
		in.named[name] = value
	}
	for _, statement := range in.body {
		walk(statement, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FunctionDeclaration:
				if n.Function.Name != nil {
					declare(n.Function.Name.Name.String(), n.Function)
				}
			case *ast.Binding:
				in.declare(n.Target)
				if id, ok := n.Target.(*ast.Identifier); ok && n.Initializer != nil {
					declare(id.Name.String(), n.Initializer)
				}
			case *ast.ClassDeclaration:
				if n.Class.Name != nil {
					in.declared[n.Class.Name.Name.String()] = struct{}{}
				}
			case *ast.CallExpression:
				if isKeep(n, "workflow") && len(n.ArgumentList) > 0 {
					workflow = n.ArgumentList[0]
				}
			}
			return true
		})
	}
	in.root, _ = in.resolve(workflow).(*ast.ObjectLiteral)
	return in
}

// declare notes the names that a parameter, variable or pattern declares.
func (in *inspection) declare(target ast.Expression) {
	switch target := target.(type) {
	case *ast.Identifier:
		in.declared[target.Name.String()] = struct{}{}
	case *ast.ObjectPattern:
		for _, p := range target.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				in.declared[p.Name.Name.String()] = struct{}{}
			case *ast.PropertyKeyed:
				in.declare(p.Value)
			}
		}
		in.declare(target.Rest)
	case *ast.ArrayPattern:
		for _, e := range target.Elements {
			in.declare(e)
		}
		in.declare(target.Rest)
	case *ast.AssignExpression:
		in.declare(target.Left)
	}
}

// isKeep reports a call of Keep.<name>.
func isKeep(call *ast.CallExpression, name string) bool {
	dot, ok := call.Callee.(*ast.DotExpression)
	if !ok || dot.Identifier.Name.String() != name {
		return false
	}
	left, ok := dot.Left.(*ast.Identifier)
	return ok && left.Name.String() == "Keep"
}

// resolve follows names and Keep.consumer(…) to the expression they stand for.
func (in *inspection) resolve(e ast.Expression) ast.Expression {
	for range 10 { // a name may stand for itself
		switch x := e.(type) {
		case *ast.Identifier:
			e = in.named[x.Name.String()]
		case *ast.CallExpression:
			if len(x.ArgumentList) == 0 || !isKeep(x, "consumer") && !isKeep(x, "producer") && !isKeep(x, "workflow") {
				return e
			}
			e = x.ArgumentList[0]
		default:
			return e
		}
	}
	return nil
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
			if key, ok := p.Key.(*ast.StringLiteral); ok && key.Value.String() == name {
				return key.Idx, p.Value
			}
		}
	}
	return 0, nil
}

// find follows a path of members from the workflow's object.
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
func (in *inspection) place(path ...string) place {
	at, _ := in.find(path...)
	return in.position(at)
}

func (in *inspection) position(at file.Idx) place {
	if at <= 0 {
		return place{}
	}
	return authorPlace(in.file.Position(int(at) - in.file.Base()))
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

var nodeType = reflect.TypeFor[ast.Node]()

// walk visits a node and all below it, in the order of the text; visit says whether to go below. The
// interpreter's tree has no visitor of its own.
func walk(n ast.Node, visit func(ast.Node) bool) {
	if n == nil || reflect.ValueOf(n).Kind() == reflect.Pointer && reflect.ValueOf(n).IsNil() {
		return
	}
	if !visit(n) {
		return
	}
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	walkFields(v, visit)
}

func walkFields(v reflect.Value, visit func(ast.Node) bool) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		// DeclarationList repeats the variables that the body declares.
		if field := v.Type().Field(i); field.IsExported() && field.Name != "DeclarationList" {
			walkValue(v.Field(i), visit)
		}
	}
}

func walkValue(v reflect.Value, visit func(ast.Node) bool) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), visit)
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Type().Implements(nodeType) {
			if n, ok := v.Interface().(ast.Node); ok {
				walk(n, visit)
			}
		} else if v.Kind() == reflect.Pointer && v.Type().Elem().PkgPath() == reflect.TypeFor[ast.Program]().PkgPath() {
			walkFields(v.Elem(), visit) // CatchStatement, CaseStatement, ParameterList
		}
	case reflect.Struct:
		if v.CanAddr() && v.Addr().Type().Implements(nodeType) {
			if n, ok := v.Addr().Interface().(ast.Node); ok {
				walk(n, visit)
			}
		} else {
			walkFields(v, visit)
		}
	}
}
