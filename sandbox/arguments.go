package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"

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
		if slices.ContainsFunc(args, func(a ast.Expression) bool { _, spread := a.(*ast.SpreadElement); return spread }) {
			continue
		}
		switch m, own := t.builtin(); {
		case !own && t.operation != "":
			c.operationArguments(t, args)
		case !own:
		case m == memberPublish:
			c.publishArguments(t, args)
		case m == memberPeek:
			c.peekArguments(t, args)
		case m == memberGetByIDs:
			c.idsArguments(t, args)
		case m == memberRegisterInput:
			c.inputArguments(t, args)
		}
	}
}

// operationArguments checks the one argument of an operation.
func (c *collector) operationArguments(t *touch, args []ast.Expression) {
	switch {
	case len(args) > 1:
		c.fail("call.params", c.in.start(args[1]), "write "+t.name()+"({ … }) with everything in one object",
			"%s takes one object of parameters, and got %d arguments", t.name(), len(args))
	case len(args) == 1:
		if what := c.in.notObject(args[0]); what != "" {
			c.fail("call.params", c.in.start(args[0]), "write "+t.name()+"({ … }) with named parameters",
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
			if o, ok := c.in.resolve(args[0]).(*ast.ObjectLiteral); ok {
				if _, topic := c.in.member(o, "topic"); topic != nil {
					if name, known := c.in.text(topic); known {
						fix = fmt.Sprintf("take the topic out of the object: ctx.publish(%q, %s)", clip(name, 100), eventShape)
					}
				}
			}
		}
		c.fail("publish.invalid", c.in.start(t.call), fix, "ctx.publish takes a topic and an event, and got %s", plural(len(args), "argument"))
		return
	}
	if what := c.in.never(args[0], "text", "array"); what != "" {
		c.fail("publish.invalid", c.in.start(args[0]), "write "+call, "ctx.publish takes a topic first, and got %s", what)
	}
	if what := c.in.notObject(args[1]); what != "" {
		c.fail("publish.invalid", c.in.start(args[1]), "write "+call, "ctx.publish takes an event second, and got %s", what)
	}
	event, ok := c.in.resolve(args[1]).(*ast.ObjectLiteral)
	if !ok || !c.in.fixed(args[1]) {
		return
	}
	c.event(event)
}

// event checks the object that is published.
func (c *collector) event(event *ast.ObjectLiteral) {
	names, at, closed := keys(event)
	var missing, fixes []string
	for _, required := range []string{"messageId", "title"} {
		_, value := c.in.member(event, required)
		if value == nil {
			if closed {
				missing, fixes = append(missing, required), append(fixes, addToEvent(required, names))
			}
			continue
		}
		if text, known := c.in.text(value); known && strings.TrimSpace(text) == "" {
			c.fail("publish.invalid", at[required], addToEvent(required, nil), "the %s of the published event is empty", required)
		} else if what := c.in.never(value, "text"); what != "" {
			c.fail("publish.invalid", at[required], fmt.Sprintf("make it a text: %s: String(…)", required),
				"the %s of the published event must be a text, and is %s", required, what)
		}
	}
	if len(missing) > 0 {
		c.fail("publish.invalid", event.LeftBrace, strings.Join(fixes, "; "), "the published event has no %s", strings.Join(missing, " and no "))
	}
	_, id := c.in.member(event, "messageId")
	_, title := c.in.member(event, "title")
	_, fixedID := c.in.text(id)
	if text, constant := c.in.text(title); constant && id != nil && !fixedID && strings.TrimSpace(text) != "" {
		c.warn("title.constant", at["title"], "name what the event is about: title: `"+clip(text, 60)+" ${…}` with an address, a number or a name out of the data",
			"every event gets the same title %q, so people cannot tell them apart", clip(text, 100))
	}
	if by := c.random(id); by != "" {
		c.warn("publish.messageIdRandom", at["messageId"], "use what identifies the thing outside: messageId: item.id",
			"messageId is made by %s, so each run publishes the same thing as another event", by)
	}
	for _, name := range names {
		if slices.Contains(eventMembers, name) {
			continue
		}
		fix := "put it into payload: payload: { " + clip(name, 60) + ": … }"
		if _, has := at["payload"]; !has && slices.Contains([]string{"data", "body", "value", "content", "message", "contents", "payloads", "event"}, name) {
			fix = "rename it to payload"
		}
		c.warn("publish.unknownMember", at[name], fix, "%q is no member of an event and is dropped; an event has messageId, title and payload", clip(name, 100))
	}
}

func addToEvent(member string, names []string) string {
	for _, name := range similar.Names(member, names, 1) {
		return fmt.Sprintf("rename %s to %s", clip(name, 60), member)
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
	walk(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpression); ok {
			left, name, _, ok := splitProperty(call.Callee)
			if id, named := left.(*ast.Identifier); ok && named && c.in.refers[id] == nil {
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
	if n, ok := c.in.resolve(args[1]).(*ast.NumberLiteral); ok {
		c.fail("call.params", c.in.start(args[1]), fmt.Sprintf("write { limit: %s }", clip(n.Literal, 20)), "the options of ctx.peek must be an object, and are the number %s", clip(n.Literal, 20))
		return
	}
	if what := c.in.never(args[1], "object", "undefined", "null", "pattern"); what != "" {
		c.fail("call.params", c.in.start(args[1]), "write { limit: 10 }, or leave it out", "the options of ctx.peek must be an object, and are %s", what)
	}
	options, ok := c.in.resolve(args[1]).(*ast.ObjectLiteral)
	if !ok {
		return
	}
	names, at, _ := keys(options)
	for _, name := range names {
		if name != "limit" {
			c.warn("shape.unknownKey", at[name], "remove it; filter what ctx.peek gives, which is the oldest pending events", "%q is no option of ctx.peek and has no effect; there is only limit", clip(name, 100))
		}
	}
	if _, limit := c.in.member(options, "limit"); limit != nil {
		if what := c.in.never(limit, "number", "undefined", "null"); what != "" {
			c.fail("call.params", at["limit"], "write limit: 10", "limit must be a whole number from 1, and is %s", what)
		}
	}
}

func (c *collector) idsArguments(t *touch, args []ast.Expression) {
	const call = `ctx.getByIds("topic", [event.messageId])`
	if !c.topicArgument(t, args, call) {
		return
	}
	if len(args) < 2 {
		c.fail("call.params", c.in.start(t.call), "write "+call, "ctx.getByIds takes a topic and an array of message ids, and got one argument")
	} else if what := c.in.never(args[1], "array"); what != "" {
		c.fail("call.params", c.in.start(args[1]), "write "+call, "ctx.getByIds takes an array of message ids, and got %s", what)
	}
}

// topicArgument checks the first argument of peek and getByIds.
func (c *collector) topicArgument(t *touch, args []ast.Expression, call string) bool {
	if len(args) == 0 {
		c.fail("call.params", c.in.start(t.call), "write "+call, "%s takes the name of a topic first, and got nothing", t.name())
		return false
	}
	if what := c.in.never(args[0], "text"); what != "" {
		c.fail("call.params", c.in.start(args[0]), "write "+call, "%s takes the name of a topic first, and got %s", t.name(), what)
		return false
	}
	return true
}

func (c *collector) inputArguments(t *touch, args []ast.Expression) {
	const call = `ctx.registerInput({ source: "mailbox", type: "mail", id: mail.id, title: mail.subject })`
	if len(args) != 1 {
		c.fail("input.invalid", c.in.start(t.call), "write "+call, "ctx.registerInput takes one object, and got %s", plural(len(args), "argument"))
		return
	}
	if what := c.in.notObject(args[0]); what != "" {
		c.fail("input.invalid", c.in.start(args[0]), "write "+call, "ctx.registerInput takes one object, and got %s", what)
	}
	input, ok := c.in.resolve(args[0]).(*ast.ObjectLiteral)
	if !ok || !c.in.fixed(args[0]) {
		return
	}
	names, _, closed := keys(input)
	for _, required := range []string{"source", "type", "id", "title"} {
		if closed && !slices.Contains(names, required) {
			c.fail("input.invalid", input.LeftBrace, "write "+call, "the registered input has no %s", required)
		}
	}
}

// topicsOf checks the topics that a call names against what its handler may name.
func (c *collector) topicsOf(t *touch, m member, e entry) {
	if t.call == nil || len(t.call.ArgumentList) == 0 || c.definition.Topics == nil {
		return
	}
	first := t.call.ArgumentList[0]
	named := []ast.Expression{first}
	if list, ok := c.in.resolve(first).(*ast.ArrayLiteral); ok && m == memberPublish {
		named = list.Value
	}
	for _, expression := range named {
		topic, known := c.in.text(expression)
		if !known {
			continue
		}
		declared := slices.Contains(c.definition.Topics, topic)
		switch {
		case m == memberPublish && !declared:
			c.fail("topic.unknown", c.in.start(expression), undeclared(topic, c.definition.Topics),
				"ctx.publish names topic %q, and topics does not declare it", clip(topic, 150))
		case m == memberPublish && e.publishes != nil && !slices.Contains(e.publishes, topic):
			c.fail("topic.unknown", c.in.start(expression), fmt.Sprintf("add it: publishes: [%s]", quoted(append(slices.Clone(e.publishes), topic))),
				"ctx.publish names topic %q, and publishes of %q does not", clip(topic, 150), clip(e.handler, 100))
		case (m == memberPeek || m == memberGetByIDs) && e.consumer != nil && len(e.consumer.Subscribe) > 0 && !slices.Contains(e.consumer.Subscribe, topic):
			fix := fmt.Sprintf("subscribe to it: subscribe: [%s]", quoted(append(slices.Clone(e.consumer.Subscribe), topic)))
			if close := similar.Names(topic, e.consumer.Subscribe, 1); len(close) > 0 {
				fix = fmt.Sprintf("write %q", close[0])
			} else if !declared {
				fix = fmt.Sprintf("write a topic it is subscribed to: %s", quoted(e.consumer.Subscribe))
			}
			c.fail("topic.notSubscribed", c.in.start(expression), fix, "%s names topic %q, and consumer %q is not subscribed to it", t.name(), clip(topic, 150), clip(e.handler, 100))
		}
	}
}

// undeclared says what to do about a topic that is not declared.
func undeclared(topic string, declared []string) string {
	declare := fmt.Sprintf("declare it: topics: { %q: {} }", clip(topic, 150))
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
