package lint

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// resultMembers are the members of a prepare result that mean something to the host.
var resultMembers = []string{"reservations", "data", "ui", "wakeAt", "cancel"}

// results checks each result of prepare; members are those that any of them has, and closed tells
// that there are no others.
func (c *collector) results(prepare ast.Expression, d *sandbox.ConsumerDefinition) (members []string, closed bool) {
	list := c.in.Returns(prepare)
	closed = len(list) > 0
	takes := slices.ContainsFunc(list, func(r script.Return) bool {
		result, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral)
		return ok && !c.reservesNothing(result)
	})
	if len(list) == 0 && c.endsItself(prepare) {
		c.Fail("prepare.result", c.in.Start(prepare), "return "+script.ResultShape+", or "+nothing+
			" when there is nothing to do", "prepare of %q returns nothing", d.Name)
	}
	for _, r := range list {
		if r.Value == nil {
			c.With(c.Amend().After(c.in.Position(r.At), " "+nothing)).Fail("prepare.result", r.At,
				"write return "+nothing, "prepare of %q returns nothing here", d.Name)
			continue
		}
		if what := c.in.Never(r.Value, "object"); what != "" {
			fix, edit := "return "+script.ResultShape, sandbox.Edit{}
			if kind := c.in.Kind(r.Value); kind == "null" || kind == "undefined" {
				fix, edit = "write return "+nothing, c.Amend().Replace(c.place(r.Value), nothing)
			} else if array, ok := c.in.Resolve(r.Value).(*ast.ArrayLiteral); ok && len(array.Value) == 0 {
				fix, edit = "write return "+nothing, c.Amend().Replace(c.place(r.Value), nothing)
			}
			c.With(edit).Fail("prepare.result", c.in.Start(r.Value), fix,
				"prepare of %q must return an object, and returns %s here", d.Name, what)
			continue
		}
		result, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral)
		if !ok || !c.in.Fixed(r.Value) {
			closed = false
			continue
		}
		names, at, whole := script.Keys(result)
		closed = closed && whole
		members = append(members, names...)
		c.reservations(result, names, at, whole, d)
		c.title(prepare, result, names, at, whole, d)
		c.wakeAt(result, at, d)
		if takes && whole {
			c.forgotten(prepare, r.Value, result, names, d)
		}
	}
	return members, closed
}

// endsItself reports whether a function without a return certainly comes to its end: it has no throw,
// no endless loop, and calls nothing but ctx.
func (c *collector) endsItself(f ast.Expression) bool {
	_, body, _ := script.Function(f)
	block, ok := body.(*ast.BlockStatement)
	if !ok || generator(f) || !c.onlyHostCalls(block) {
		return false
	}
	ends := true
	c.in.Walk(block, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.WhileStatement, *ast.DoWhileStatement, *ast.ForStatement:
			ends = false
		}
		return ends
	})
	return ends
}

func generator(f ast.Expression) bool {
	literal, ok := f.(*ast.FunctionLiteral)
	return ok && literal.Generator
}

func (c *collector) reservations(result *ast.ObjectLiteral, names []string, at map[string]file.Idx, whole bool,
	d *sandbox.ConsumerDefinition) {
	_, list := c.in.Member(result, "reservations")
	for _, name := range names {
		switch close := similar.Names(name, resultMembers, 1); {
		case slices.Contains(resultMembers, name):
		case list == nil && whole && (slices.Contains(close, "reservations") || strings.HasPrefix(name, "reserv")):
			c.With(c.Amend().Rename(c.in.Position(at[name]), name, "reservations")).Fail("prepare.result", at[name],
				"rename it to reservations",
				"what prepare of %q returns has no reservations; did you mean them by %q?", d.Name,
				sandbox.Clip(name, 100))
			return
		case len(close) > 0 && !slices.Contains(names, close[0]):
			c.With(c.Amend().Rename(c.in.Position(at[name]), name, close[0])).Warn("prepare.unknownMember", at[name],
				"rename it to "+close[0],
				"%q of the result of prepare means nothing; did you mean %s?", sandbox.Clip(name, 100), close[0])
		case name == "title" && !slices.Contains(names, "ui"):
			c.With(c.Amend().Nest(c.in.Position(at[name]), name, "ui")).Warn("prepare.unknownMember", at[name],
				"put it into ui: ui: { title: … }",
				"the title of what prepare returns belongs in ui")
		}
	}
	if list == nil {
		if whole {
			c.Fail("prepare.result", result.LeftBrace,
				`name the events that this run works on: reservations: [{ topic: "…", ids: [event.messageId] }], or `+
					`reservations: [] for none`,
				"what prepare of %q returns has no reservations", d.Name)
		}
		return
	}
	if what := c.in.Never(list, "array"); what != "" {
		c.Fail("prepare.result", at["reservations"],
			`write reservations: [] for none, or reservations: [{ topic: "…", ids: [event.messageId] }]`,
			"reservations must be an array, and is %s", what)
	}
	array, ok := c.in.Resolve(list).(*ast.ArrayLiteral)
	if !ok {
		return
	}
	for _, e := range array.Value {
		if e != nil {
			c.reservation(e, d)
		}
	}
}

