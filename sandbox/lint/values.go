package lint

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/flow"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// origin is where a value comes from: a call of ctx, the path into what it gives, and the calls of functions of the
// script through which it has come.
type origin struct {
	touch *touch
	path  []string
	site  *flow.Site
}

// same reports whether two values come from one call of ctx: one that stands in a function is another one for each call
// of the function.
func (o origin) same(other origin) bool { return o.touch == other.touch && o.site.MayBe(other.site) }

// event reports whether a value is one event that ctx.peek or ctx.getByIds has given.
func (o origin) event() bool { return o.events() && len(o.path) == 1 && o.path[0] == flow.Element }

// list reports whether a value is a list of such events.
func (o origin) list() bool { return o.events() && len(o.path) == 0 }

func (o origin) events() bool {
	if o.touch == nil {
		return false
	}
	m, own := o.touch.builtin()
	return own && (m == sandbox.MemberPeek || m == sandbox.MemberGetByIDs)
}

// eventMembers are the members of an event that a script sees; knownMembers are further ones, which getByIds gives.
var (
	eventMembers = []string{"messageId", "id", "topic", "title", "payload", "attempt", "lastError"}
	knownMembers = []string{"status", "scheduledAt"}
)

// listMembers are the members of what ctx gives for a list: of the list, and of the promise that it is before await.
var listMembers = append([]string{"then", "catch", "finally"}, sandbox.ListMembers...)

// maxOthers bounds how many further origins of one expression are noted.
const maxOthers = 20

// topic is the topic of the events, where the text shows it.
func (c *collector) topic(o origin) (string, bool) {
	if !o.events() || len(o.touch.call.ArgumentList) == 0 {
		return "", false
	}
	return c.in.TextOf(c.outside(o.touch.call.ArgumentList[0], o.site))
}

// outside is what an expression inside of functions stands for outside of them: a parameter for what the call gives for
// it, and anything else for itself.
func (c *collector) outside(e ast.Expression, site *flow.Site) ast.Expression {
	for _, call := range site.Calls() {
		if given := c.argumentFor(e, call); given != nil {
			e = given
		}
	}
	return e
}

// argumentFor is what a call gives for a parameter of the function that it calls, nil where the expression is no such
// parameter, or the text does not show it.
func (c *collector) argumentFor(e ast.Expression, call *ast.CallExpression) ast.Expression {
	id, named := e.(*ast.Identifier)
	if !named || call == nil {
		return nil
	}
	params, _, ok := script.Function(c.in.Callee(call))
	v := c.in.Refers[id]
	if v == nil || !ok || c.in.Assigned(v) {
		return nil
	}
	for i, p := range params.List {
		if i < len(call.ArgumentList) {
			if _, spread := call.ArgumentList[i].(*ast.SpreadElement); spread {
				return nil
			}
		}
		if target, plain := p.Target.(*ast.Identifier); !plain || c.in.Declaring[target] != v {
			continue
		}
		if i < len(call.ArgumentList) {
			return call.ArgumentList[i]
		}
		return p.Initializer
	}
	return nil
}

// given follows what the calls of ctx give, and tells what is taken of it that is not there.
func (c *collector) given() {
	c.origins, c.others = make(map[ast.Expression]origin), make(map[ast.Expression][]origin)
	for _, h := range c.order {
		for i := range h.touches {
			t := &h.touches[i]
			if t.call == nil || c.flowed[t.call] {
				continue
			}
			m, own := t.builtin()
			if !own && !t.ofConnector() || own && m != sandbox.MemberPeek && m != sandbox.MemberGetByIDs {
				continue
			}
			c.flowed[t.call] = true
			var f *flow.Flow
			take := func(g flow.Taking) { c.ofEvents(t, f.Site(), g) }
			if !own {
				take = func(g flow.Taking) { c.result(sandbox.ResultRead{Connector: t.member, Operation: t.operation}, g) }
			}
			f = flow.New(c.in, take, func(path []string, e ast.Expression) {
				o := origin{t, path, f.Site()}
				if first, known := c.origins[e]; !known {
					c.origins[e] = o
				} else if !first.same(o) && len(c.others[e]) < maxOthers {
					c.others[e] = append(c.others[e], o)
				}
			})
			f.From(t.call, nil)
		}
	}
}

// maxResultReads bounds what is taken down of the results that a script reads.
const maxResultReads = 2000

// result notes a member that is taken of a result. Whether the result has it is judged where the schemas are known.
func (c *collector) result(r sandbox.ResultRead, g flow.Taking) {
	if len(c.definition.Results) == maxResultReads {
		return
	}
	r.Place, r.Path, r.Name, r.Pattern, r.Called = c.in.Position(g.At), g.Path, g.Name, g.E == nil, g.Called
	c.definition.Results = append(c.definition.Results, r)
}

