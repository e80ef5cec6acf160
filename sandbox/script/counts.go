package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"

	"github.com/pawl-run/pawl/sandbox"
)

// countMark is the wrapper's parameter that a counted script calls before each statement of its functions, with the
// number of the statement. No script can write this name.
const countMark = "count mark"

// counter makes the statements of functions call countMark. What it has changed can be undone: the tree is also what
// the script's problems are found in.
type counter struct {
	in     *Text
	places []sandbox.Place // of the statements, by their number
	undo   []func()
}

// markCounts makes the statements of all functions of the tree call countMark. It returns where they are written,
// nothing for a tree without any; undo makes the tree again what was written. Code that only the transformer has
// written has no place, and is not counted.
func markCounts(tree *ast.Program, in *Text) (places []sandbox.Place, undo func()) {
	undo = func() {}
	wrapper := wrapperOf(tree)
	if wrapper == nil {
		return nil, undo
	}
	c := &counter{in: in}
	var parts []ast.Node
	Walk(wrapper.Body, func(n ast.Node) bool {
		if e, ok := n.(ast.Expression); ok && n != ast.Node(wrapper.Body) {
			if _, body, ok := Function(e); ok {
				Walk(body, func(n ast.Node) bool {
					parts = append(parts, n)
					return true
				})
				return false
			}
		}
		return true
	})
	for _, part := range parts { // all of them are found before the first is changed
		c.mark(part)
	}
	if len(c.places) == 0 {
		return nil, undo
	}
	parameters := wrapper.ParameterList.List
	wrapper.ParameterList.List = append(parameters[:len(parameters):len(parameters)],
		&ast.Binding{Target: &ast.Identifier{Name: countMark, Idx: wrapper.ParameterList.Closing}})
	return c.places, func() {
		wrapper.ParameterList.List = parameters
		for _, again := range c.undo {
			again()
		}
	}
}

// mark counts the statements that a node holds.
func (c *counter) mark(n ast.Node) {
	switch n := n.(type) {
	case *ast.BlockStatement:
		c.list(&n.List)
	case *ast.CaseStatement:
		c.list(&n.Consequent)
	case *ast.IfStatement:
		c.branch(&n.Consequent)
		c.branch(&n.Alternate)
	case *ast.ForStatement:
		c.branch(&n.Body)
	case *ast.ForInStatement:
		c.branch(&n.Body)
	case *ast.ForOfStatement:
		c.branch(&n.Body)
	case *ast.WhileStatement:
		c.branch(&n.Body)
	case *ast.DoWhileStatement:
		c.branch(&n.Body)
	case *ast.ExpressionBody:
		if call := c.call(n.Expression); call != nil {
			written := n.Expression
			c.undo = append(c.undo, func() { n.Expression = written })
			n.Expression = &ast.SequenceExpression{Sequence: []ast.Expression{call, written}}
		}
	}
}

func (c *counter) list(list *[]ast.Statement) {
	written := *list
	var counted []ast.Statement
	for _, statement := range written {
		if call := c.call(statement); call != nil {
			counted = append(counted, &ast.ExpressionStatement{Expression: call})
		}
		counted = append(counted, statement)
	}
	c.undo = append(c.undo, func() { *list = written })
	*list = counted
}

// branch counts a statement that stands without a block.
func (c *counter) branch(statement *ast.Statement) {
	written := *statement
	if written == nil {
		return
	}
	if _, block := written.(*ast.BlockStatement); block {
		return
	}
	call := c.call(written)
	if call == nil {
		return
	}
	at := c.in.Start(written)
	c.undo = append(c.undo, func() { *statement = written })
	*statement = &ast.BlockStatement{LeftBrace: at, RightBrace: at, List: []ast.Statement{
		&ast.ExpressionStatement{Expression: call}, written,
	}}
}

// call is the call that counts a part, nil for one that is not counted: it does nothing by itself, or its author has
// not written it.
func (c *counter) call(n ast.Node) *ast.CallExpression {
	switch n.(type) {
	case *ast.FunctionDeclaration, *ast.EmptyStatement, *ast.BlockStatement, *ast.ClassDeclaration:
		return nil
	}
	at := c.in.Start(n)
	place := c.in.Position(at)
	if place.Line == 0 {
		return nil
	}
	c.places = append(c.places, place)
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.String(countMark), Idx: at},
		LeftParenthesis: at, RightParenthesis: at,
		ArgumentList: []ast.Expression{numberOf(len(c.places)-1, at)},
	}
}

func numberOf(n int, at file.Idx) ast.Expression {
	return &ast.NumberLiteral{Idx: at, Value: int64(n)}
}

// wrapperOf is the function that the whole text of a script stands in.
func wrapperOf(tree *ast.Program) *ast.FunctionLiteral {
	if len(tree.Body) != 1 {
		return nil
	}
	statement, _ := tree.Body[0].(*ast.ExpressionStatement)
	if statement == nil {
		return nil
	}
	wrapper, _ := statement.Expression.(*ast.FunctionLiteral)
	return wrapper
}
