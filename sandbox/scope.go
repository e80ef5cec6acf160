package sandbox

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// variable is one declared name: what the text shows of its value and where it is used.
type variable struct {
	name string
	at   file.Idx
	// top tells that the top-level code declares it, outside of every function.
	top bool
	// value is what it stands for, nil where that is not plain: a parameter, a part of a pattern, or
	// a name that is declared twice or assigned to.
	value ast.Expression
	// pattern is the destructuring that declares it and key the member it takes; empty otherwise.
	pattern ast.Node
	key     string
	// uses are all its mentions but the declaration.
	uses []*ast.Identifier
	// declared counts declarations: functions and vars may repeat a name.
	declared int
	// loose are the first two uses that do more than read a member; see loosely.
	loose     []*ast.Identifier
	examined  bool
	rewritten bool // a member of it is assigned
	// hoisted tells that a var declares it: before that, or where it is not reached, it is undefined.
	hoisted bool
}

// scope is a part of the text with names of its own.
type scope struct {
	outer     *scope
	function  bool // vars belong here
	variables map[string]*variable
}

func (s *scope) lookUp(name string) *variable {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v
		}
	}
	return nil
}

// position is where a node stands in the tree.
type position struct {
	parent ast.Node
	scope  *scope // of what is inside the node
	// function is the innermost function around the node, nil at the top level.
	function ast.Expression
}

// scopes finds out which declaration each name in a script refers to. Its three passes go over the
// text once each: what belongs to what, what is declared, what is used.
type scopes struct {
	nodes map[ast.Node]position
	// declaring are the names in the place of their declaration.
	declaring map[*ast.Identifier]*variable
	// refers is what each other name refers to; absent for free names.
	refers map[*ast.Identifier]*variable
	// free are the names that the script does not declare, in the order of the text.
	free []*ast.Identifier
	all  []*variable // in the order of their declaration
	top  *scope
}

func resolveNames(body []ast.Statement) *scopes {
	s := &scopes{
		nodes:     make(map[ast.Node]position),
		declaring: make(map[*ast.Identifier]*variable), refers: make(map[*ast.Identifier]*variable),
		top: &scope{function: true, variables: make(map[string]*variable)},
	}
	for _, statement := range body {
		walkWithin(statement, nil, s.open)
	}
	for _, statement := range body {
		walk(statement, s.declare)
	}
	for _, statement := range body {
		walk(statement, s.use)
	}
	for _, v := range s.all {
		if v.value != nil && (v.declared > 1 || s.assigned(v)) {
			v.value = nil
		}
	}
	return s
}

// notNames leaves out what looks like a name and is none: labels, members behind a dot.
func notNames(n, parent ast.Node) bool {
	id, ok := n.(*ast.Identifier)
	if !ok {
		_, private := n.(*ast.PrivateIdentifier)
		return private
	}
	switch p := parent.(type) {
	case *ast.DotExpression:
		return id == &p.Identifier
	case *ast.BranchStatement, *ast.MetaProperty:
		return true
	case *ast.LabelledStatement:
		return id == p.Label
	case *ast.FunctionLiteral:
		return id == p.Name
	case *ast.ClassLiteral:
		return id == p.Name
	}
	return false
}

// open notes parents and opens scopes.
func (s *scopes) open(n, parent ast.Node) bool {
	if notNames(n, parent) {
		return false
	}
	outer := s.nodes[parent]
	here := position{parent: parent, scope: outer.scope, function: outer.function}
	if here.scope == nil {
		here.scope = s.top
	}
	if e, ok := parent.(ast.Expression); ok {
		if _, _, ok := function(e); ok {
			here.function = e
		}
	}
	switch n.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassStaticBlock:
		here.scope = &scope{outer: here.scope, function: true, variables: make(map[string]*variable)}
	case *ast.BlockStatement, *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.SwitchStatement, *ast.ClassLiteral:
		here.scope = &scope{outer: here.scope, variables: make(map[string]*variable)}
	}
	s.nodes[n] = here
	return true
}

// parent is what a node is a part of, nil for a statement of the top level.
func (s *scopes) parent(n ast.Node) ast.Node { return s.nodes[n].parent }

// around is the scope at a node.
func (s *scopes) around(n ast.Node) *scope {
	if at, ok := s.nodes[n]; ok {
		return at.scope
	}
	return s.top
}

// declare notes the names that a node declares.
func (s *scopes) declare(n ast.Node) bool {
	if _, known := s.nodes[n]; !known {
		return false // no name
	}
	switch n := n.(type) {
	case *ast.FunctionLiteral:
		if _, statement := s.parent(n).(*ast.FunctionDeclaration); n.Name != nil && !statement {
			s.add(s.around(n), n.Name, n)
		}
		s.parameters(n, n.ParameterList)
	case *ast.ArrowFunctionLiteral:
		s.parameters(n, n.ParameterList)
	case *ast.FunctionDeclaration:
		if n.Function.Name != nil {
			s.add(s.around(s.parent(n)), n.Function.Name, n.Function)
		}
	case *ast.ClassDeclaration:
		if n.Class.Name != nil {
			s.add(s.around(s.parent(n)), n.Class.Name, n.Class)
		}
	case *ast.ClassLiteral:
		if _, statement := s.parent(n).(*ast.ClassDeclaration); n.Name != nil && !statement {
			s.add(s.around(n), n.Name, n)
		}
	case *ast.VariableStatement:
		s.bindings(s.hoisted(n), n.List, true)
	case *ast.LexicalDeclaration:
		s.bindings(s.around(n), n.List, false)
	case *ast.ForLoopInitializerVarDeclList:
		s.bindings(s.hoisted(n), n.List, true)
	case *ast.ForIntoVar:
		s.pattern(s.hoisted(n), n.Binding.Target, nil)
	case *ast.ForDeclaration:
		s.pattern(s.around(n), n.Target, nil)
	case *ast.TryStatement:
		if n.Catch != nil && n.Catch.Parameter != nil {
			s.pattern(s.around(n.Catch.Body), n.Catch.Parameter, nil)
		}
	}
	return true
}

