package sandbox

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
)

// onlyCall warns of what a mutate cannot do: the host takes over at its mutation call, so no code
// behind it runs and no second call is sent (R4). Where reads by id are declared, only the last call
// of the text is taken for the mutation.
func (c *collector) onlyCall(f ast.Expression, h *holder, e entry) {
	m := mutate{collector: c, handler: e.handler, f: f, calls: make(map[ast.Node]*touch)}
	for i := range h.touches {
		t := &h.touches[i]
		if _, own := t.builtin(); own || t.operation == "" || t.call == nil {
			continue
		}
		m.calls[t.call] = t
	}
	if len(m.calls) == 0 {
		return
	}
	if e.consumer.MutateByID {
		var last *ast.CallExpression
		for _, t := range m.calls {
			if last == nil || t.call.Idx0() > last.Idx0() {
				last = t.call
			}
		}
		m.calls = map[ast.Node]*touch{last: m.calls[last]}
	}
	_, body, _ := function(f)
	walk(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BlockStatement:
			m.after(node.List)
		case *ast.CaseStatement:
			m.after(node.Consequent)
		case *ast.ArrayLiteral:
			m.parallel(node)
		case *ast.TryStatement:
			m.finally(node)
		}
		if t := m.calls[node]; t != nil {
			m.repeated(t)
		}
		return true
	})
}

// mutate is one handler that is looked at.
type mutate struct {
	*collector
	handler string
	f       ast.Expression
	calls   map[ast.Node]*touch
}

// after looks for a statement that makes the call and has another one behind it.
func (m *mutate) after(list []ast.Statement) {
	for i, statement := range list[:max(len(list)-1, 0)] {
		if !m.makesCall(statement) {
			continue
		}
		for _, later := range list[i+1:] {
			if t := m.callIn(later); t != nil {
				m.second(t)
				return
			}
		}
		switch next := list[i+1].(type) {
		case *ast.EmptyStatement, *ast.BranchStatement:
		case *ast.ReturnStatement:
			if next.Argument != nil {
				m.tooLate(next.Idx0())
			}
		default:
			m.tooLate(next.Idx0())
		}
		return
	}
}

func (m *mutate) tooLate(at file.Idx) {
	m.warn("mutate.codeAfter", at, "move it to next, which gets the outcome as its third argument: async next(ctx, prepared, mutationResult) with mutationResult.status and mutationResult.result",
		"mutate of %q ends at its mutation call: this code after it never runs", m.handler)
}

func (m *mutate) second(t *touch) {
	m.warn("mutate.secondCall", t.e.Idx0(), "make one call per run: publish an event for it in next, and call "+t.name()+" in mutate of a consumer that subscribes to that event",
		"mutate of %q ends at its first mutation call: %s after it is never sent", m.handler, t.name())
}

// parallel looks for several calls in one list, as for Promise.all.
func (m *mutate) parallel(list *ast.ArrayLiteral) {
	found := 0
	for _, e := range list.Value {
		if t := m.callIn(e); t != nil {
			if found++; found == 2 {
				m.second(t)
			}
		}
	}
}

// finally looks for a finally behind the call.
func (m *mutate) finally(try *ast.TryStatement) {
	if try.Finally != nil && len(try.Finally.List) > 0 && m.callIn(try.Body) != nil {
		m.tooLate(try.Finally.List[0].Idx0())
	}
}

// repeated looks for a loop that makes the call each time.
func (m *mutate) repeated(t *touch) {
	const fix = "make one call per run: reserve one event in prepare (the consumer runs again for the next one), or use an operation that takes all items at once"
	var inner ast.Node = t.call
	for n := m.in.parent(inner); n != nil && n != ast.Node(m.f); inner, n = n, m.in.parent(n) {
		switch n := n.(type) {
		case *ast.IfStatement, *ast.SwitchStatement, *ast.ConditionalExpression:
			return // it may be a search for the one item to work on
		case *ast.BlockStatement:
			i := slices.IndexFunc(n.List, func(s ast.Statement) bool { return ast.Node(s) == inner })
			if i+1 < len(n.List) {
				switch next := n.List[i+1].(type) {
				case *ast.BranchStatement:
					if next.Token == token.BREAK {
						return
					}
				case *ast.ReturnStatement:
					return
				}
			}
		case *ast.ReturnStatement:
			if m.in.functionAround(n) == m.f {
				return
			}
		case *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement:
			m.warn("mutate.loop", t.e.Idx0(), fix, "mutate of %q ends at its first mutation call: %s in this loop is sent once, for the first item", m.handler, t.name())
			return
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
			outer, ok := m.in.parent(n).(*ast.CallExpression)
			if !ok {
				return
			}
			if _, method, _, ok := splitProperty(outer.Callee); ok && deaf[method] != "" {
				m.warn("mutate.loop", t.e.Idx0(), fix, "mutate of %q ends at its first mutation call: %s in %s is sent once, for the first item", m.handler, t.name(), method)
			}
			return
		}
	}
}

// callIn is the first call that a part of the handler makes, in whatever branch.
func (m *mutate) callIn(n ast.Node) (found *touch) {
	walk(n, func(n ast.Node) bool {
		if t := m.calls[n]; t != nil && found == nil {
			found = t
		}
		return found == nil
	})
	return found
}

// makesCall reports whether a plain statement (no branch, loop or nested function) makes the call.
func (m *mutate) makesCall(statement ast.Statement) bool {
	switch statement.(type) {
	case *ast.ExpressionStatement, *ast.VariableStatement, *ast.LexicalDeclaration:
	default:
		return false
	}
	found := false
	walk(statement, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ConditionalExpression:
			return false
		case *ast.BinaryExpression:
			if node.Operator == token.LOGICAL_AND || node.Operator == token.LOGICAL_OR || node.Operator == token.COALESCE {
				return false
			}
		}
		found = found || m.calls[node] != nil
		return !found
	})
	return found
}
