package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// Variable is one declared name: what the text shows of its value and where it is used.
type Variable struct {
	Name string
	at   file.Idx
	// Top tells that the Top-level code declares it, outside of every function.
	Top bool
	// Value is what it stands for, nil where that is not plain: a parameter, a part of a pattern, or
	// a name that is declared twice or assigned to.
	Value ast.Expression
	// pattern is the destructuring that declares it and key the member it takes; empty otherwise.
	pattern ast.Node
	key     string
	// Uses are all its mentions but the declaration.
	Uses []*ast.Identifier
	// declared counts declarations: functions and vars may repeat a name.
	declared int
	// loose are the first two uses that do more than read a member; see loosely.
	loose     []*ast.Identifier
	examined  bool
	rewritten bool // a member of it is assigned
	// ofArray tells that a pattern of a list declares it.
	ofArray bool
	// Hoisted tells that a var declares it: before that, or where it is not reached, it is undefined.
	Hoisted bool
	blank   bool // declared without a value
}

// Scope is a part of the text with names of its own.
type Scope struct {
	Outer     *Scope
	function  bool // vars belong here
	Variables map[string]*Variable
}

func (s *Scope) lookUp(name string) *Variable {
	for ; s != nil; s = s.Outer {
		if v, ok := s.Variables[name]; ok {
			return v
		}
	}
	return nil
}

// position is where a node stands in the tree.
type position struct {
	parent ast.Node
	scope  *Scope // of what is inside the node
	// function is the innermost function around the node, nil at the top level.
	function ast.Expression
}

// scopes finds out which declaration each name in a script refers to. Its three passes go over the
// text once each: what belongs to what, what is declared, what is used.
type scopes struct {
	nodes map[ast.Node]position
	// Declaring are the names in the place of their declaration.
	Declaring map[*ast.Identifier]*Variable
	// Refers is what each other name Refers to; absent for free names.
	Refers map[*ast.Identifier]*Variable
	// Free are the names that the script does not declare, in the order of the text.
	Free []*ast.Identifier
	All  []*Variable // in the order of their declaration
	top  *Scope
	looks
}

func resolveNames(body []ast.Statement) *scopes {
	s := &scopes{
		nodes:     make(map[ast.Node]position),
		Declaring: make(map[*ast.Identifier]*Variable), Refers: make(map[*ast.Identifier]*Variable),
		top: &Scope{function: true, Variables: make(map[string]*Variable)},
	}
	for _, statement := range body {
		walkWithin(statement, nil, s.open)
	}
	for _, statement := range body {
		Walk(statement, s.declare)
	}
	for _, statement := range body {
		Walk(statement, s.use)
	}
	for _, v := range s.All {
		if v.Value != nil && (v.declared > 1 || s.Assigned(v)) {
			v.Value = nil
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
		if _, _, ok := Function(e); ok {
			here.function = e
		}
	}
	switch n.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassStaticBlock:
		here.scope = &Scope{Outer: here.scope, function: true, Variables: make(map[string]*Variable)}
	case *ast.BlockStatement, *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.SwitchStatement,
		*ast.ClassLiteral:
		here.scope = &Scope{Outer: here.scope, Variables: make(map[string]*Variable)}
	}
	s.nodes[n] = here
	return true
}

// Parent is what a node is a part of, nil for a statement of the top level.
func (s *scopes) Parent(n ast.Node) ast.Node {
	s.look()
	return s.nodes[n].parent
}

// Around is the scope at a node.
func (s *scopes) Around(n ast.Node) *Scope {
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
		if _, statement := s.Parent(n).(*ast.FunctionDeclaration); n.Name != nil && !statement {
			s.add(s.Around(n), n.Name, n)
		}
		s.parameters(n, n.ParameterList)
	case *ast.ArrowFunctionLiteral:
		s.parameters(n, n.ParameterList)
	case *ast.FunctionDeclaration:
		if n.Function.Name != nil {
			s.add(s.Around(s.Parent(n)), n.Function.Name, n.Function)
		}
	case *ast.ClassDeclaration:
		if n.Class.Name != nil {
			s.add(s.Around(s.Parent(n)), n.Class.Name, n.Class)
		}
	case *ast.ClassLiteral:
		if _, statement := s.Parent(n).(*ast.ClassDeclaration); n.Name != nil && !statement {
			s.add(s.Around(n), n.Name, n)
		}
	case *ast.VariableStatement:
		s.bindings(s.hoisted(n), n.List, true)
	case *ast.LexicalDeclaration:
		s.bindings(s.Around(n), n.List, false)
	case *ast.ForLoopInitializerVarDeclList:
		s.bindings(s.hoisted(n), n.List, true)
	case *ast.ForIntoVar:
		s.pattern(s.hoisted(n), n.Binding.Target, nil)
	case *ast.ForDeclaration:
		s.pattern(s.Around(n), n.Target, nil)
	case *ast.TryStatement:
		if n.Catch != nil && n.Catch.Parameter != nil {
			s.pattern(s.Around(n.Catch.Body), n.Catch.Parameter, nil)
		}
	}
	return true
}

// hoisted is the scope of a var: that of the function around it.
func (s *scopes) hoisted(n ast.Node) *Scope {
	sc := s.Around(n)
	for !sc.function {
		sc = sc.Outer
	}
	return sc
}

func (s *scopes) parameters(f ast.Node, list *ast.ParameterList) {
	if list == nil {
		return
	}
	for _, p := range list.List {
		s.pattern(s.Around(f), p.Target, p)
	}
	s.pattern(s.Around(f), list.Rest, nil)
}

func (s *scopes) bindings(in *Scope, list []*ast.Binding, hoisted bool) {
	for _, b := range list {
		if id, ok := b.Target.(*ast.Identifier); ok {
			v := s.add(in, id, b.Initializer)
			v.Hoisted, v.blank = hoisted, b.Initializer == nil
		} else {
			s.pattern(in, b.Target, b)
		}
	}
}

// pattern declares the names in the target of a declaration; whole is the declaration of a pattern.
func (s *scopes) pattern(in *Scope, target ast.Node, whole ast.Node) {
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
			if id, ok := e.(*ast.Identifier); ok {
				s.Declaring[id].ofArray = true
			}
		}
		s.pattern(in, target.Rest, nil)
	case *ast.AssignExpression:
		s.pattern(in, target.Left, nil)
	case *ast.SpreadElement:
		s.pattern(in, target.Expression, nil)
	}
}

func (s *scopes) part(in *Scope, id *ast.Identifier, whole ast.Node, key string) {
	v := s.add(in, id, nil)
	v.pattern, v.key = whole, key
}

func (s *scopes) add(in *Scope, id *ast.Identifier, value ast.Expression) *Variable {
	name := id.Name.String()
	v, ok := in.Variables[name]
	if !ok {
		v = &Variable{Name: name, at: id.Idx, Top: in.isTop(s.top), Value: value}
		in.Variables[name] = v
		s.All = append(s.All, v)
	}
	v.declared++
	s.Declaring[id] = v
	return v
}

// isTop also counts blocks of top-level code.
func (s *Scope) isTop(top *Scope) bool {
	for ; s != top; s = s.Outer {
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
	if !ok || s.Declaring[id] != nil {
		return true
	}
	if v := s.Around(at.parent).lookUp(id.Name.String()); v != nil {
		s.Refers[id] = v
		v.Uses = append(v.Uses, id)
	} else {
		s.Free = append(s.Free, id)
	}
	return true
}

// FunctionAround is the innermost function that holds a node, nil at the top level.
func (s *scopes) FunctionAround(n ast.Node) ast.Expression { return s.nodes[n].function }
