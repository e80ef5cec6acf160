package lint

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// messageID warns of a message id that does not tell one thing from another: made anew by each run, or the same for
// several things (R11). Turns of a loop that publish to topics of their own publish several things.
func (c *collector) messageID(id, topic ast.Expression, at file.Idx) {
	if id == nil {
		return
	}
	if by := c.random(id, 0); by != "" {
		c.Warn("publish.messageIdRandom", at, "use what identifies the thing outside: messageId: item.id",
			"messageId is made by %s, so each run publishes the same thing as another event", by)
		return
	}
	if text, fixed := c.in.TextOf(id); fixed {
		c.Warn("publish.messageIdConstant", at, "put what identifies the thing into it: messageId: `"+
			sandbox.Clip(text, 60)+"-${item.id}`",
			"the messageId is always %q: it is one event, and once that is consumed no publish makes another",
			sandbox.Clip(text, 100))
		return
	}
	if loop := c.loopAround(id); loop != nil && !c.varies(id, loop, 0) &&
		!c.varies(topic, loop, 0) {
		c.Warn("publish.messageIdRepeats", at, "put what identifies each item into it: messageId: item.id",
			"each turn of the loop publishes with the same messageId, so all of them are one event")
	}
}

// random names the source of chance, or the clock as it is read, in an expression or in a function that it calls.
func (c *collector) random(e ast.Expression, depth int) (by string) {
	if depth > maxHelpers {
		return ""
	}
	c.in.Walk(e, func(n ast.Node) bool {
		if by != "" {
			return false
		}
		switch n := n.(type) {
		case *ast.NewExpression:
			if c.isDate(n) && len(n.ArgumentList) == 0 && c.asItIs(n) {
				by = "new Date()"
			}
		case *ast.CallExpression:
			by = c.randomCall(n, depth)
		}
		return by == ""
	})
	if v := c.named(e); by == "" && v != nil {
		return c.random(v, depth+1)
	}
	return by
}

// randomCall names the source of chance, or the clock, that a call asks.
func (c *collector) randomCall(call *ast.CallExpression, depth int) string {
	if f := c.in.Callee(call); isFunction(f) {
		for _, r := range c.in.Returns(f) {
			if by := c.random(r.Value, depth+1); by != "" && c.asItIs(call) {
				return by
			}
		}
		return ""
	}
	left, name, _, ok := script.SplitProperty(call.Callee)
	id, named := left.(*ast.Identifier)
	if !ok || !named {
		return ""
	}
	free := c.in.Refers[id] == nil
	switch full := id.Name.String() + "." + name; {
	case free && (full == "Math.random" || full == "crypto.randomUUID"),
		(free && full == "Date.now" || name == "now" && c.hostCalls()[call]) && c.asItIs(call):
		return full
	}
	return ""
}

// isDate reports new Date(…).
func (c *collector) isDate(n *ast.NewExpression) bool {
	id, ok := n.Callee.(*ast.Identifier)
	return ok && id.Name.String() == "Date" && c.in.Refers[id] == nil
}

// named is what a name stands for, nil for all else.
func (c *collector) named(e ast.Expression) ast.Expression {
	if id, ok := e.(*ast.Identifier); ok {
		if v := c.in.Refers[id]; v != nil && v.Value != nil && v.Value != e {
			return v.Value
		}
	}
	return nil
}

// wholeTimes are the methods of a time and of a number that leave nothing of it out.
var wholeTimes = []string{"toString", "toISOString", "toJSON", "getTime", "valueOf"}

// asItIs reports a reading of the clock that becomes part of a text as the number it is, not as a day or an hour.
func (c *collector) asItIs(call ast.Expression) bool {
	for {
		whole := c.in.Dressed(call)
		switch p := c.in.Parent(whole).(type) {
		case *ast.CallExpression:
			if id, ok := p.Callee.(*ast.Identifier); !ok || id.Name.String() != "String" {
				return false // rounded, or made a date
			}
			call = p
		case *ast.DotExpression:
			outer, called := c.in.Parent(c.in.Dressed(p)).(*ast.CallExpression)
			if name := p.Identifier.Name.String(); !called || !slices.Contains(wholeTimes, name) {
				return false
			}
			call = outer
		case *ast.BinaryExpression:
			if p.Operator != token.PLUS {
				return false
			}
			call = p
		case *ast.NewExpression:
			if !c.isDate(p) || len(p.ArgumentList) != 1 {
				return false
			}
			call = p
		default:
			return true
		}
	}
}

