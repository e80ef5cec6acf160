package lint

import (
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// fate is what becomes of the promise that an expression is.
type fate int

const (
	waited  fate = iota // awaited, returned or given to something that may wait
	dropped             // no code holds it
	misused             // taken for the value it will give
)

// awaits follows the promises that calls give to what becomes of them.
type awaits struct {
	*collector
	fates map[*script.Variable]fate // of promises in variables
}

// waits warns of calls that give a promise which nothing waits for.
func (c *awaits) waits(h *holder) {
	for i := range h.touches {
		t := &h.touches[i]
		if !t.promises() {
			continue
		}
		c.awaited(t.call, t.name())
		c.callbacks(t.call, t.name())
		c.caught(t.call, t.name())
	}
	for _, p := range h.passes {
		id, named := script.Bare(p.call.Callee).(*ast.Identifier)
		if !named || !script.IsAsync(p.to) {
			continue
		}
		name := sandbox.Clip(id.Name.String(), 100)
		c.awaited(p.call, name)
		c.callbacks(p.call, name)
	}
}

func (c *awaits) awaited(call *ast.CallExpression, name string) {
	switch c.fateOf(call, 0) {
	case waited:
	case dropped:
		c.With(c.Amend().Insert(c.place(call), "await ")).Warn("call.notAwaited", c.in.Start(call), "write await "+name+"(…)",
			"%s is called without await: the handler goes on before it is done", name)
	case misused:
		edit := sandbox.Edit{}
		if text := c.Amend().Call(c.place(call)); text != "" {
			edit = c.Amend().Swap(c.place(call), text, "(await "+text+")")
		}
		c.With(edit).Warn("call.notAwaited", c.in.Start(call), "write await "+name+
			"(…), in parentheses where a member of the result is taken: (await "+name+"(…)).length",
			"%s gives a promise, and it is used like the result", name)
	}
}

// fateOf follows a promise through the expressions around it; depth bounds how many variables it may
// go through.
func (c *awaits) fateOf(e ast.Expression, depth int) fate {
	if depth > 5 {
		return waited
	}
	switch p := c.in.Parent(e).(type) {
	case *ast.ExpressionStatement:
		return dropped
	case *ast.ConditionalExpression:
		if p.Test == e {
			return misused
		}
		return c.fateOf(p, depth)
	case *ast.BinaryExpression:
		logical := p.Operator == token.LOGICAL_AND || p.Operator == token.LOGICAL_OR || p.Operator == token.COALESCE
		if logical && p.Right == e {
			return c.fateOf(p, depth)
		}
		return misused
	case *ast.SequenceExpression:
		if p.Sequence[len(p.Sequence)-1] == e {
			return c.fateOf(p, depth)
		}
		return dropped
	case *ast.UnaryExpression:
		if p.Operator == token.VOID {
			return waited // dropped on purpose
		}
		return misused
	case *ast.OptionalChain:
		return c.fateOf(p, depth)
	case *ast.Optional:
		return c.fateOf(p, depth)
	case *ast.DotExpression:
		return c.fateOfMember(p, p.Identifier.Name.String(), depth)
	case *ast.BracketExpression:
		if p.Left == e {
			return misused
		}
	case *ast.Binding:
		if id, ok := p.Target.(*ast.Identifier); ok {
			return c.fateOfVariable(c.in.Declaring[id], depth)
		}
		return misused
	case *ast.AssignExpression:
		if id, ok := p.Left.(*ast.Identifier); ok && p.Right == e && p.Operator == token.ASSIGN {
			return c.fateOfVariable(c.in.Refers[id], depth)
		}
	case *ast.TemplateLiteral, *ast.IfStatement, *ast.WhileStatement, *ast.DoWhileStatement, *ast.ForOfStatement,
		*ast.ForInStatement, *ast.SwitchStatement:
		return misused
	case *ast.SpreadElement:
		return misused
	}
	return waited
}

func (c *awaits) fateOfMember(member *ast.DotExpression, name string, depth int) fate {
	switch name {
	case "then", "catch", "finally":
		if call, ok := c.in.Parent(member).(*ast.CallExpression); ok && call.Callee == member {
			return c.fateOf(call, depth)
		}
		return waited
	}
	return misused
}

// fateOfVariable is waited if any use waits: the others may come after it.
func (c *awaits) fateOfVariable(v *script.Variable, depth int) fate {
	if v == nil {
		return waited
	}
	if known, ok := c.fates[v]; ok {
		return known
	}
	c.fates[v] = waited // where it goes in a circle
	found := dropped
	defer func() { c.fates[v] = found }()
	for _, id := range v.Uses {
		if c.in.IsAssigned(id) {
			continue
		}
		switch c.fateOf(id, depth+1) {
		case waited:
			found = waited
			return found
		case misused:
			found = misused
		case dropped:
		}
	}
	return found
}

// deaf are methods of arrays that do not wait for their callbacks, with what to write instead.
var deaf = map[string]string{
	"forEach":   "for (const item of items) { await %s(…) }",
	"filter":    "for (const item of items) { if (await %s(…)) kept.push(item) }",
	"some":      "for (const item of items) { if (await %s(…)) … }",
	"every":     "for (const item of items) { if (!(await %s(…))) … }",
	"find":      "for (const item of items) { if (await %s(…)) { found = item; break } }",
	"findIndex": "for (const [i, item] of items.entries()) { if (await %s(…)) … }",
	"findLast":  "for (const item of items.toReversed()) { if (await %s(…)) … }",
	"map":       "const results = await Promise.all(items.map(async (item) => await %s(…)))",
	"flatMap":   "const results = (await Promise.all(items.map(async (item) => await %s(…)))).flat()",
}

// callbacks warns of a call inside a callback whose promise the caller of the callback ignores.
func (c *awaits) callbacks(call *ast.CallExpression, name string) {
	f := c.in.FunctionAround(call)
	outer, ok := c.in.Parent(f).(*ast.CallExpression)
	if !ok || !slices.Contains(outer.ArgumentList, f) {
		return
	}
	_, method, at, ok := script.SplitProperty(outer.Callee)
	instead, known := deaf[method]
	if !ok || !known {
		return
	}
	if !script.IsAsync(f) {
		if arrow, short := f.(*ast.ArrowFunctionLiteral); !short || !isExpression(arrow.Body) {
			return // what it does not await is reported there
		}
	}
	if method == "map" || method == "flatMap" {
		_, awaited := c.in.Parent(outer).(*ast.AwaitExpression)
		if !awaited && c.fateOf(outer, 0) != dropped {
			return
		}
	}
	c.Warn("call.notAwaited", at, "write "+fmt.Sprintf(instead, name),
		"%s does not wait for its callback, which calls %s", method, name)
}

func isExpression(body ast.ConciseBody) bool {
	_, ok := body.(*ast.ExpressionBody)
	return ok
}

// caught warns of a catch for a call whose failure cannot be caught (R7).
func (c *awaits) caught(call *ast.CallExpression, name string) {
	const fix = "remove the catch: a passing fault is retried by itself, and what can be expected is in the " +
		"call's result"
	if dot, ok := c.in.Parent(call).(*ast.DotExpression); ok && dot.Identifier.Name.String() == "catch" {
		c.Warn("call.catch", dot.Identifier.Idx, fix, "a failure of %s ends the run and cannot be caught", name)
		return
	}
	var inner ast.Node = call
	for n := c.in.Parent(inner); n != nil; inner, n = n, c.in.Parent(n) {
		if _, _, function := script.Function(asExpression(n)); function {
			return
		}
		try, ok := n.(*ast.TryStatement)
		if !ok || try.Catch == nil || inner != ast.Node(try.Body) {
			continue
		}
		if c.onlyHostCalls(try.Body) {
			c.Warn("call.catch", try.Try, fix,
				"a failure of %s ends the run and cannot be caught: this catch is never reached", name)
		}
		return
	}
}

func asExpression(n ast.Node) ast.Expression {
	e, _ := n.(ast.Expression)
	return e
}
