package lint

import (
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox/script"
)

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
		script.Walk(statement, func(n ast.Node) bool {
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
	o, ok := c.origins[e]
	if !ok || !o.events() || len(o.path) < 2 || o.path[1] != "payload" || len(o.touch.call.ArgumentList) == 0 {
		return false
	}
	topic, known := c.in.TextOf(o.touch.call.ArgumentList[0])
	return !known || slices.Contains(topics, topic)
}