// hoisted is the scope of a var: that of the function around it.
func (s *scopes) hoisted(n ast.Node) *scope {
	sc := s.around(n)
	for !sc.function {
		sc = sc.outer
	}
	return sc
}

func (s *scopes) parameters(f ast.Node, list *ast.ParameterList) {
	if list == nil {
		return
	}
	for _, p := range list.List {
		s.pattern(s.around(f), p.Target, p)
	}
	s.pattern(s.around(f), list.Rest, nil)
}

func (s *scopes) bindings(in *scope, list []*ast.Binding, hoisted bool) {
	for _, b := range list {
		if id, ok := b.Target.(*ast.Identifier); ok {
			s.add(in, id, b.Initializer).hoisted = hoisted
		} else {
			s.pattern(in, b.Target, b)
		}
	}
}

// pattern declares the names in the target of a declaration; whole is the declaration of a pattern.
func (s *scopes) pattern(in *scope, target ast.Node, whole ast.Node) {
	switch target := target.(type) {
	case *ast.Identifier:
		s.add(in, target, nil)
	case *ast.ObjectPattern:
		for _, p := range target.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				s.part(in, &p.Name, whole, p.Name.Name.String())
			case *ast.PropertyKeyed:
				key, _ := p.Key.(*ast.StringLiteral)
				value := p.Value
				if assign, ok := value.(*ast.AssignExpression); ok {
					value = assign.Left
				}
				if id, ok := value.(*ast.Identifier); ok && key != nil && !p.Computed {
					s.part(in, id, whole, key.Value.String())
				} else {
					s.pattern(in, value, nil)
				}
			}
		}
		s.pattern(in, target.Rest, nil)
	case *ast.ArrayPattern:
		for _, e := range target.Elements {
			s.pattern(in, e, nil)
		}
		s.pattern(in, target.Rest, nil)
	case *ast.AssignExpression:
		s.pattern(in, target.Left, nil)
	case *ast.SpreadElement:
		s.pattern(in, target.Expression, nil)
	}
}

func (s *scopes) part(in *scope, id *ast.Identifier, whole ast.Node, key string) {
	v := s.add(in, id, nil)
	v.pattern, v.key = whole, key
}

func (s *scopes) add(in *scope, id *ast.Identifier, value ast.Expression) *variable {
	name := id.Name.String()
	v, ok := in.variables[name]
	if !ok {
		v = &variable{name: name, at: id.Idx, top: in.isTop(s.top), value: value}
		in.variables[name] = v
		s.all = append(s.all, v)
	}
	v.declared++
	s.declaring[id] = v
	return v
}

// isTop also counts blocks of top-level code.
func (s *scope) isTop(top *scope) bool {
	for ; s != top; s = s.outer {
		if s == nil || s.function {
			return false
		}
	}
	return true
}

// use notes what a name refers to.
func (s *scopes) use(n ast.Node) bool {
	at, known := s.nodes[n]
	if !known {
		return false
	}
	id, ok := n.(*ast.Identifier)
	if !ok || s.declaring[id] != nil {
		return true
	}
	if v := s.around(at.parent).lookUp(id.Name.String()); v != nil {
		s.refers[id] = v
		v.uses = append(v.uses, id)
	} else {
		s.free = append(s.free, id)
	}
	return true
}

// assigned reports whether anything but its declaration gives a variable a value.
func (s *scopes) assigned(v *variable) bool {
	for _, id := range v.uses {
		if s.isAssigned(id) {
			return true
		}
	}
	return false
}

// isAssigned reports whether an expression is the target of an assignment.
func (s *scopes) isAssigned(e ast.Expression) bool {
	switch p := s.parent(e).(type) {
	case *ast.AssignExpression:
		return p.Left == e
	case *ast.UnaryExpression:
		return p.Operator.String() == "++" || p.Operator.String() == "--"
	case *ast.ForIntoExpression, *ast.ArrayPattern, *ast.ObjectPattern:
		return true
	case *ast.PropertyShort:
		_, pattern := s.parent(p).(*ast.ObjectPattern)
		return pattern
	case *ast.PropertyKeyed:
		_, pattern := s.parent(p).(*ast.ObjectPattern)
		return pattern && p.Value == e
	}
	return false
}

// functionAround is the innermost function that holds a node, nil at the top level.
func (s *scopes) functionAround(n ast.Node) ast.Expression { return s.nodes[n].function }
