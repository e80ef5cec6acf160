package lint

import (
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// What is called with arguments that are written out can be judged before it runs. The codes are
// those of the failures that the calls would end in.

// arguments checks the calls of a holder, wherever they are reached from.
func (c *collector) arguments(h *holder) {
	for i := range h.touches {
		t := &h.touches[i]
		if t.call == nil {
			continue
		}
		args := t.call.ArgumentList
		if slices.ContainsFunc(args, func(a ast.Expression) bool {
			_, spread := a.(*ast.SpreadElement)
			return spread
		}) {
			continue
		}
		switch m, own := t.builtin(); {
		case t.ofConnector():
			c.operationArguments(t, args)
			c.movedTo(t)
		case !own:
		case m == sandbox.MemberPublish:
			c.publishArguments(t, args)
			c.payloadOf(t, args)
		case m == sandbox.MemberPeek:
			c.peekArguments(t, args)
		case m == sandbox.MemberGetByIDs:
			c.idsArguments(t, args)
		case m == sandbox.MemberRegisterInput:
			c.inputArguments(t, args)
		}
	}
}

// operationArguments checks the one argument of an operation.
func (c *collector) operationArguments(t *touch, args []ast.Expression) {
	switch {
	case len(args) > 1:
		c.Fail("call.params", c.in.Start(args[1]), "write "+t.name()+"({ … }) with everything in one object",
			"%s takes one object of parameters, and got %d arguments", t.name(), len(args))
	case len(args) == 1:
		if what := c.in.NotObject(args[0]); what != "" {
			c.Fail("call.params", c.in.Start(args[0]), "write "+t.name()+"({ … }) with named parameters",
				"%s takes one object of parameters, and got %s", t.name(), what)
		}
	}
	if len(args) <= 1 {
		c.written(t, args)
	}
}

func (c *collector) peekArguments(t *touch, args []ast.Expression) {
	if !c.topicArgument(t, args, `ctx.peek("topic", { limit: 10 })`) || len(args) < 2 {
		return
	}
	if n, ok := c.in.Resolve(args[1]).(*ast.NumberLiteral); ok {
		edit := c.Amend().Replace(c.place(args[1]), "{ limit: "+sandbox.Clip(n.Literal, 20)+" }")
		c.With(edit).Fail("call.params", c.in.Start(args[1]), fmt.Sprintf("write { limit: %s }", sandbox.Clip(n.Literal, 20)),
			"the options of ctx.peek must be an object, and are the number %s", sandbox.Clip(n.Literal, 20))
		return
	}
	if what := c.in.Never(args[1], "object", "undefined", "null", "pattern"); what != "" {
		c.Fail("call.params", c.in.Start(args[1]), "write { limit: 10 }, or leave it out",
			"the options of ctx.peek must be an object, and are %s", what)
	}
	options, ok := c.in.Resolve(args[1]).(*ast.ObjectLiteral)
	if !ok {
		return
	}
	names, at, _ := script.Keys(options)
	for _, name := range names {
		if name != "limit" && name != "after" {
			c.Warn("shape.unknownKey", at[name],
				"remove it; filter what ctx.peek gives, which is the oldest pending events",
				"%q is no option of ctx.peek and has no effect; there are limit and after", sandbox.Clip(name, 100))
		}
	}
	if _, limit := c.in.Member(options, "limit"); limit != nil {
		if what := c.in.Never(limit, "number", "undefined", "null"); what != "" {
			c.Fail("call.params", at["limit"], "write limit: 10", "limit must be a whole number from 1, and is %s",
				what)
		}
	}
	c.cursor(options)
}

// cursor checks that the option after is the id of an event.
func (c *collector) cursor(options *ast.ObjectLiteral) {
	if _, after := c.in.Member(options, "after"); after != nil {
		if what := c.in.Never(after, "text", "undefined", "null"); what != "" {
			c.Fail("call.params", c.in.Start(after), "write after: event.messageId",
				"after must be the messageId of an event, and is %s", what)
		}
	}
}

func (c *collector) idsArguments(t *touch, args []ast.Expression) {
	const call = `ctx.getByIds("topic", [event.messageId])`
	if !c.topicArgument(t, args, call) {
		return
	}
	if len(args) < 2 {
		c.Fail("call.params", c.in.Start(t.call), "write "+call,
			"ctx.getByIds takes a topic and an array of message ids, and got one argument")
	} else if what := c.in.Never(args[1], "array"); what != "" {
		edit := c.Amend().Replace(c.place(args[1]), "["+c.Amend().Expression(c.place(args[1]))+"]")
		c.With(edit).Fail("call.params", c.in.Start(args[1]), "write "+call,
			"ctx.getByIds takes an array of message ids, and got %s", what)
	}
}

// topicArgument checks the first argument of peek and getByIds.
func (c *collector) topicArgument(t *touch, args []ast.Expression, call string) bool {
	if len(args) == 0 {
		c.Fail("call.params", c.in.Start(t.call), "write "+call, "%s takes the name of a topic first, and got nothing",
			t.name())
		return false
	}
	if what := c.in.Never(args[0], "text"); what != "" {
		c.Fail("call.params", c.in.Start(args[0]), "write "+call, "%s takes the name of a topic first, and got %s",
			t.name(), what)
		return false
	}
	return true
}

func (c *collector) inputArguments(t *touch, args []ast.Expression) {
	const call = `ctx.registerInput({ source: "mailbox", type: "mail", id: mail.id, title: mail.subject })`
	if len(args) != 1 {
		c.Fail("input.invalid", c.in.Start(t.call), "write "+call, "ctx.registerInput takes one object, and got %s",
			plural(len(args), "argument"))
		return
	}
	if what := c.in.NotObject(args[0]); what != "" {
		c.Fail("input.invalid", c.in.Start(args[0]), "write "+call, "ctx.registerInput takes one object, and got %s",
			what)
	}
	input, ok := c.in.Resolve(args[0]).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(args[0]) {
		return
	}
	names, _, closed := script.Keys(input)
	for _, required := range []string{"source", "type", "id", "title"} {
		if closed && !slices.Contains(names, required) {
			c.Fail("input.invalid", input.LeftBrace, "write "+call, "the registered input has no %s", required)
		}
	}
}
