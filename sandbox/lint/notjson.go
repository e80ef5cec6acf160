package lint

import (
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
)

// lostClasses are classes whose instances become {} in JSON, each with the text before and after the value that keeps
// it.
var lostClasses = map[string][2]string{
	"Map": {"Object.fromEntries(", ")"}, "Set": {"[...", "]"},
	"WeakMap": {}, "WeakSet": {}, "RegExp": {}, "Error": {},
}

// notJSON reports values that would be lost where only JSON is kept: the call fails there when it is reached.
func (c *collector) notJSON(e ast.Expression, where string) { c.notJSONIn(e, where, 0) }

func (c *collector) notJSONIn(e ast.Expression, where string, depth int) {
	if depth > maxNested {
		return
	}
	switch value := c.in.Resolve(e).(type) {
	case *ast.ObjectLiteral:
		for _, p := range value.Value {
			name, _, member, plain := plainMember(p)
			if plain && name == "toJSON" {
				return
			}
			if plain {
				c.notJSONIn(member, where, depth+1)
			}
		}
	case *ast.ArrayLiteral:
		for _, item := range value.Value {
			if item != nil {
				c.notJSONIn(item, where, depth+1)
			}
		}
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		c.Fail("value.notJSON", c.in.Start(e), "call it, or leave it out",
			"%s is kept as JSON, which has no functions", where)
	case *ast.RegExpLiteral:
		c.Fail("value.notJSON", c.in.Start(e), "keep its text: String(pattern)",
			"%s is kept as JSON, which makes {} of a regular expression", where)
	case *ast.NewExpression:
		class, named := value.Callee.(*ast.Identifier)
		if !named || c.in.Refers[class] != nil {
			return
		}
		name := class.Name.String()
		as, lost := lostClasses[name]
		if !lost {
			return
		}
		fix, edit := "keep what it holds as objects, lists, texts and numbers", sandbox.Edit{}
		if as[0] != "" {
			text := c.Amend().Expression(c.place(e))
			if text == "" {
				text = "x"
			}
			form := as[0] + text + as[1]
			fix, edit = "write "+sandbox.Clip(form, 200), c.jsonForm(e, form)
		}
		c.With(edit).Fail("value.notJSON", c.in.Start(e), fix, "%s is kept as JSON, which makes {} of a %s", where, name)
	}
}

// jsonForm writes a value in another form; one in the short form of a member keeps its name.
func (c *collector) jsonForm(e ast.Expression, form string) sandbox.Edit {
	if p, short := c.in.Parent(e).(*ast.PropertyShort); short {
		return c.Amend().Replace(c.in.Position(p.Name.Idx), p.Name.Name.String()+": "+form)
	}
	if id, named := e.(*ast.Identifier); named && c.shortMember(id) {
		return c.Amend().Replace(c.place(e), id.Name.String()+": "+form)
	}
	return c.Amend().Replace(c.place(e), form)
}

// shortMember reports a name that is a member in its short form.
func (c *collector) shortMember(id *ast.Identifier) bool {
	for n := c.in.Parent(id); n != nil; n = c.in.Parent(n) {
		object, ok := n.(*ast.ObjectLiteral)
		if !ok {
			continue
		}
		return slices.ContainsFunc(object.Value, func(p ast.Property) bool {
			short, ok := p.(*ast.PropertyShort)
			return ok && &short.Name == id
		})
	}
	return false
}

// keptValues reports what JSON has no form for in what a handler returns to be kept.
func (c *collector) keptValues(f ast.Expression, phase sandbox.Phase) {
	for _, r := range c.in.Returns(f) {
		if r.Value == nil {
			continue
		}
		if phase != sandbox.Prepare {
			c.notJSON(r.Value, "the state")
			continue
		}
		if result, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral); ok {
			if _, data := c.in.Member(result, "data"); data != nil {
				c.notJSON(data, "data")
			}
		}
	}
}
