package lint

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// emptyRun warns of a next that takes members of prepared.data without any test before it, where prepare has a result
// without reservations and without data: next runs after that result too (R3), and fails there.
func (c *collector) emptyRun(prepare, next ast.Expression, d *sandbox.ConsumerDefinition) {
	if !c.returnsNoData(prepare) {
		return
	}
	at := c.firstRead(next, 1, "data")
	if at == 0 || c.testsBefore(next, at) {
		return
	}
	guard := "if (" + c.dataName(next) + " == null) return;"
	c.With(c.Amend().Begin(c.place(next), guard)).Warn("next.unguarded", at, "begin next with: "+guard,
		"prepare of %q has a result with reservations: [] and no data; next runs after it too, and fails here",
		sandbox.Clip(d.Name, 100))
}

// unguardedResult warns of a next that takes members of the result without any test before it: there is no result where
// nothing was to be done, where a person skips the call, or says that it has happened without saying what came of it.
func (c *collector) unguardedResult(next ast.Expression, d *sandbox.ConsumerDefinition) {
	at := c.firstRead(next, 2, "result")
	if at == 0 || c.testsBefore(next, at) {
		return
	}
	c.Warn("next.unguarded", at, `read it where there is one: if (outcome.status === "applied") …, and with ?. where a `+
		"person may say that the call has happened: outcome.result?.id",
		"next of %q runs too where no call was made or a person skips it; there is no result then, and this fails",
		sandbox.Clip(d.Name, 100))
}

// dataName is how a next names the data that it is given.
func (c *collector) dataName(next ast.Expression) string {
	params, _, _ := script.Function(next)
	switch target := params.List[1].Target.(type) {
	case *ast.Identifier:
		return target.Name.String() + ".data"
	case *ast.ObjectPattern:
		for _, p := range target.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				if p.Name.Name.String() == "data" {
					return "data"
				}
			case *ast.PropertyKeyed:
				if id, ok := p.Value.(*ast.Identifier); ok {
					if key, named := p.Key.(*ast.StringLiteral); named && key.Value.String() == "data" {
						return id.Name.String()
					}
				}
			}
		}
	}
	return "prepared.data"
}

// returnsNoData reports whether the text shows a result of prepare with an empty list of reservations and no data.
func (c *collector) returnsNoData(prepare ast.Expression) bool {
	for _, r := range c.in.Returns(prepare) {
		result, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral)
		if !ok || !c.in.Fixed(r.Value) || !c.reservesNothing(result) {
			continue
		}
		_, _, whole := script.Keys(result)
		_, data := c.in.Member(result, "data")
		if data == nil && whole {
			return true
		}
		if kind := c.in.Kind(data); kind == "null" || kind == "undefined" {
			return true
		}
	}
	return false
}

// firstRead is the first place in next that takes a member of a member of a parameter, as of prepared.data, 0 if the
// text shows none. A place with optional chaining does not count.
func (c *collector) firstRead(next ast.Expression, parameter int, member string) file.Idx {
	var first file.Idx
	found := func(at file.Idx) {
		if first == 0 || at < first {
			first = at
		}
	}
	_, body, _ := script.Function(next)
	c.in.Walk(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DotExpression:
			if c.isPart(n.Left, next, parameter, member) {
				found(n.Identifier.Idx)
			}
		case *ast.BracketExpression:
			if c.isPart(n.Left, next, parameter, member) {
				found(c.in.Start(n))
			}
		case *ast.Binding:
			if pattern, ok := n.Target.(*ast.ObjectPattern); ok && c.isPart(n.Initializer, next, parameter, member) {
				found(pattern.LeftBrace)
			}
		}
		return true
	})
	return first
}

// isPart reports an expression that is a member of a parameter of next: written so, or a name for it that is declared
// once.
func (c *collector) isPart(e ast.Expression, next ast.Expression, parameter int, member string) bool {
	parameters, _, _ := script.Function(next)
	if parameters == nil || len(parameters.List) <= parameter {
		return false
	}
	whole := parameters.List[parameter].Target
	id, ok := e.(*ast.Identifier)
	if !ok {
		return c.isWrittenPart(e, whole, member)
	}
	v := c.in.Refers[id]
	if v == nil || c.in.Assigned(v) {
		return false
	}
	if pattern, ok := whole.(*ast.ObjectPattern); ok {
		return c.declares(pattern, member, v)
	}
	return v.Value != nil && v.Value != e && c.isWrittenPart(v.Value, whole, member)
}

// isWrittenPart reports the expression <whole>.member, where whole is the parameter of that name.
func (c *collector) isWrittenPart(e ast.Expression, whole ast.Node, member string) bool {
	dot, ok := e.(*ast.DotExpression)
	if !ok || dot.Identifier.Name.String() != member {
		return false
	}
	left, named := dot.Left.(*ast.Identifier)
	parameter, plain := whole.(*ast.Identifier)
	return named && plain && c.in.Refers[left] != nil && c.in.Refers[left] == c.in.Declaring[parameter]
}

// declares reports whether a pattern gives a member without a default value the name of a variable.
func (c *collector) declares(pattern *ast.ObjectPattern, member string, v *script.Variable) bool {
	for _, p := range pattern.Properties {
		switch p := p.(type) {
		case *ast.PropertyShort:
			if p.Name.Name.String() == member && p.Initializer == nil && c.in.Declaring[&p.Name] == v {
				return true
			}
		case *ast.PropertyKeyed:
			key, text := p.Key.(*ast.StringLiteral)
			id, plain := p.Value.(*ast.Identifier)
			if text && plain && !p.Computed && key.Value.String() == member && c.in.Declaring[id] == v {
				return true
			}
		}
	}
	return false
}

// testsBefore reports whether next decides anything before a place, or catches: it may leave the place out then.
func (c *collector) testsBefore(next ast.Expression, at file.Idx) bool {
	_, body, _ := script.Function(next)
	tests := false
	c.in.Walk(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStatement, *ast.SwitchStatement, *ast.ConditionalExpression, *ast.TryStatement,
			*ast.WhileStatement, *ast.DoWhileStatement, *ast.ForStatement, *ast.ForOfStatement, *ast.ForInStatement:
			tests = tests || c.in.Start(n) < at
		case *ast.BinaryExpression:
			switch n.Operator.String() {
			case "&&", "||", "??":
				tests = tests || c.in.Start(n) < at
			}
		}
		return !tests
	})
	return tests
}
