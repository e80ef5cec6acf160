package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// What is called with arguments that are written out can be judged before it runs. The codes are
// those of the failures that the calls would end in.

// event as the fix of several problems shows it.
const eventShape = `{ messageId: item.id, title: "…", payload: { … } }`

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
		case !own && t.operation != "":
			c.operationArguments(t, args)
		case !own:
		case m == sandbox.MemberPublish:
			c.publishArguments(t, args)
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
		c.fail("call.params", c.in.Start(args[1]), "write "+t.name()+"({ … }) with everything in one object",
			"%s takes one object of parameters, and got %d arguments", t.name(), len(args))
	case len(args) == 1:
		if what := c.in.NotObject(args[0]); what != "" {
			c.fail("call.params", c.in.Start(args[0]), "write "+t.name()+"({ … }) with named parameters",
				"%s takes one object of parameters, and got %s", t.name(), what)
		}
	}
	if len(args) <= 1 {
		c.written(t, args)
	}
}

func (c *collector) publishArguments(t *touch, args []ast.Expression) {
	const call = `ctx.publish("topic", ` + eventShape + `)`
	if len(args) != 2 {
		fix := "write " + call
		if len(args) == 1 {
			if o, ok := c.in.Resolve(args[0]).(*ast.ObjectLiteral); ok {
				if _, topic := c.in.Member(o, "topic"); topic != nil {
					if name, known := c.in.TextOf(topic); known {
						fix = fmt.Sprintf("take the topic out of the object: ctx.publish(%q, %s)",
							sandbox.Clip(name, 100), eventShape)
					}
				}
			}
		}
		c.fail("publish.invalid", c.in.Start(t.call), fix, "ctx.publish takes a topic and an event, and got %s",
			plural(len(args), "argument"))
		return
	}
	if what := c.in.Never(args[0], "text", "array"); what != "" {
		c.fail("publish.invalid", c.in.Start(args[0]), "write "+call, "ctx.publish takes a topic first, and got %s",
			what)
	}
	if what := c.in.NotObject(args[1]); what != "" {
		c.fail("publish.invalid", c.in.Start(args[1]), "write "+call, "ctx.publish takes an event second, and got %s",
			what)
	}
	event, ok := c.in.Resolve(args[1]).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(args[1]) {
		return
	}
	c.event(event)
}

// event checks the object that is published.
func (c *collector) event(event *ast.ObjectLiteral) {
	names, at, closed := script.Keys(event)
	var missing, fixes []string
	for _, required := range []string{"messageId", "title"} {
		_, value := c.in.Member(event, required)
		if value == nil {
			if closed {
				missing, fixes = append(missing, required), append(fixes, addToEvent(required, names))
			}
			continue
		}
		if text, known := c.in.TextOf(value); known && strings.TrimSpace(text) == "" {
			c.fail("publish.invalid", at[required], addToEvent(required, nil), "the %s of the published event is empty",
				required)
		} else if what := c.in.Never(value, "text"); what != "" {
			c.fail("publish.invalid", at[required], fmt.Sprintf("make it a text: %s: String(…)", required),
				"the %s of the published event must be a text, and is %s", required, what)
		}
	}
	if len(missing) > 0 {
		c.fail("publish.invalid", event.LeftBrace, strings.Join(fixes, "; "), "the published event has no %s",
			strings.Join(missing, " and no "))
	}
	_, id := c.in.Member(event, "messageId")
	_, title := c.in.Member(event, "title")
	_, fixedID := c.in.TextOf(id)
	if text, constant := c.in.TextOf(title); constant && id != nil && !fixedID && strings.TrimSpace(text) != "" {
		c.warn("title.constant", at["title"], "name what the event is about: title: `"+sandbox.Clip(text, 60)+
			" ${…}` with an address, a number or a name out of the data",
			"every event gets the same title %q, so people cannot tell them apart", sandbox.Clip(text, 100))
	}
	if by := c.random(id); by != "" {
		c.warn("publish.messageIdRandom", at["messageId"], "use what identifies the thing outside: messageId: item.id",
			"messageId is made by %s, so each run publishes the same thing as another event", by)
	}
	for _, name := range names {
		if slices.Contains(sandbox.EventMembers, name) {
			continue
		}
		fix := "put it into payload: payload: { " + sandbox.Clip(name, 60) + ": … }"
		if _, has := at["payload"]; !has && slices.Contains([]string{"data", "body", "value", "content", "message",
			"contents", "payloads", "event"}, name) {
			fix = "rename it to payload"
		}
		c.warn("publish.unknownMember", at[name], fix,
			"%q is no member of an event and is dropped; an event has messageId, title and payload",
			sandbox.Clip(name, 100))
	}
}

