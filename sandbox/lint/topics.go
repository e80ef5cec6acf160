package lint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

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
			c.With(c.declared(expression, topic)).Fail("topic.unknown", c.in.Start(expression),
				undeclared(topic, c.definition.Topics),
				"ctx.publish names topic %q, and topics does not declare it", sandbox.Clip(topic, 150))
		case m == sandbox.MemberPublish && e.publishes != nil && !slices.Contains(e.publishes, topic):
			edit := sandbox.Edit{}
			if _, list := c.in.Find("consumers", e.handler, "publishes"); list != nil {
				edit = c.Amend().Member(c.place(list), strconv.Quote(topic))
			} else if _, list := c.in.Find("producers", e.handler, "publishes"); list != nil {
				edit = c.Amend().Member(c.place(list), strconv.Quote(topic))
			}
			c.With(edit).Fail("topic.unknown", c.in.Start(expression), fmt.Sprintf("add it: publishes: [%s]",
				sandbox.Quoted(append(slices.Clone(e.publishes), topic))),
				"ctx.publish names topic %q, and publishes of %q does not", sandbox.Clip(topic, 150),
				sandbox.Clip(e.handler, 100))
		case (m == sandbox.MemberPeek || m == sandbox.MemberGetByIDs) && e.consumer != nil &&
			len(e.consumer.Subscribe) > 0 && !slices.Contains(e.consumer.Subscribe, topic):
			fix := fmt.Sprintf("subscribe to it: subscribe: [%s]",
				sandbox.Quoted(append(slices.Clone(e.consumer.Subscribe), topic)))
			edit := sandbox.Edit{}
			if _, list := c.in.Find("consumers", e.handler, "subscribe"); list != nil && declared {
				edit = c.Amend().Member(c.place(list), strconv.Quote(topic))
			}
			if close := similar.Names(topic, e.consumer.Subscribe, 1); len(close) > 0 {
				fix, edit = fmt.Sprintf("write %q", close[0]), c.Amend().Replace(c.place(expression), strconv.Quote(close[0]))
			} else if !declared {
				fix = fmt.Sprintf("write a topic it is subscribed to: %s", sandbox.Quoted(e.consumer.Subscribe))
			}
			c.With(edit).Fail("topic.notSubscribed", c.in.Start(expression), fix,
				"%s names topic %q, and consumer %q is not subscribed to it", t.name(), sandbox.Clip(topic, 150),
				sandbox.Clip(e.handler, 100))
		}
	}
}

// declared writes a topic that is declared, or declares the one that is written.
func (c *collector) declared(e ast.Expression, topic string) sandbox.Edit {
	if close := similar.Names(topic, c.definition.Topics, 1); len(close) > 0 {
		return c.Amend().Replace(c.place(e), strconv.Quote(close[0]))
	}
	if _, topics := c.in.Find("topics"); topics != nil {
		return c.Amend().Member(c.place(topics), strconv.Quote(topic)+": {}")
	}
	return sandbox.Edit{}
}

// undeclared says what to do about a topic that is not declared.
func undeclared(topic string, declared []string) string {
	declare := fmt.Sprintf("declare it: topics: { %q: {} }", sandbox.Clip(topic, 150))
	if close := similar.Names(topic, declared, 1); len(close) > 0 {
		return fmt.Sprintf("write %q, or %s", close[0], declare)
	}
	return declare
}
