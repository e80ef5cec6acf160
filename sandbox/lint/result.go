package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// nothing is what prepare returns when there is nothing to do.
const nothing = "{ reservations: [], data: null }"

// resultMembers are the members of a prepare result that mean something to the host.
var resultMembers = []string{"reservations", "data", "ui", "wakeAt", "cancel"}

// consumer checks what the phases of a consumer hand on to each other.
func (c *collector) consumer(d *sandbox.ConsumerDefinition) {
	phase := func(name sandbox.Phase) ast.Expression {
		_, value := c.in.Find("consumers", d.Name, string(name))
		f := c.in.Resolve(value)
		if _, _, ok := script.Function(f); !ok {
			return nil
		}
		return f
	}
	if prepare := phase(sandbox.Prepare); prepare != nil {
		members, closed := c.results(prepare, d)
		if closed {
			c.preparedMembers(phase(sandbox.Mutate), members)
			c.preparedMembers(phase(sandbox.Next), members)
		}
	}
	if next := phase(sandbox.Next); next != nil {
		c.outcomes(next)
	}
}

// results checks each result of prepare; members are those that any of them has, and closed tells
// that there are no others.
func (c *collector) results(prepare ast.Expression, d *sandbox.ConsumerDefinition) (members []string, closed bool) {
	list := c.in.Returns(prepare)
	closed = len(list) > 0
	if len(list) == 0 && c.endsItself(prepare) {
		c.fail("prepare.result", c.in.Start(prepare), "return "+script.ResultShape+", or "+nothing+
			" when there is nothing to do", "prepare of %q returns nothing", d.Name)
	}
	for _, r := range list {
		if r.Value == nil {
			c.fail("prepare.result", r.At, "write return "+nothing, "prepare of %q returns nothing here", d.Name)
			continue
		}
		if what := c.in.Never(r.Value, "object"); what != "" {
			fix := "return " + script.ResultShape
			if kind := c.in.Kind(r.Value); kind == "null" || kind == "undefined" {
				fix = "write return " + nothing
			}
			c.fail("prepare.result", c.in.Start(r.Value), fix,
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
		c.title(result, names, at, whole, d)
		c.wakeAt(result, at)
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
	script.Walk(block, func(n ast.Node) bool {
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
		case list == nil && whole && slices.Contains(close, "reservations"):
			c.fail("prepare.result", at[name], "rename it to reservations",
				"what prepare of %q returns has no reservations; did you mean them by %q?", d.Name,
				sandbox.Clip(name, 100))
			return
		case len(close) > 0 && !slices.Contains(names, close[0]):
			c.warn("prepare.unknownMember", at[name], "rename it to "+close[0],
				"%q of the result of prepare means nothing; did you mean %s?", sandbox.Clip(name, 100), close[0])
		case name == "title" && !slices.Contains(names, "ui"):
			c.warn("prepare.unknownMember", at[name], "put it into ui: ui: { title: … }",
				"the title of what prepare returns belongs into ui")
		}
	}
	if list == nil {
		if whole {
			c.fail("prepare.result", result.LeftBrace,
				`name the events that this run works on: reservations: [{ topic: "…", ids: [event.messageId] }], or `+
					`reservations: [] for none`,
				"what prepare of %q returns has no reservations", d.Name)
		}
		return
	}
	if what := c.in.Never(list, "array"); what != "" {
		c.fail("prepare.result", at["reservations"],
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

// reservation checks one element of reservations.
func (c *collector) reservation(e ast.Expression, d *sandbox.ConsumerDefinition) {
	topic := "…"
	if len(d.Subscribe) > 0 {
		topic = d.Subscribe[0]
	}
	if what := c.in.Never(e, "object", "null", "pattern"); what != "" {
		c.fail("prepare.result", c.in.Start(e), fmt.Sprintf("write { topic: %q, ids: [event.messageId] }", topic),
			"a reservation must be an object {topic, ids}, and is %s", what)
		return
	}
	if c.isMessageID(e) {
		c.warn("prepare.reservations", c.in.Start(e), fmt.Sprintf("write { topic: %q, ids: [%s] }", topic,
			c.in.Source(e)), "a reservation must be an object {topic, ids}, and this looks like a message id")
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
		fix := "add ids: [event.messageId]"
		for _, name := range []string{"id", "messageId", "messageIds", "eventIds", "events"} {
			if slices.Contains(names, name) {
				fix = fmt.Sprintf("replace %s by ids: [event.messageId]", name)
				break
			}
		}
		c.warn("prepare.reservations", o.LeftBrace, fix, "this reservation has no ids, so it reserves nothing")
	case ids == nil:
	case c.in.Never(ids, "array", "null", "undefined") != "":
		c.fail("prepare.result", at["ids"], "write ids: [event.messageId]",
			"ids must be an array of message ids, and is %s", c.in.Show(ids))
	case c.isMessageID(ids):
		c.warn("prepare.reservations", at["ids"], fmt.Sprintf("write ids: [%s]", c.in.Source(ids)),
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
		c.fail("reservation.unknown", o.LeftBrace, fmt.Sprintf("add topic: %q", topic),
			"this reservation names no topic")
	case known && len(d.Subscribe) > 0 && !slices.Contains(d.Subscribe, text):
		say := c.warn
		if certain {
			say = c.fail
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

// title warns where people will not see what the mutation is about.
func (c *collector) title(result *ast.ObjectLiteral, names []string, at map[string]file.Idx, whole bool,
	d *sandbox.ConsumerDefinition) {
	if !d.HasMutate || c.reservesNothing(result) {
		return
	}
	const fix = "add ui: { title: `Add row for ${event.payload.from}` }, in your words and with what identifies it"
	missing := func(at file.Idx) {
		c.warn("ui.title", at, fix, "prepare of %q gives no ui.title, so people are not told what its "+
			"mutation is about", d.Name)
	}
	_, ui := c.in.Member(result, "ui")
	if ui == nil {
		if whole && !slices.Contains(names, "title") {
			missing(result.LeftBrace)
		}
		return
	}
	o, ok := c.in.Resolve(ui).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(ui) {
		if c.in.Never(ui, "object") != "" {
			missing(at["ui"])
		}
		return
	}
	_, places, closed := script.Keys(o)
	_, title := c.in.Member(o, "title")
	text, constant := c.in.TextOf(title)
	switch {
	case title == nil && closed, constant && strings.TrimSpace(text) == "":
		missing(at["ui"])
	case constant && !identifies(text):
		c.warn("title.constant", places["title"], "name what it is about: title: `"+sandbox.Clip(text, 60)+
			" ${…}` with an address, a number or a name out of the data",
			"every mutation of %q gets the same title %q, so people cannot tell them apart", d.Name,
			sandbox.Clip(text, 100))
	}
}

// wakeAt warns of a time that is no text: it would be ignored (S4).
func (c *collector) wakeAt(result *ast.ObjectLiteral, at map[string]file.Idx) {
	_, when := c.in.Member(result, "wakeAt")
	if when == nil {
		return
	}
	what := c.in.Never(when, "text", "object", "null", "undefined")
	if what == "" && c.in.Numeric(when) {
		what = "a number"
	}
	if what != "" {
		c.warn("prepare.wakeAt", at["wakeAt"], "write wakeAt: new Date(…).toISOString()",
			"wakeAt must be a time as ISO 8601 text, and is %s, so it is ignored", what)
	}
}

// identifies tells a title that names something by a number, an address, a path or a channel.
func identifies(title string) bool {
	return strings.ContainsAny(title, "0123456789@#/_") || strings.Contains(strings.TrimRight(title, "."), ".")
}

// reservesNothing tells a result that makes no mutation.
func (c *collector) reservesNothing(result *ast.ObjectLiteral) bool {
	_, list := c.in.Member(result, "reservations")
	array, ok := c.in.Resolve(list).(*ast.ArrayLiteral)
	return ok && len(array.Value) == 0
}