func addToEvent(member string, names []string) string {
	for _, name := range similar.Names(member, names, 1) {
		return fmt.Sprintf("rename %s to %s", sandbox.Clip(name, 60), member)
	}
	switch {
	case member == "title":
		return "add what people will see, with what identifies it: title: `Order ${order.id} from ${order.customer}`"
	case slices.Contains(names, "id"):
		return "rename id to messageId"
	case slices.Contains(names, "key"):
		return "rename key to messageId"
	}
	return "add what identifies the event, the same each time it is seen: messageId: item.id"
}

// random names the source of chance in an expression.
func (c *collector) random(e ast.Expression) (by string) {
	script.Walk(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpression); ok {
			left, name, _, ok := script.SplitProperty(call.Callee)
			if id, named := left.(*ast.Identifier); ok && named && c.in.Refers[id] == nil {
				switch full := id.Name.String() + "." + name; full {
				case "Math.random", "crypto.randomUUID":
					by = full
				}
			}
		}
		return by == ""
	})
	return by
}

func (c *collector) peekArguments(t *touch, args []ast.Expression) {
	if !c.topicArgument(t, args, `ctx.peek("topic", { limit: 10 })`) || len(args) < 2 {
		return
	}
	if n, ok := c.in.Resolve(args[1]).(*ast.NumberLiteral); ok {
		c.fail("call.params", c.in.Start(args[1]), fmt.Sprintf("write { limit: %s }", sandbox.Clip(n.Literal, 20)),
			"the options of ctx.peek must be an object, and are the number %s", sandbox.Clip(n.Literal, 20))
		return
	}
	if what := c.in.Never(args[1], "object", "undefined", "null", "pattern"); what != "" {
		c.fail("call.params", c.in.Start(args[1]), "write { limit: 10 }, or leave it out",
			"the options of ctx.peek must be an object, and are %s", what)
	}
	options, ok := c.in.Resolve(args[1]).(*ast.ObjectLiteral)
	if !ok {
		return
	}
	names, at, _ := script.Keys(options)
	for _, name := range names {
		if name != "limit" {
			c.warn("shape.unknownKey", at[name],
				"remove it; filter what ctx.peek gives, which is the oldest pending events",
				"%q is no option of ctx.peek and has no effect; there is only limit", sandbox.Clip(name, 100))
		}
	}
	if _, limit := c.in.Member(options, "limit"); limit != nil {
		if what := c.in.Never(limit, "number", "undefined", "null"); what != "" {
			c.fail("call.params", at["limit"], "write limit: 10", "limit must be a whole number from 1, and is %s",
				what)
		}
	}
}

func (c *collector) idsArguments(t *touch, args []ast.Expression) {
	const call = `ctx.getByIds("topic", [event.messageId])`
	if !c.topicArgument(t, args, call) {
		return
	}
	if len(args) < 2 {
		c.fail("call.params", c.in.Start(t.call), "write "+call,
			"ctx.getByIds takes a topic and an array of message ids, and got one argument")
	} else if what := c.in.Never(args[1], "array"); what != "" {
		c.fail("call.params", c.in.Start(args[1]), "write "+call,
			"ctx.getByIds takes an array of message ids, and got %s", what)
	}
}

