package flow

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox/script"
)

// Element is the step of a path that leads to any element of a list.
const Element = "*"

// Taking is a member that the text takes of a value that is followed.
type Taking struct {
	// Path leads from the value to what the member is taken of; Name is the member.
	Path []string
	Name string
	At   file.Idx
	// E takes the member; nil where a pattern does.
	E ast.Expression
	// Called tells that the member is called as a method.
	Called bool
}

// Flow follows a value through names, members, patterns, loops and the methods of lists, as far as the text shows it.
// What it does not follow it leaves out.
type Flow struct {
	in *script.Text
	// take is told of each member that is taken; hold of each expression that is the value or a part of it.
	take func(t Taking)
	hold func(path []string, e ast.Expression)
	seen map[visit]bool
	left int
	site *Site
}

// visit is a variable that is followed with what has come through a site: what a function returns is followed for each
// of its calls separately.
type visit struct {
	v    *script.Variable
	site *Site
}

// Bounds of one flow: a script may name a value in many places.
const (
	maxFlow  = 20_000
	maxSteps = 30
)

// New follows in one text; From or Bind says where it begins.
func New(in *script.Text, take func(Taking), hold func(path []string, e ast.Expression)) *Flow {
	return &Flow{in: in, take: take, hold: hold, seen: make(map[visit]bool), left: maxFlow}
}

// Site is where what is followed now has come out of functions of the script; nil where it has not.
func (f *Flow) Site() *Site { return f.site }

// follows reports whether a variable was not followed yet from this site, and notes it.
func (f *Flow) follows(v *script.Variable) bool {
	at := visit{v, f.site}
	if f.seen[at] {
		return false
	}
	f.seen[at] = true
	return true
}

func step(path []string, name string) []string { return append(slices.Clone(path), name) }

// passing are the methods of a list that give a list of its elements, picking those that give one of them.
var (
	passing  = []string{"filter", "slice", "sort", "reverse", "toSorted", "toReversed", "splice", "toSpliced"}
	picking  = []string{"find", "findLast", "at", "pop", "shift"}
	visiting = []string{"map", "flatMap", "filter", "find", "findLast", "findIndex", "findLastIndex", "forEach", "some",
		"every"}
	comparing = []string{"sort", "toSorted"}
)

// From follows an expression that is the value at a path.
func (f *Flow) From(e ast.Expression, path []string) {
	if f.left--; f.left < 0 || len(path) > maxSteps {
		return
	}
	if f.hold != nil {
		f.hold(path, e)
	}
	whole := f.in.Dressed(e)
	switch p := f.in.Parent(whole).(type) {
	case *ast.AwaitExpression:
		f.From(p, path)
	case *ast.DotExpression, *ast.BracketExpression:
		f.member(p, whole, path)
	case *ast.Binding:
		if p.Initializer == whole {
			f.Bind(p.Target, path)
		}
	case *ast.AssignExpression:
		if v := f.in.AssignedHere(p); v != nil && p.Right == whole && f.follows(v) {
			for _, use := range v.Uses {
				f.From(use, path)
			}
		}
	case *ast.BinaryExpression:
		switch op := p.Operator.String(); {
		case op == "??" || op == "||":
			f.From(p, path)
		case op == "&&" && p.Right == whole:
			f.From(p, path)
		}
	case *ast.ForOfStatement:
		if p.Source == whole {
			switch into := p.Into.(type) {
			case *ast.ForDeclaration:
				f.Bind(into.Target, step(path, Element))
			case *ast.ForIntoVar:
				f.Bind(into.Binding.Target, step(path, Element))
			}
		}
	case *ast.CallExpression:
		f.argument(p, whole, path)
	case *ast.ReturnStatement, *ast.ExpressionBody:
		f.returned(p, path)
	case *ast.SpreadElement:
		f.added(p, path)
	}
}

// returned follows what a named function returns to where it is called, each call by itself.
func (f *Flow) returned(n ast.Node, path []string) {
	function := f.in.FunctionAround(n)
	if function == nil {
		function, _ = f.in.Parent(n).(ast.Expression)
	}
	v := f.in.NameOf(function)
	if v == nil || !f.follows(v) {
		return
	}
	inner := f.site
	for _, use := range v.Uses {
		if call, ok := f.in.Parent(use).(*ast.CallExpression); ok && call.Callee == ast.Expression(use) {
			f.site = inner.through(call)
			f.From(call, path)
		}
	}
	f.site = inner
}

