package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

func (c *collector) publishArguments(t *touch, args []ast.Expression) {
	const call = `ctx.publish("topic", ` + finding.EventShape + `)`
	if len(args) != 2 {
		fix := "write " + call
		if len(args) == 1 {
			if o, ok := c.in.Resolve(args[0]).(*ast.ObjectLiteral); ok {
				if _, topic := c.in.Member(o, "topic"); topic != nil {
					if name, known := c.in.TextOf(topic); known {
						fix = fmt.Sprintf("take the topic out of the object: ctx.publish(%q, %s)",
							sandbox.Clip(name, 100), finding.EventShape)
					}
				}
			}
		}
		c.Fail("publish.invalid", c.in.Start(t.call), fix, "ctx.publish takes a topic and an event, and got %s",
			plural(len(args), "argument"))
		return
	}
	if what := c.in.Never(args[0], "text", "array"); what != "" {
		c.Fail("publish.invalid", c.in.Start(args[0]), "write "+call, "ctx.publish takes a topic first, and got %s",
			what)
	}
	if what := c.in.NotObject(args[1]); what != "" {
		c.Fail("publish.invalid", c.in.Start(args[1]), "write "+call, "ctx.publish takes an event second, and got %s",
			what)
	}
	event, ok := c.in.Resolve(args[1]).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(args[1]) {
		return
	}
	c.event(event, args[0])
}

// event checks the object that is published.
func (c *collector) event(event *ast.ObjectLiteral, topic ast.Expression) {
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
			c.Fail("publish.invalid", at[required], addToEvent(required, nil), "the %s of the published event is empty",
				required)
		} else if what := c.in.Never(value, "text"); what != "" {
			text := c.Amend().Expression(c.place(value))
			edit := c.Amend().Replace(c.place(value), "String("+text+")")
			c.With(edit).Fail("publish.invalid", at[required], fmt.Sprintf("make it a text: %s: String(…)", required),
				"the %s of the published event must be a text, and is %s", required, what)
		}
	}
	if len(missing) > 0 {
		c.With(c.addedToEvent(event, missing, names, at)).Fail("publish.invalid", event.LeftBrace,
			strings.Join(fixes, "; "), "the published event has no %s",
			strings.Join(missing, " and no "))
	}
	_, id := c.in.Member(event, "messageId")
	_, title := c.in.Member(event, "title")
	_, fixedID := c.in.TextOf(id)
	if text, constant := c.in.TextOf(title); constant && id != nil && !fixedID && strings.TrimSpace(text) != "" {
		edit := sandbox.Edit{}
		if source := c.Amend().Expression(c.place(id)); source != "" {
			edit = c.Amend().Replace(c.place(title), "`"+text+" ${"+source+"}`")
		}
		c.With(edit).Warn("title.constant", at["title"], "name what the event is about: title: `"+sandbox.Clip(text, 60)+
			" ${…}` with an address, a number or a name out of the data",
			"every event gets the same title %q, so people cannot tell them apart", sandbox.Clip(text, 100))
	}
	c.messageID(id, topic, at["messageId"])
	if _, value := c.in.Member(event, "payload"); value != nil {
		c.notJSON(value, "the payload of an event")
		c.stringifiedPayload(value, topic)
	}
	for _, name := range names {
		if slices.Contains(sandbox.EventMembers, name) {
			continue
		}
		fix, edit := "put it into payload: payload: { "+sandbox.Clip(name, 60)+": … }", sandbox.Edit{}
		if _, has := at["payload"]; !has && slices.Contains([]string{"data", "body", "value", "content", "message",
			"contents", "payloads", "event"}, name) {
			fix, edit = "rename it to payload", c.Amend().Rename(c.in.Position(at[name]), name, "payload")
		}
		c.With(edit).Warn("publish.unknownMember", at[name], fix,
			"%q is no member of an event and is dropped; an event has messageId, title and payload",
			sandbox.Clip(name, 100))
	}
}

// addedToEvent gives an event what it lacks: by another name, or a title that names it by its messageId.
func (c *collector) addedToEvent(event *ast.ObjectLiteral, missing, names []string,
	at map[string]file.Idx) sandbox.Edit {
	if len(missing) != 1 {
		return sandbox.Edit{}
	}
	wrong := similar.Names(missing[0], names, 1)
	if missing[0] == "messageId" && len(wrong) == 0 {
		wrong = slices.DeleteFunc([]string{"id", "key"}, func(n string) bool { return !slices.Contains(names, n) })
	}
	if len(wrong) > 0 {
		return c.Amend().Rename(c.in.Position(at[wrong[0]]), wrong[0], missing[0])
	}
	_, id := c.in.Member(event, "messageId")
	if source := c.Amend().Expression(c.place(id)); missing[0] == "title" && id != nil && source != "" {
		return c.Amend().Member(c.in.Position(event.LeftBrace), "title: `Event ${"+source+"}`")
	}
	return sandbox.Edit{}
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// stringifiedPayload warns of JSON.stringify(x) as a payload: it is JSON by itself. A consumer that parses it is right
// to do so, and the change has to be made on both sides.
func (c *collector) stringifiedPayload(value, topic ast.Expression) {
	call, ok := value.(*ast.CallExpression)
	if !ok || !c.isStringify(call) {
		return
	}
	topics := c.topicsNamed(topic)
	if c.parsed(topics) {
		return
	}
	// No edit: a consumer may parse the text in a way that does not show, and would fail with the value.
	c.Warn("publish.stringified", c.in.Start(value),
		"write the value itself: payload: x instead of payload: JSON.stringify(x), and take JSON.parse out of consumers",
		"a payload is any JSON; with JSON.stringify it is one text, whose members consumers do not see")
}

// parsed reports whether the script parses a payload of one of the topics.
func (c *collector) parsed(topics []string) (parsed bool) {
	for _, statement := range c.in.Body {
		c.in.Walk(statement, func(n ast.Node) bool {
			dot, ok := n.(*ast.DotExpression)
			if !ok || dot.Identifier.Name.String() != "parse" {
				return true
			}
			if id, named := dot.Left.(*ast.Identifier); !named || id.Name.String() != "JSON" {
				return true
			}
			if call, called := c.in.Parent(c.in.Dressed(dot)).(*ast.CallExpression); called {
				for _, argument := range call.ArgumentList {
					parsed = parsed || c.mentions(argument, func(e ast.Expression) bool { return c.inPayload(e, topics) }, 0)
				}
			}
			return true
		})
	}
	return parsed
}

// inPayload reports a payload, or a part of one, of an event of one of the topics.
func (c *collector) inPayload(e ast.Expression, topics []string) bool {
	o := c.origins[e]
	if !o.events() || len(o.path) < 2 || o.path[1] != "payload" || len(o.touch.call.ArgumentList) == 0 {
		return false
	}
	topic, known := c.topic(o)
	return !known || slices.Contains(topics, topic)
}
