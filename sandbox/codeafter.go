package sandbox

import (
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
)

// codeAfter warns of statements behind the mutation call: the host takes over there, so they never
// run (R4). Where reads by id are declared, only the last call of the text is taken for the mutation.
func (c *collector) codeAfter(body ast.Node, f ast.Expression, handler string, readsByID bool) {
	params, _, _ := function(f)
	if params == nil || len(params.List) == 0 {
		return
	}
	n := newNames(params.List[0].Target)
	var calls []file.Idx
	isCall := func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpression)
		if !ok {
			return false
		}
		_, _, ok = n.operation(bare(call.Callee))
		return ok
	}
	walk(body, func(node ast.Node) bool {
		if b, ok := node.(*ast.Binding); ok {
			n.bind(b)
		}
		if isCall(node) {
			calls = append(calls, node.Idx0())
		}
		return true
	})
	if len(calls) == 0 {
		return
	}
	last := slices.Max(calls)
	walk(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BlockStatement:
			c.after(node.List, isCall, last, handler, readsByID)
		case *ast.CaseStatement:
			c.after(node.Consequent, isCall, last, handler, readsByID)
		}
		return true
	})
}

// after looks for a statement that makes the call and has another one behind it.
func (c *collector) after(list []ast.Statement, isCall func(ast.Node) bool, last file.Idx, handler string, readsByID bool) {
	for i, statement := range list[:max(len(list)-1, 0)] {
		if !makesCall(statement, isCall, last, readsByID) {
			continue
		}
		switch next := list[i+1].(type) {
		case *ast.EmptyStatement, *ast.BranchStatement:
		case *ast.ReturnStatement:
			if next.Argument != nil {
				c.tooLate(next, handler)
			}
		default:
			c.tooLate(next, handler)
		}
		return
	}
}

func (c *collector) tooLate(statement ast.Statement, handler string) {
	c.problems = append(c.problems, warning("mutate.codeAfter", c.in.position(statement.Idx0()),
		fmt.Sprintf("mutate of %q ends at its mutation call: this code after it never runs", handler),
		"move it to next, which gets the outcome as its third argument (mutationResult.status and mutationResult.result)"))
}

// makesCall reports whether a plain statement (no branch, loop or nested function) makes the call.
func makesCall(statement ast.Statement, isCall func(ast.Node) bool, last file.Idx, readsByID bool) bool {
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
		if isCall(node) && (!readsByID || node.Idx0() == last) {
			found = true
		}
		return !found
	})
	return found
}
