package lint

import (
	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// mayReach notes for the calls of a branch that goes on behind its if what stands there: a plain statement, or the
// branches of another if that asks for something else. Tests that mention one thing may exclude each other, and say
// nothing here.
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

// statements are those of a block, or the one.
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
	of := make(map[string]bool)
	m.subjects(a, of, 0)
	theirs := make(map[string]bool)
	m.subjects(b, theirs, 0)
	for subject := range theirs {
		if of[subject] {
			return true
		}
	}
	return false
}

// subjects are what the tests of an if, and of those in its else, mention: members with all that leads to them, names,
// and what those stand for.
func (m *mutateBody) subjects(s *ast.IfStatement, into map[string]bool, depth int) {
	for s != nil {
		m.mentioned(s.Test, into, depth)
		s, _ = s.Alternate.(*ast.IfStatement)
	}
}

// mentioned adds what an expression mentions: of a.b.c both a.b and a.b.c.
func (m *mutateBody) mentioned(e ast.Expression, into map[string]bool, depth int) {
	script.Walk(e, func(n ast.Node) bool {
		expression, _ := n.(ast.Expression)
		if left, name, _, ok := script.SplitProperty(expression); ok {
			m.mentioned(left, into, depth)
			into[m.pathOf(left)+"."+name] = true
			return false
		}
		id, ok := n.(*ast.Identifier)
		if !ok {
			return true
		}
		v := m.in.Refers[id]
		if _, member := m.in.Parent(m.in.Dressed(id)).(*ast.DotExpression); !member || v != nil && v.Value != nil {
			into[id.Name.String()] = true
		}
		if v != nil && v.Value != nil && depth < 5 {
			m.mentioned(v.Value, into, depth+1)
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
