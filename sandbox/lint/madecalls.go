package lint

import (
	"cmp"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox/script"
)

// madeCall is a call of a connector that a function makes with the ctx in its parameter, itself or by another function
// that it gives the ctx on to.
type madeCall struct {
	t *touch
	// node makes it in the body of the function: the call itself, or that of the other function.
	node *ast.CallExpression
	// certain tells that each call of the function makes it: nothing before it decides.
	certain bool
	// loop is in what another function makes it each time anew, empty for nothing.
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
	script.Walk(body, func(n ast.Node) bool {
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