// wakeAt warns of a time that would be ignored: it is no text (S4), or stands beside the event of the run (C6).
func (c *collector) wakeAt(result *ast.ObjectLiteral, at map[string]file.Idx, d *sandbox.ConsumerDefinition) {
	_, when := c.in.Member(result, "wakeAt")
	if when == nil {
		return
	}
	_, list := c.in.Member(result, "reservations")
	if array, ok := c.in.Resolve(list).(*ast.ArrayLiteral); ok && d.Concurrency != nil && len(array.Value) > 0 {
		c.Warn("prepare.wakeAt", at["wakeAt"], "remove it, or reserve nothing here",
			"wakeAt is ignored: consumer %q has concurrency, and there it says when an event that was not reserved is "+
				"looked at again", sandbox.Clip(d.Name, 100))
		return
	}
	what := c.in.Never(when, "text", "object", "null", "undefined")
	if what == "" && c.in.Numeric(when) {
		what = "a number"
	}
	if what != "" {
		edit := sandbox.Edit{}
		if text := c.Amend().Expression(c.place(when)); text != "" && what == "a number" {
			if c.Amend().Expression(c.Amend().Value(c.in.Position(at["wakeAt"]))) == text {
				edit = c.Amend().Replace(c.place(when), "new Date("+text+").toISOString()")
			}
		}
		c.With(edit).Warn("prepare.wakeAt", at["wakeAt"], "write wakeAt: new Date(…).toISOString()",
			"wakeAt must be a time as ISO 8601 text, and is %s, so it is ignored", what)
	}
}

// forgotten warns of a result of a consumer with concurrency that neither takes its event nor says when it is looked at
// again, unless it is the one for no event (C6).
func (c *collector) forgotten(prepare, returned ast.Expression, result *ast.ObjectLiteral, names []string,
	d *sandbox.ConsumerDefinition) {
	if d.Concurrency == nil || !c.reservesNothing(result) || slices.Contains(names, "wakeAt") ||
		slices.Contains(names, "cancel") || c.ofNoEvent(prepare, returned) {
		return
	}
	c.Warn("prepare.wakeAt", c.in.Start(returned),
		"say when to look again: wakeAt: new Date(…).toISOString(); or end the "+
			"event: cancel: [{ topic: \"…\", ids: [event.messageId] }]",
		"consumer %q has concurrency, and this result neither reserves its event nor says when to look at it again: it is "+
			"looked at after a day, or after a deploy", sandbox.Clip(d.Name, 100))
}

// ofNoEvent reports a result that prepare returns by a test of whether there is an event at all.
func (c *collector) ofNoEvent(prepare, returned ast.Expression) bool {
	for n := ast.Node(returned); n != nil && n != ast.Node(prepare); n = c.in.Parent(n) {
		var test ast.Expression
		switch p := c.in.Parent(n).(type) {
		case *ast.IfStatement:
			test = p.Test
		case *ast.ConditionalExpression:
			test = p.Test
		}
		if test != nil && ast.Node(test) != n && c.asksForEvent(test) {
			return true
		}
	}
	return false
}

// asksForEvent reports a test in which an event or a list of events stands by itself, or the length of a list.
func (c *collector) asksForEvent(test ast.Expression) (asks bool) {
	c.in.Walk(test, func(n ast.Node) bool {
		e, ok := n.(ast.Expression)
		if !ok || asks {
			return !asks
		}
		if o, known := c.origins[e]; known && (o.event() || o.list()) {
			dot, part := c.in.Parent(c.in.Dressed(e)).(*ast.DotExpression)
			asks = !part || dot.Identifier.Name.String() == "length"
		}
		return !asks
	})
	return asks
}

// misplacedApproval reports a member approval in what prepare returns, where the consumer has none: it has no effect
// there, and the call leaves without a question. A member that mutate or next reads is meant for them.
func (c *collector) misplacedApproval(prepare, mutate, next ast.Expression, d *sandbox.ConsumerDefinition) {
	if !d.HasMutate || d.Approval != "" {
		return
	}
	var taken []string
	for _, f := range []ast.Expression{mutate, next} {
		for _, t := range c.takenOf(f, 1) {
			taken = append(taken, t.name)
		}
	}
	for _, r := range c.in.Returns(prepare) {
		result, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral)
		if !ok {
			continue
		}
		names, at, _ := script.Keys(result)
		for _, name := range names {
			own := name != approval && slices.Contains(taken, name)
			if own || slices.Contains(resultMembers, name) || !similar.Surely(name, approval) {
				continue
			}
			c.Fail("shape.unknownKey", at[name], `write it beside prepare: approval: "ask", or approval: (prepared) => `+
				`prepared.data.total > 1000`, "%q in what prepare of %q returns has no effect: approval is a member of the "+
				"consumer, and without it calls are sent without asking a person", sandbox.Clip(name, 100),
				sandbox.Clip(d.Name, 100))
		}
	}
}
