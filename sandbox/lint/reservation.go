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

// nothing is what prepare returns when there is nothing to do.
const nothing = "{ reservations: [], data: null }"

// reservesNothing tells a result that makes no mutation.
func (c *collector) reservesNothing(result *ast.ObjectLiteral) bool {
	_, list := c.in.Member(result, "reservations")
	array, ok := c.in.Resolve(list).(*ast.ArrayLiteral)
	return ok && len(array.Value) == 0
}

// part warns of a result that reserves a slice of the events it has peeked, and whose data is made of all of them. Only
// what is plainly of all counts: a reduce of the whole list, or the list itself as a value.
func (r *reserving) part(at, data, list ast.Expression, from origin) {
	all, sliced := r.slicedFrom(list)
	if !sliced || data == nil || r.open || !r.mentions(data, func(e ast.Expression) bool {
		o, ok := r.origins[e]
		return ok && o.list() && o.same(from) && r.madeOfAll(e, 0)
	}, 0) {
		return
	}
	some := r.in.Source(list)
	if _, named := script.Bare(list).(*ast.Identifier); !named {
		some = "a name for the part, as in const part = " + r.in.Source(all) + ".slice(0, 10)"
	}
	// No edit: to reserve events that the author has not meant would lose them.
	r.Warn("reservation.narrower", r.in.Start(at),
		"make the data of those that are reserved, of "+some+"; if all are meant, reserve "+
			r.in.Source(all)+".map((each) => each.id)",
		"a part of the events is reserved, and the data is made of all of them: the others are counted again in the next run")
}

// slicedFrom reports a list that is a slice of another one, written there or behind its name.
func (r *reserving) slicedFrom(list ast.Expression) (all ast.Expression, ok bool) {
	call, ok := r.valueOf(list).(*ast.CallExpression)
	if !ok {
		return nil, false
	}
	left, name, _, ok := script.SplitProperty(call.Callee)
	if ok && left != nil && name == "slice" && len(call.ArgumentList) == 2 {
		return left, !r.narrowed(left, 0)
	}
	return nil, false
}

// valueOf is what a name was declared with, and else the expression.
func (r *reserving) valueOf(e ast.Expression) ast.Expression {
	id, named := script.Bare(e).(*ast.Identifier)
	if !named {
		return script.Bare(e)
	}
	if v := r.in.Refers[id]; v != nil && v.Value != nil && !r.in.Assigned(v) {
		return script.Bare(v.Value)
	}
	return id
}

// narrowed reports a list that may be only some of the events that were peeked.
func (r *reserving) narrowed(e ast.Expression, depth int) bool {
	if depth > 5 {
		return true
	}
	value := r.valueOf(e)
	if await, ok := value.(*ast.AwaitExpression); ok {
		value = script.Bare(await.Argument)
	}
	switch value := value.(type) {
	case *ast.ArrayLiteral: // filled by push
		return len(value.Value) > 0
	case *ast.CallExpression:
		if o, ok := r.origins[value]; ok && o.touch.call == value {
			return false
		}
		if made, by := r.unwrapped(value); by != nil {
			return r.narrowed(made, depth+1)
		}
		left, name, _, ok := script.SplitProperty(value.Callee)
		if !ok || left == nil || !slices.Contains([]string{"sort", "toSorted", "reverse", "toReversed"}, name) {
			return true
		}
		return r.narrowed(left, depth+1)
	}
	return true
}

// madeOfAll reports a mention of a list out of which one value is made of all its events.
func (r *reserving) madeOfAll(e ast.Expression, depth int) bool {
	if depth > 5 {
		return false
	}
	whole := r.in.Dressed(e)
	switch p := r.in.Parent(whole).(type) {
	case *ast.DotExpression:
		name := p.Identifier.Name.String()
		return (name == "reduce" || name == "reduceRight") && !r.narrowed(e, 0)
	case *ast.PropertyKeyed:
		return p.Value == whole && !r.narrowed(e, 0)
	case *ast.CallExpression:
		id := r.parameterOf(p, whole)
		if id == nil || r.narrowed(e, 0) {
			return false
		}
		for _, use := range r.in.Declaring[id].Uses {
			dot, ok := r.in.Parent(r.in.Dressed(use)).(*ast.DotExpression)
			if ok && (dot.Identifier.Name.String() == "reduce" || dot.Identifier.Name.String() == "reduceRight") {
				return true
			}
		}
	}
	return false
}

// parameterOf is the parameter that a call gives an argument for; nil where the function that is called has no name, or
// changes the parameter.
func (r *reserving) parameterOf(call *ast.CallExpression, argument ast.Expression) *ast.Identifier {
	id, named := script.Bare(call.Callee).(*ast.Identifier)
	at := slices.Index(call.ArgumentList, argument)
	if !named || at < 0 {
		return nil
	}
	params, _, ok := script.Function(r.in.Resolve(id))
	if r.in.Refers[id] == nil || !ok || at >= len(params.List) {
		return nil
	}
	parameter, plain := params.List[at].Target.(*ast.Identifier)
	if !plain || params.List[at].Initializer != nil {
		return nil
	}
	if v := r.in.Declaring[parameter]; v == nil || r.in.Assigned(v) {
		return nil
	}
	return parameter
}

// inParameter reports a use of a parameter in the function that a call gives it to. Where the function is called here
// alone, its uses count by themselves.
func (r *reserving) inParameter(call *ast.CallExpression, parameter *ast.Identifier,
	of func(use ast.Expression) bool) bool {
	return r.calledElsewhere(call) && slices.ContainsFunc(r.in.Declaring[parameter].Uses,
		func(use *ast.Identifier) bool { return of(use) })
}

// calledElsewhere reports whether the function of a call is used in other places too.
func (r *reserving) calledElsewhere(call *ast.CallExpression) bool {
	id, named := script.Bare(call.Callee).(*ast.Identifier)
	return named && r.in.Refers[id] != nil && len(r.in.Refers[id].Uses) > 1
}

// handedBack reports the return of a function with a name, whose calls are followed.
func (r *reserving) handedBack(n ast.Node) bool {
	function := r.in.FunctionAround(n)
	if function == nil {
		function, _ = r.in.Parent(n).(ast.Expression)
	}
	v := r.in.NameOf(function)
	if v == nil || len(v.Uses) == 0 {
		return false
	}
	for _, use := range v.Uses {
		if call, ok := r.in.Parent(use).(*ast.CallExpression); !ok || call.Callee != ast.Expression(use) {
			return false
		}
	}
	return true
}
