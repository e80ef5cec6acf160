package lint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// reservation checks one element of reservations.
func (c *collector) reservation(e ast.Expression, d *sandbox.ConsumerDefinition) {
	topic := "…"
	if len(d.Subscribe) > 0 {
		topic = d.Subscribe[0]
	}
	if what := c.in.Never(e, "object", "null", "pattern"); what != "" {
		c.Fail("prepare.result", c.in.Start(e), fmt.Sprintf("write { topic: %q, ids: [event.messageId] }", topic),
			"a reservation must be an object {topic, ids}, and is %s", what)
		return
	}
	if c.isMessageID(e) {
		instead := fmt.Sprintf("{ topic: %q, ids: [%s] }", topic, c.in.Source(e))
		c.With(c.Amend().Replace(c.place(e), instead)).Warn("prepare.reservations", c.in.Start(e),
			"write "+instead, "a reservation must be an object {topic, ids}, and this looks like a message id")
		return
	}
	o, ok := c.in.Resolve(e).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(e) {
		return
	}
	names, at, whole := script.Keys(o)
	_, ids := c.in.Member(o, "ids")
	certain := false
	switch array, _ := c.in.Resolve(ids).(*ast.ArrayLiteral); {
	case ids == nil && whole:
		fix, edit := "add ids: [event.messageId]", sandbox.Edit{}
		for _, name := range []string{"id", "messageId", "messageIds", "eventIds", "events"} {
			if slices.Contains(names, name) {
				fix = fmt.Sprintf("replace %s by ids: [event.messageId]", name)
				if _, value := c.in.Member(o, name); c.isMessageID(value) {
					fix = fmt.Sprintf("replace %s by ids: [%s]", name, c.in.Source(value))
					edit = c.Amend().Replace(c.in.Position(at[name]), fmt.Sprintf("ids: [%s]", c.in.Source(value)))
				} else if _, call := value.(*ast.CallExpression); call {
					edit = c.Amend().Rename(c.in.Position(at[name]), name, "ids")
				}
				break
			}
		}
		c.With(edit).Warn("prepare.reservations", o.LeftBrace, fix, "this reservation has no ids, so it reserves nothing")
	case ids == nil:
	case c.in.Never(ids, "array", "null", "undefined") != "":
		c.Fail("prepare.result", at["ids"], "write ids: [event.messageId]",
			"ids must be an array of message ids, and is %s", c.in.Show(ids))
	case c.isMessageID(ids):
		c.With(c.Amend().Replace(c.place(ids), "["+c.in.Source(ids)+"]")).Warn("prepare.reservations", at["ids"],
			fmt.Sprintf("write ids: [%s]", c.in.Source(ids)),
			"ids must be an array of message ids, and this looks like one id")
	case array != nil:
		certain = slices.ContainsFunc(array.Value, func(e ast.Expression) bool {
			_, spread := e.(*ast.SpreadElement)
			return e != nil && !spread
		})
	}
	_, named := c.in.Member(o, "topic")
	text, known := c.in.TextOf(named)
	switch {
	case named == nil && whole && certain:
		c.With(c.Amend().Member(c.in.Position(o.LeftBrace), fmt.Sprintf("topic: %q", topic))).Fail("reservation.unknown",
			o.LeftBrace, fmt.Sprintf("add topic: %q", topic),
			"this reservation names no topic")
	case known && len(d.Subscribe) > 0 && !slices.Contains(d.Subscribe, text):
		edit := sandbox.Edit{}
		if close := similar.Names(text, d.Subscribe, 1); len(close) > 0 {
			edit = c.Amend().Replace(c.place(named), strconv.Quote(close[0]))
		} else if len(d.Subscribe) == 1 {
			edit = c.Amend().Replace(c.place(named), strconv.Quote(d.Subscribe[0]))
		}
		say := c.With(edit).Warn
		if certain {
			say = c.Fail
		}
		say("reservation.unknown", at["topic"], fmt.Sprintf("write a topic that it subscribes to: %s",
			sandbox.Quoted(d.Subscribe)), "the reservation names topic %q, and consumer %q is not subscribed to it",
			sandbox.Clip(text, 150), d.Name)
	}
}

// isMessageID tells event.messageId and event.id.
func (c *collector) isMessageID(e ast.Expression) bool {
	_, name, _, ok := script.SplitProperty(e)
	return ok && (name == "messageId" || name == "id")
}

// reservesNothing tells a result that makes no mutation.
func (c *collector) reservesNothing(result *ast.ObjectLiteral) bool {
	_, list := c.in.Member(result, "reservations")
	array, ok := c.in.Resolve(list).(*ast.ArrayLiteral)
	return ok && len(array.Value) == 0
}
