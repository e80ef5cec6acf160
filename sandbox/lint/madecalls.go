package lint

import (
	"cmp"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// madeCall is a call of a connector that a function makes with the ctx in its parameter, itself or by another function
// that it gives the ctx on to.
type madeCall struct {
	t *touch
	// node makes it in the body of the function: the call itself, or that of the other function.
	node *ast.CallExpression
	// certain says that whenever the function is called, it makes this call: no condition stands before it.
	certain bool
	// loop is what repeats the call in another function, empty for nothing.
	loop string
}

// maxHelpers is how many functions a ctx is followed through, each given it by the one before.
const maxHelpers = 5

// madeBy are the calls that a function makes, in no order.
func (c *collector) madeBy(f ast.Expression, parameter, depth int) (calls []madeCall) {
	params, _, ok := script.Function(f)
	if !ok || parameter < 0 || parameter >= len(params.List) || depth > maxHelpers {
		return nil
	}
	h := c.holder(params.List[parameter])
	for i := range h.touches {
		if t := &h.touches[i]; t.ofConnector() && t.call != nil {
			calls = append(calls, madeCall{t: t, node: t.call, certain: c.always(t.call, f)})
		}
	}
	for _, p := range h.passes {
		always := c.always(p.call, f)
		for _, inner := range c.madeBy(p.to, p.at, depth+1) {
			loop := cmp.Or(inner.loop, c.loop(inner.node, p.to))
			calls = append(calls, madeCall{inner.t, p.call, always && inner.certain, loop})
		}
	}
	return calls
}

// always reports whether a function makes a call whenever it is called: in no branch, and behind nothing that may end
// the function before.
func (c *collector) always(call ast.Node, f ast.Expression) bool {
	for inner, n := call, c.in.Parent(call); n != ast.Node(f); inner, n = n, c.in.Parent(n) {
		switch n := n.(type) {
		case nil, *ast.IfStatement, *ast.SwitchStatement, *ast.TryStatement, *ast.FunctionLiteral,
			*ast.ArrowFunctionLiteral, *ast.WhileStatement, *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement:
			return false
		case *ast.ConditionalExpression:
			if n.Test != inner {
				return false
			}
		case *ast.BinaryExpression:
			if short := n.Operator == token.LOGICAL_AND || n.Operator == token.LOGICAL_OR ||
				n.Operator == token.COALESCE; short && n.Left != inner {
				return false
			}
		}
	}
	_, body, _ := script.Function(f)
	ends := false
	c.in.Walk(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
			return false
		case *ast.ReturnStatement, *ast.ThrowStatement:
			ends = ends || c.in.Start(n) < c.in.Start(call) && !c.holds(n, call)
		}
		return !ends
	})
	return !ends
}

// holds reports whether a node stands inside another one.
func (c *collector) holds(outer, n ast.Node) bool {
	for ; n != nil; n = c.in.Parent(n) {
		if n == outer {
			return true
		}
	}
	return false
}

// mayReach notes what the calls of a branch go on to, where the branch continues behind its if: a plain statement, or
// the branches of another if that asks for something else. Two tests that mention the same thing may exclude each
// other, so nothing is noted for them.
func (m *mutateBody) mayReach(s ast.Statement, behind []ast.Statement) {
	first, ok := s.(*ast.IfStatement)
	if !ok {
		return
	}
	var reached sandbox.CallRange
	for _, next := range behind {
		switch next := next.(type) {
		case *ast.ExpressionStatement, *ast.VariableStatement, *ast.LexicalDeclaration:
			reached = m.within(next)
		case *ast.IfStatement:
			if !m.shareSubject(first, next) {
				reached = m.within(next)
			}
		case *ast.ReturnStatement, *ast.ThrowStatement, *ast.BranchStatement:
			return
		}
		if reached.From < reached.To {
			break
		}
	}
	for _, branch := range branches(first) {
		m.perhaps(branch, reached)
	}
}