// topicArgument checks the first argument of peek and getByIds.
func (c *collector) topicArgument(t *touch, args []ast.Expression, call string) bool {
	if len(args) == 0 {
		c.fail("call.params", c.in.Start(t.call), "write "+call, "%s takes the name of a topic first, and got nothing",
			t.name())
		return false
	}
	if what := c.in.Never(args[0], "text"); what != "" {
		c.fail("call.params", c.in.Start(args[0]), "write "+call, "%s takes the name of a topic first, and got %s",
			t.name(), what)
		return false
	}
	return true
}

func (c *collector) inputArguments(t *touch, args []ast.Expression) {
	const call = `ctx.registerInput({ source: "mailbox", type: "mail", id: mail.id, title: mail.subject })`
	if len(args) != 1 {
		c.fail("input.invalid", c.in.Start(t.call), "write "+call, "ctx.registerInput takes one object, and got %s",
			plural(len(args), "argument"))
		return
	}
	if what := c.in.NotObject(args[0]); what != "" {
		c.fail("input.invalid", c.in.Start(args[0]), "write "+call, "ctx.registerInput takes one object, and got %s",
			what)
	}
	input, ok := c.in.Resolve(args[0]).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(args[0]) {
		return
	}
	names, _, closed := script.Keys(input)
	for _, required := range []string{"source", "type", "id", "title"} {
		if closed && !slices.Contains(names, required) {
			c.fail("input.invalid", input.LeftBrace, "write "+call, "the registered input has no %s", required)
		}
	}
}

// topicsOf checks the topics that a call names against what its handler may name.
func (c *collector) topicsOf(t *touch, m sandbox.Member, e entry) {
	if t.call == nil || len(t.call.ArgumentList) == 0 || c.definition.Topics == nil {
		return
	}
	first := t.call.ArgumentList[0]
	named := []ast.Expression{first}
	if list, ok := c.in.Resolve(first).(*ast.ArrayLiteral); ok && m == sandbox.MemberPublish {
		named = list.Value
	}
	for _, expression := range named {
		topic, known := c.in.TextOf(expression)
		if !known {
			continue
		}
		declared := slices.Contains(c.definition.Topics, topic)
		switch {
		case m == sandbox.MemberPublish && !declared:
			c.fail("topic.unknown", c.in.Start(expression), undeclared(topic, c.definition.Topics),
				"ctx.publish names topic %q, and topics does not declare it", sandbox.Clip(topic, 150))
		case m == sandbox.MemberPublish && e.publishes != nil && !slices.Contains(e.publishes, topic):
			c.fail("topic.unknown", c.in.Start(expression), fmt.Sprintf("add it: publishes: [%s]",
				sandbox.Quoted(append(slices.Clone(e.publishes), topic))),
				"ctx.publish names topic %q, and publishes of %q does not", sandbox.Clip(topic, 150),
				sandbox.Clip(e.handler, 100))
		case (m == sandbox.MemberPeek || m == sandbox.MemberGetByIDs) && e.consumer != nil &&
			len(e.consumer.Subscribe) > 0 && !slices.Contains(e.consumer.Subscribe, topic):
			fix := fmt.Sprintf("subscribe to it: subscribe: [%s]",
				sandbox.Quoted(append(slices.Clone(e.consumer.Subscribe), topic)))
			if close := similar.Names(topic, e.consumer.Subscribe, 1); len(close) > 0 {
				fix = fmt.Sprintf("write %q", close[0])
			} else if !declared {
				fix = fmt.Sprintf("write a topic it is subscribed to: %s", sandbox.Quoted(e.consumer.Subscribe))
			}
			c.fail("topic.notSubscribed", c.in.Start(expression), fix,
				"%s names topic %q, and consumer %q is not subscribed to it", t.name(), sandbox.Clip(topic, 150),
				sandbox.Clip(e.handler, 100))
		}
	}
}

// undeclared says what to do about a topic that is not declared.
func undeclared(topic string, declared []string) string {
	declare := fmt.Sprintf("declare it: topics: { %q: {} }", sandbox.Clip(topic, 150))
	if close := similar.Names(topic, declared, 1); len(close) > 0 {
		return fmt.Sprintf("write %q, or %s", close[0], declare)
	}
	return declare
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