// ofEvents judges what is taken of a list of events, of an event and of its payload.
func (c *collector) ofEvents(t *touch, site *flow.Site, g flow.Taking) {
	switch {
	case len(g.Path) == 0:
		if slices.Contains(listMembers, g.Name) {
			return
		}
		fix := "take one event of the list: const [event] = await " + t.name() + "(…)"
		c.With(c.oneOf(t)).Warn("event.list", g.At, fix, "%s gives a list of events, which has no %s", t.name(),
			sandbox.Clip(g.Name, 100))
	case len(g.Path) == 1 && g.Path[0] == flow.Element:
		c.ofEvent(t, g)
	case len(g.Path) == 2 && g.Path[1] == "payload":
		topic, _ := c.topic(origin{touch: t, site: site})
		c.payloadReads = append(c.payloadReads, payloadRead{topic, g})
	}
}

// oneOf makes the name that stands for a list of events stand for the first of them.
func (c *collector) oneOf(t *touch) sandbox.Edit {
	var e ast.Expression = c.in.Dressed(t.call)
	if await, ok := c.in.Parent(e).(*ast.AwaitExpression); ok {
		e = await
	}
	if binding, ok := c.in.Parent(e).(*ast.Binding); ok {
		if id, named := binding.Target.(*ast.Identifier); named && !c.usedAsList(id) {
			name := id.Name.String()
			return c.Amend().Replace(c.in.Position(id.Idx), "["+name+"] = "+
				c.Amend().Initializer(c.in.Position(id.Idx)))
		}
	}
	return sandbox.Edit{}
}

// usedAsList reports whether the script takes what only a list has of the variable that the name declares, or goes
// through it: it means the list then, and one slip is the mistake.
func (c *collector) usedAsList(declared *ast.Identifier) bool {
	v := c.in.Declaring[declared]
	for use, of := range c.in.Refers {
		if v == nil || of != v {
			continue
		}
		switch p := c.in.Parent(c.in.Dressed(use)).(type) {
		case *ast.DotExpression:
			if slices.Contains(listMembers, p.Identifier.Name.String()) {
				return true
			}
		case *ast.BracketExpression, *ast.ForOfStatement, *ast.SpreadElement:
			return true
		}
	}
	return v == nil
}

func (c *collector) ofEvent(t *touch, g flow.Taking) {
	if slices.Contains(eventMembers, g.Name) || inherits(g.Name) || t.member == "getByIds" &&
		slices.Contains(knownMembers, g.Name) {
		return
	}
	c.notOfEvent(g)
}

// notOfEvent warns of a member that an event does not have.
func (c *collector) notOfEvent(g flow.Taking) {
	name := sandbox.Clip(g.Name, 60)
	if near := similar.Names(g.Name, eventMembers, 1); len(near) > 0 {
		c.With(c.renamed(g, near[0])).Warn("event.unknown", g.At, "write "+near[0],
			"an event has no %s; it has messageId (also as id), topic, title and payload", name)
		return
	}
	c.With(c.within(g, "payload")).Warn("event.unknown", g.At, "what was published is in its payload: write payload."+name,
		"an event has no %s, so this is undefined: it has messageId, topic, title and payload", name)
}

// renamed is the edit that takes a member of another name.
func (c *collector) renamed(g flow.Taking, to string) sandbox.Edit {
	return c.Amend().Rename(c.in.Position(g.At), g.Name, to)
}

// within is the edit that takes the member from another member, such as payload, instead.
func (c *collector) within(g flow.Taking, member string) sandbox.Edit {
	if g.E == nil {
		return c.Amend().Nest(c.in.Position(g.At), g.Name, member)
	}
	return c.Amend().Path(c.in.Position(g.At), g.Name, member)
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "no members"
	}
	return strings.Join(distinct(names), ", ")
}

func distinct(names []string) []string {
	var list []string
	for _, n := range names {
		if !slices.Contains(list, n) {
			list = append(list, sandbox.Clip(n, 60))
		}
	}
	return list
}

// inherits tells names that every object has.
func inherits(name string) bool {
	return slices.Contains([]string{"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable",
		"toLocaleString", "toString", "valueOf"}, name)
}

// handed follows what a handler is given in a parameter.
func (c *collector) handed(f ast.Expression, parameter int, take func(flow.Taking),
	hold func([]string, ast.Expression)) {
	params, _, ok := script.Function(f)
	if ok && parameter < len(params.List) {
		flow.New(c.in, take, hold).Bind(params.List[parameter].Target, nil)
	}
}

// place is where an expression begins.
func (c *collector) place(e ast.Expression) sandbox.Place { return c.in.Position(c.in.Start(e)) }

// mentions are those of the value in a tree, also behind the names that it mentions.
func (c *collector) mentions(e ast.Node, of func(ast.Expression) bool, depth int) (found bool) {
	if depth > 10 {
		return false
	}
	c.in.Walk(e, func(n ast.Node) bool {
		expression, ok := n.(ast.Expression)
		if !ok || found {
			return !found
		}
		if of(expression) {
			found = true
			return false
		}
		if id, named := expression.(*ast.Identifier); named {
			if v := c.in.Refers[id]; v != nil && v.Value != nil && !v.Top && v.Value != e {
				found = c.mentions(v.Value, of, depth+1)
			}
		}
		return !found
	})
	return found
}