// loopAround is the innermost loop, or function that a method of a list calls for each element, around a node within
// the same handler; nil for none.
func (c *collector) loopAround(e ast.Node) ast.Node {
	for n := c.in.Parent(e); n != nil; n = c.in.Parent(n) {
		switch n := n.(type) {
		case *ast.ForOfStatement:
			return n
		case *ast.ForStatement:
			return n
		case *ast.ArrowFunctionLiteral, *ast.FunctionLiteral:
			if call, ok := c.in.Parent(n).(*ast.CallExpression); ok {
				if _, name, _, ok := script.SplitProperty(call.Callee); ok && (name == "map" || name == "forEach") {
					return n
				}
			}
			return nil
		}
	}
	return nil
}

// varies reports whether an expression may have another value in another turn of a loop: it mentions a name that the
// loop declares or that is assigned, or it calls something.
func (c *collector) varies(e ast.Node, loop ast.Node, depth int) bool {
	if depth > 10 {
		return true
	}
	varies := false
	c.in.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpression, *ast.NewExpression:
			varies = varies || !c.plainCall(n)
		case *ast.Identifier:
			v := c.in.Refers[n]
			switch {
			case v == nil:
			case c.in.Assigned(v) || c.declaredIn(v, loop):
				varies = true
			case v.Value != nil && !v.Top:
				varies = varies || c.varies(v.Value, loop, depth+1)
			}
		}
		return !varies
	})
	return varies
}

// plainCall reports a call that gives the same for the same: String(x), and methods of texts.
func (c *collector) plainCall(n ast.Node) bool {
	call, ok := n.(*ast.CallExpression)
	if !ok {
		return false
	}
	if id, named := call.Callee.(*ast.Identifier); named {
		return id.Name.String() == "String" && c.in.Refers[id] == nil
	}
	_, name, _, ok := script.SplitProperty(call.Callee)
	return ok && slices.Contains([]string{"toString", "trim", "toLowerCase", "slice", "toISOString"}, name)
}

// declaredIn reports whether a variable is declared within a node.
func (c *collector) declaredIn(v *script.Variable, node ast.Node) bool {
	for id, declared := range c.in.Declaring {
		if declared != v {
			continue
		}
		for n := ast.Node(id); n != nil; n = c.in.Parent(n) {
			if n == node {
				return true
			}
		}
	}
	return false
}

// movedTo warns of a file that is moved to a path which is made of its name alone: one of the same name comes again,
// and is not moved to where a file is.
func (c *collector) movedTo(t *touch) {
	if t.member != "files" || t.operation != "move" || len(t.call.ArgumentList) != 1 {
		return
	}
	params, ok := c.in.Resolve(t.call.ArgumentList[0]).(*ast.ObjectLiteral)
	if !ok {
		return
	}
	at, to := c.in.Member(params, "to")
	if names, whole := c.namesOnly(to, 0); to != nil && names && whole {
		c.Warn("move.nameAlone", at, "put what tells it from an earlier one into the path, such as its time, which "+
			"files.watch and files.list give: `done/${modified}-${name}`",
			"the path is made of the name alone: a file of the same name comes again, and nothing is moved to where a file is, "+
				"so that a person has to clear the way")
	}
}

// fileNames are the members and variables that hold a file's name.
var fileNames = []string{"name", "path", "file", "filename", "fileName"}

// namesOnly reports whether an expression has a file's name in it, and whether there is nothing else in it but texts
// that are written out.
func (c *collector) namesOnly(e ast.Expression, depth int) (names, whole bool) {
	if depth > 10 {
		return false, false
	}
	both := func(parts ...ast.Expression) (names, whole bool) {
		whole = true
		for _, part := range parts {
			n, w := c.namesOnly(part, depth+1)
			names, whole = names || n, whole && w
		}
		return names, whole
	}
	switch e := script.Bare(e).(type) {
	case *ast.StringLiteral:
		return false, true
	case *ast.TemplateLiteral:
		if e.Tag != nil {
			return false, false
		}
		return both(e.Expressions...)
	case *ast.BinaryExpression:
		if e.Operator == token.PLUS {
			return both(e.Left, e.Right)
		}
	case *ast.DotExpression:
		known := slices.Contains(fileNames, e.Identifier.Name.String())
		return known, known
	case *ast.Identifier:
		if v := c.in.Refers[e]; v != nil && v.Value != nil && v.Value != ast.Expression(e) {
			return both(v.Value)
		}
		known := slices.Contains(fileNames, e.Name.String())
		return known, known
	case *ast.CallExpression: // a method of a text, as name.replace(…)
		if left, _, _, ok := script.SplitProperty(e.Callee); ok && left != nil {
			if _, of := left.(*ast.DotExpression); of {
				return both(left)
			}
		}
	}
	return false, false
}
