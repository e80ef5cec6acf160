package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// handlers finds which connector operations the handlers of a definition name, and what the text
// alone shows to be wrong about them.
func (in *inspection) handlers(d Definition) ([]OperationUse, []Problem) {
	c := &collector{in: in, seen: make(map[visit]bool), known: make(map[place]bool)}
	for _, p := range d.Producers {
		_, value := in.find("producers", p.Name)
		if o, ok := in.resolve(value).(*ast.ObjectLiteral); ok {
			for _, name := range producerHandlers {
				if _, f := in.member(o, name); f != nil {
					value = f
					break
				}
			}
		}
		c.handler(value, p.Name, Producer, false)
	}
	for _, consumer := range d.Consumers {
		for _, phase := range []Phase{Prepare, Mutate, Next} {
			_, value := in.find("consumers", consumer.Name, string(phase))
			c.handler(value, consumer.Name, phase, consumer.MutateByID)
		}
	}
	c.rest()
	slices.SortStableFunc(c.uses, func(a, b OperationUse) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(c.uses), c.problems
}

// visit is one function looked at as part of one handler.
type visit struct {
	function ast.Expression
	param    int
	handler  string
	phase    Phase
}

// collector walks functions that are given a ctx.
type collector struct {
	in       *inspection
	uses     []OperationUse
	problems []Problem
	seen     map[visit]bool
	known    map[place]bool // uses already attributed to a handler
}

// names are what the code of one function calls its ctx and the parts of it.
type names struct {
	ctx        map[string]bool
	members    map[string]string    // name → connector or built-in function
	operations map[string][2]string // name → connector, operation
}

func (c *collector) handler(value ast.Expression, handler string, phase Phase, readsByID bool) {
	f := c.in.resolve(value)
	c.function(f, 0, handler, phase)
	if _, body, ok := function(f); ok && phase == Mutate {
		c.codeAfter(body, f, handler, readsByID)
	}
}

// function collects what one function does with the ctx in its parameter.
func (c *collector) function(f ast.Expression, param int, handler string, phase Phase) {
	params, body, ok := function(f)
	if !ok || params == nil || param >= len(params.List) {
		return
	}
	v := visit{f, param, handler, phase}
	if c.seen[v] {
		return
	}
	c.seen[v] = true
	n := newNames(params.List[param].Target)
	var look func(node ast.Node) bool
	look = func(node ast.Node) bool {
		if e, ok := node.(ast.Expression); ok {
			if connector, operation, ok := n.operation(e); ok {
				c.use(connector, operation, e.Idx0(), handler, phase)
				return false
			}
			if member, at, ok := n.member(e); ok {
				c.builtin(member, at, handler, phase)
				return false
			}
		}
		switch node := node.(type) {
		case *ast.Binding:
			n.bind(node)
			walk(node.Initializer, look)
			return false // the names it declares are no uses of them
		case *ast.DotExpression:
			walk(node.Left, look)
			return false // x.publish is not publish
		case *ast.CallExpression:
			c.call(n, node, handler, phase)
		case *ast.Identifier:
			if member, ok := n.members[node.Name.String()]; ok {
				c.builtin(member, node.Idx, handler, phase)
			}
		}
		return true
	}
	walk(body, look)
}

func newNames(target ast.BindingTarget) *names {
	n := &names{ctx: map[string]bool{}, members: map[string]string{}, operations: map[string][2]string{}}
	switch target := target.(type) {
	case *ast.Identifier:
		n.ctx[target.Name.String()] = true
	case *ast.ObjectPattern:
		destructure(target, func(key, name string) { n.members[name] = key })
	}
	return n
}

// bind follows `const c = ctx`, `const {gmail} = ctx`, `const g = ctx.gmail`, `const {send} = ctx.gmail`.
func (n *names) bind(b *ast.Binding) {
	if b.Initializer == nil {
		return
	}
	id, _ := b.Initializer.(*ast.Identifier)
	isCtx := id != nil && n.ctx[id.Name.String()]
	connector, _, isMember := n.member(b.Initializer)
	if id != nil && !isCtx {
		connector, isMember = n.members[id.Name.String()]
	}
	switch target := b.Target.(type) {
	case *ast.Identifier:
		switch {
		case isCtx:
			n.ctx[target.Name.String()] = true
		case isMember:
			n.members[target.Name.String()] = connector
		}
	case *ast.ObjectPattern:
		destructure(target, func(key, name string) {
			switch {
			case isCtx:
				n.members[name] = key
			case isMember:
				n.operations[name] = [2]string{connector, key}
			}
		})
	}
}

// destructure names the simple members of a pattern.
func destructure(pattern *ast.ObjectPattern, found func(key, name string)) {
	for _, p := range pattern.Properties {
		switch p := p.(type) {
		case *ast.PropertyShort:
			found(p.Name.Name.String(), p.Name.Name.String())
		case *ast.PropertyKeyed:
			key, ok := p.Key.(*ast.StringLiteral)
			if !ok {
				continue
			}
			value := p.Value
			if assign, ok := value.(*ast.AssignExpression); ok {
				value = assign.Left
			}
			if id, ok := value.(*ast.Identifier); ok {
				found(key.Value.String(), id.Name.String())
			}
		}
	}
}

// splitProperty splits x.name and x["name"].
func splitProperty(e ast.Expression) (left ast.Expression, name string, at file.Idx, ok bool) {
	switch e := bare(e).(type) {
	case *ast.DotExpression:
		return bare(e.Left), e.Identifier.Name.String(), e.Identifier.Idx, true
	case *ast.BracketExpression:
		if s, ok := e.Member.(*ast.StringLiteral); ok {
			return bare(e.Left), s.Value.String(), s.Idx, true
		}
	}
	return nil, "", 0, false
}

// bare takes the question marks of optional chaining off an expression.
func bare(e ast.Expression) ast.Expression {
	for {
		switch x := e.(type) {
		case *ast.OptionalChain:
			e = x.Expression
		case *ast.Optional:
			e = x.Expression
		default:
			return e
		}
	}
}

// member recognises ctx.<name>.
func (n *names) member(e ast.Expression) (name string, at file.Idx, ok bool) {
	left, name, at, ok := splitProperty(e)
	if !ok {
		return "", 0, false
	}
	id, ok := left.(*ast.Identifier)
	return name, at, ok && n.ctx[id.Name.String()]
}

// operation recognises ctx.<connector>.<operation> under whatever names the function uses.
func (n *names) operation(e ast.Expression) (connector, operation string, ok bool) {
	if id, isID := e.(*ast.Identifier); isID {
		o, ok := n.operations[id.Name.String()]
		return o[0], o[1], ok
	}
	left, operation, _, ok := splitProperty(e)
	if !ok {
		return "", "", false
	}
	if id, isID := left.(*ast.Identifier); isID {
		connector, ok = n.members[id.Name.String()]
	} else {
		connector, _, ok = n.member(left)
	}
	if _, builtin := builtins[connector]; !ok || builtin {
		return "", "", false
	}
	return connector, operation, true
}

// call follows a ctx that is passed on, and notices connectors used as functions.
func (c *collector) call(n *names, call *ast.CallExpression, handler string, phase Phase) {
	name, at, isMember := n.member(call.Callee)
	if _, known := builtins[name]; isMember && !known {
		c.problems = append(c.problems, problem("connector.unknown", c.in.position(at), fmt.Sprintf("ctx.%s is no function", clip(name, 100)),
			"ctx has the functions "+strings.Join(builtinNames, ", ")+"; a connector's operations are called as ctx.<connector>.<operation>(params)"))
	}
	callee, ok := bare(call.Callee).(*ast.Identifier)
	if !ok {
		return
	}
	for i, argument := range call.ArgumentList {
		if id, ok := argument.(*ast.Identifier); ok && n.ctx[id.Name.String()] {
			c.function(c.in.resolve(callee), i, handler, phase)
		}
	}
}

func (c *collector) use(connector, operation string, at file.Idx, handler string, phase Phase) {
	p := c.in.position(at)
	c.known[p] = true
	c.uses = append(c.uses, OperationUse{Connector: connector, Operation: operation, Handler: handler, Phase: phase, Line: p.line, Column: p.column})
}

// builtin reports a function of ctx in a phase that never allows it (R8).
func (c *collector) builtin(name string, at file.Idx, handler string, phase Phase) {
	m, ok := builtins[name]
	if !ok || allowed(phase, m, true) {
		return
	}
	p := problem("phase.forbidden", c.in.position(at), fmt.Sprintf("ctx.%s is not allowed in %s (of %q)", name, phase, handler), whereAllowed(m))
	if !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}

// rest finds uses by the name ctx that no handler was seen to reach, in classes for example.
func (c *collector) rest() {
	n := &names{ctx: map[string]bool{"ctx": true}, members: map[string]string{}, operations: map[string][2]string{}}
	for _, statement := range c.in.body {
		walk(statement, func(node ast.Node) bool {
			e, ok := node.(ast.Expression)
			if !ok {
				return true
			}
			connector, operation, ok := n.operation(e)
			if ok && !c.known[c.in.position(e.Idx0())] {
				c.use(connector, operation, e.Idx0(), "", "")
			}
			return !ok
		})
	}
}