// added follows the elements of a list into another list that they are pushed to.
func (f *Flow) added(n *ast.SpreadElement, path []string) {
	call, ok := f.in.Parent(n).(*ast.CallExpression)
	if !ok {
		return
	}
	left, method, _, _ := script.SplitProperty(call.Callee)
	id, named := left.(*ast.Identifier)
	if !named || method != "push" {
		return
	}
	v := f.in.Refers[id]
	if v == nil || v.Value == nil || !f.follows(v) {
		return
	}
	for _, use := range v.Uses {
		f.From(use, path)
	}
}

// member follows what takes a member of the value.
func (f *Flow) member(p ast.Node, whole ast.Expression, path []string) {
	e, _ := p.(ast.Expression)
	left, name, at, named := script.SplitProperty(e)
	if bracket, ok := p.(*ast.BracketExpression); ok {
		if bracket.Left != whole {
			return
		}
		if !named { // [i] and [name] alike: a number of a list, or any member
			if _, number := bracket.Member.(*ast.NumberLiteral); number || f.in.Numeric(bracket.Member) {
				f.From(e, step(path, Element))
			}
			return
		}
	}
	if !named || left == nil {
		return
	}
	outer := f.in.Dressed(e)
	call, _ := f.in.Parent(outer).(*ast.CallExpression)
	called := call != nil && call.Callee == outer
	f.take(Taking{Path: path, Name: name, At: at, E: e, Called: called})
	if !called {
		f.From(e, step(path, name))
		return
	}
	if len(call.ArgumentList) > 0 {
		f.callback(name, call, path)
	}
	switch {
	case slices.Contains(passing, name):
		f.From(call, path)
	case slices.Contains(picking, name):
		f.From(call, step(path, Element))
	case name == "then" && len(call.ArgumentList) > 0:
		f.parameter(call.ArgumentList[0], 0, path)
	}
}

// callback follows the elements of a list into the function that a method of it is given.
func (f *Flow) callback(method string, call *ast.CallExpression, path []string) {
	function, inside := call.ArgumentList[0], step(path, Element)
	switch {
	case slices.Contains(visiting, method):
		f.parameter(function, 0, inside)
	case slices.Contains(comparing, method):
		f.parameter(function, 0, inside)
		f.parameter(function, 1, inside)
	case method == "reduce" || method == "reduceRight":
		f.parameter(function, 1, inside)
	}
}

// argument follows a value into a function of the script that is called at this place only.
func (f *Flow) argument(call *ast.CallExpression, whole ast.Expression, path []string) {
	id, named := script.Bare(call.Callee).(*ast.Identifier)
	if !named || call.Callee == whole {
		return
	}
	if v := f.in.Refers[id]; v != nil && len(v.Uses) == 1 {
		f.parameter(id, slices.Index(call.ArgumentList, whole), path)
	}
}

// parameter follows a value into a parameter of a function.
func (f *Flow) parameter(function ast.Expression, at int, path []string) {
	params, _, ok := script.Function(f.in.Resolve(function))
	if ok && at >= 0 && at < len(params.List) {
		f.Bind(params.List[at].Target, path)
	}
}

// Bind follows the names of a declaration.
func (f *Flow) Bind(target ast.Node, path []string) {
	switch target := target.(type) {
	case *ast.Identifier:
		v := f.in.Declaring[target]
		if v == nil || f.in.Assigned(v) || !f.follows(v) {
			return
		}
		for _, use := range v.Uses {
			f.From(use, path)
		}
	case *ast.AssignExpression:
		f.Bind(target.Left, path)
	case *ast.ObjectPattern:
		for _, p := range target.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				name := p.Name.Name.String()
				f.take(Taking{Path: path, Name: name, At: p.Name.Idx})
				f.Bind(&p.Name, step(path, name))
			case *ast.PropertyKeyed:
				if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
					f.take(Taking{Path: path, Name: key.Value.String(), At: key.Idx})
					f.Bind(p.Value, step(path, key.Value.String()))
				}
			}
		}
	case *ast.ArrayPattern:
		for _, e := range target.Elements {
			if e != nil {
				f.Bind(e, step(path, Element))
			}
		}
		if target.Rest != nil {
			f.Bind(target.Rest, path)
		}
	}
}