// branches are the statements of each branch of an if, and of those in its else.
func branches(s *ast.IfStatement) (all [][]ast.Statement) {
	for {
		all = append(all, statements(s.Consequent))
		next, more := s.Alternate.(*ast.IfStatement)
		if !more {
			return append(all, statements(s.Alternate))
		}
		s = next
	}
}

// statements are the statements of a block; of another statement it is that one alone.
func statements(s ast.Statement) []ast.Statement {
	if block, ok := s.(*ast.BlockStatement); ok {
		return block.List
	}
	if s == nil {
		return nil
	}
	return []ast.Statement{s}
}

// perhaps notes what the certain calls of a list of statements go on to, unless the list leaves.
func (m *mutateBody) perhaps(list []ast.Statement, reached sandbox.CallRange) {
	var calls []int
	for _, s := range list {
		switch s.(type) {
		case *ast.ReturnStatement, *ast.ThrowStatement, *ast.BranchStatement:
			return
		}
		calls = append(calls, m.certain(s)...)
	}
	for _, call := range calls {
		if noted := &m.definition.MutateCalls[call]; noted.Later.From == noted.Later.To {
			noted.Perhaps = reached
		}
	}
}

// fallsThrough notes for the calls of a case that ends without break what the next case calls.
func (m *mutateBody) fallsThrough(s *ast.SwitchStatement) {
	for i := range s.Body[:max(len(s.Body)-1, 0)] {
		list := s.Body[i].Consequent
		if len(list) == 1 {
			list = statements(list[0])
		}
		next := s.Body[i+1].Consequent
		var reached sandbox.CallRange
		for _, statement := range next {
			if reached = m.within(statement); reached.From < reached.To {
				break
			}
		}
		m.perhaps(list, reached)
	}
}

// shareSubject reports whether the tests of two ifs mention the same thing: it may decide both.
func (m *mutateBody) shareSubject(a, b *ast.IfStatement) bool {
	of, theirs := m.subjects(a), m.subjects(b)
	for subject := range theirs.of {
		if of.of[subject] {
			return true
		}
	}
	return false
}

// subjects are what tests mention: members with all that leads to them, names, and what those stand for.
type subjects struct {
	of map[string]bool
	// left is how many more names could be followed when a variable was last followed: it is followed again only with
	// more.
	left map[*script.Variable]int
}

// subjects are the subjects of the test of an if, and of each if in its else.
func (m *mutateBody) subjects(s *ast.IfStatement) subjects {
	found := subjects{map[string]bool{}, map[*script.Variable]int{}}
	for s != nil {
		m.mentioned(s.Test, found, maxHelpers)
		s, _ = s.Alternate.(*ast.IfStatement)
	}
	return found
}

// mentioned adds what an expression mentions: of a.b.c both a.b and a.b.c. It goes on to the values of names, follow
// names deep.
func (m *mutateBody) mentioned(e ast.Expression, into subjects, follow int) {
	m.in.Walk(e, func(n ast.Node) bool {
		expression, _ := n.(ast.Expression)
		if left, name, _, ok := script.SplitProperty(expression); ok {
			m.mentioned(left, into, follow)
			into.of[m.pathOf(left)+"."+name] = true
			return false
		}
		id, ok := n.(*ast.Identifier)
		if !ok {
			return true
		}
		v := m.in.Refers[id]
		if _, member := m.in.Parent(m.in.Dressed(id)).(*ast.DotExpression); !member || v != nil && v.Value != nil {
			into.of[id.Name.String()] = true
		}
		if v != nil && v.Value != nil && into.left[v] < follow {
			into.left[v] = follow
			m.mentioned(v.Value, into, follow-1)
		}
		return true
	})
}

// pathOf writes a.b?.c as a.b.c.
func (m *mutateBody) pathOf(e ast.Expression) string {
	if left, name, _, ok := script.SplitProperty(e); ok {
		return m.pathOf(left) + "." + name
	}
	return m.in.Source(script.Bare(e))
}
