package lint

import (
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// reserving holds what prepare reserves against what it uses.
type reserving struct {
	*collector
	prepare ast.Expression
	d       *sandbox.ConsumerDefinition
	// topics are all that any result reserves or cancels; open tells that there may be others.
	topics []string
	open   bool
	// lookups are the calls that give events.
	lookups map[ast.Node]bool
}

// reserved warns of a prepare that reserves more or less than it uses, and of topics of which it never reserves any.
func (c *collector) reserved(prepare ast.Expression, d *sandbox.ConsumerDefinition) {
	r := reserving{collector: c, prepare: prepare, d: d}
	results := r.results()
	for _, result := range results {
		r.note(result)
	}
	half := make(map[string]bool)
	for _, result := range results {
		r.result(result, half)
	}
	if r.open || len(results) == 0 {
		return
	}
	at, value := c.in.Find("consumers", d.Name, "subscribe")
	for i, topic := range d.Subscribe {
		if slices.Contains(r.topics, topic) || half[topic] || len(r.topics) == 0 && !r.looks(topic) {
			continue
		}
		place := at
		if list, ok := c.in.Resolve(value).(*ast.ArrayLiteral); ok && i < len(list.Value) && list.Value[i] != nil {
			place = c.in.Start(list.Value[i])
		}
		c.Warn("reservation.never", place, fmt.Sprintf("reserve its events in prepare: { topic: %q, ids: [event.messageId] "+
			"}, or take it out of subscribe", topic),
			"prepare of %q never reserves an event of %q, so they stay pending for ever", sandbox.Clip(d.Name, 100),
			sandbox.Clip(topic, 100))
	}
}

// looks reports whether prepare looks at the events of a topic.
func (r *reserving) looks(topic string) bool {
	for _, o := range r.origins {
		if name, known := r.topic(o); known && name == topic && r.within(o.touch.call, r.prepare) {
			return true
		}
	}
	return false
}

// results returns the results of prepare that the text shows. If there may be others, nothing can be said about what is
// reserved.
func (r *reserving) results() (list []*ast.ObjectLiteral) {
	for _, e := range r.in.Returns(r.prepare) {
		made, by := r.unwrapped(e.Value)
		result, ok := r.in.Resolve(made).(*ast.ObjectLiteral)
		if ok && by != nil && r.chooses(result) {
			ok = false
		}
		if !ok || !r.in.Fixed(made) {
			r.open = true
			continue
		}
		list = append(list, result)
	}
	return list
}

// element is an object of a list that is written out; by is the call of the function that makes the list, nil where the
// result has it itself.
type element struct {
	*ast.ObjectLiteral
	by *ast.CallExpression
}

// chooses reports a result that may reserve or cancel events.
func (r *reserving) chooses(result *ast.ObjectLiteral) bool {
	_, _, whole := script.Keys(result)
	_, cancel := r.in.Member(result, "cancel")
	return !whole || cancel != nil || !r.reservesNothing(result)
}

// elements are the objects of a list that is written out.
func (r *reserving) elements(result *ast.ObjectLiteral, member string) []element {
	_, list := r.in.Member(result, member)
	if list == nil {
		_, _, whole := script.Keys(result)
		r.open = r.open || !whole || member == "reservations" // what is meant by them is said elsewhere
		return nil
	}
	made, by := r.unwrapped(list)
	array, ok := r.in.Resolve(made).(*ast.ArrayLiteral)
	if !ok || !r.in.Fixed(list) || !r.in.Fixed(made) {
		r.open = true
		return nil
	}
	var found []element
	for _, e := range array.Value {
		o, ok := r.in.Resolve(e).(*ast.ObjectLiteral)
		if !ok {
			r.open = true
			continue
		}
		found = append(found, element{o, by})
	}
	return found
}

// unwrapped is what a function of the script returns, and the call of it, where an expression is such a call; else the
// expression itself.
func (r *reserving) unwrapped(e ast.Expression) (made ast.Expression, by *ast.CallExpression) {
	call, ok := e.(*ast.CallExpression)
	if !ok {
		return e, nil
	}
	f := r.in.Callee(call)
	if returns := r.in.Returns(f); isFunction(f) && len(returns) == 1 {
		return returns[0].Value, call
	}
	return e, nil
}

// from are the origins of an expression. An expression that the flow has not reached may be a parameter, or a part of
// one: then the call shows what it stands for.
func (r *reserving) from(e ast.Expression, by *ast.CallExpression) (from []origin) {
	if first, known := r.origins[e]; known && len(r.others[e]) < maxOthers {
		return append([]origin{first}, r.others[e]...)
	}
	if argument := r.argumentFor(e, by); argument != nil {
		return r.from(argument, nil)
	}
	left, name, _, ok := script.SplitProperty(e)
	if !ok || left == nil || by == nil {
		return nil
	}
	for _, o := range r.from(left, by) {
		from = append(from, origin{o.touch, append(slices.Clone(o.path), name), o.site})
	}
	return from
}

func (r *reserving) note(result *ast.ObjectLiteral) {
	for _, member := range []string{"reservations", "cancel"} {
		for _, o := range r.elements(result, member) {
			_, topic := r.in.Member(o.ObjectLiteral, "topic")
			names := r.topicsOf(topic, o.by)
			if given := r.argumentFor(topic, o.by); given != nil {
				topic = given
			}
			if name, known := r.in.TextOf(topic); known {
				names = []string{name}
			}
			r.topics = append(r.topics, names...)
			r.open = r.open || len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
				return !slices.Contains(r.d.Subscribe, name)
			})
		}
	}
}

// topicsOf are those that event.topic may be, none where the text does not show all of them.
func (r *reserving) topicsOf(e ast.Expression, by *ast.CallExpression) (names []string) {
	for _, o := range r.from(e, by) {
		name, known := r.topic(o)
		if !known || len(o.path) != 2 || o.path[1] != "topic" {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// result judges one result of prepare.
func (r *reserving) result(result *ast.ObjectLiteral, half map[string]bool) {
	_, data := r.in.Member(result, "data")
	for _, o := range r.elements(result, "reservations") {
		if _, ids := r.in.Member(o.ObjectLiteral, "ids"); ids != nil {
			r.width(ids, o.by, data)
		}
	}
	if data == nil || r.open {
		return
	}
	r.half(result, data, half)
}

// within reports whether an expression stands inside another one.
func (r *reserving) within(e ast.Expression, outer ast.Node) bool {
	for n := ast.Node(e); n != nil; n = r.in.Parent(n) {
		if n == outer {
			return true
		}
	}
	return false
}

// half warns of a result whose data has events of a topic of which nothing is reserved.
func (r *reserving) half(result *ast.ObjectLiteral, data ast.Expression, said map[string]bool) {
	at, list := r.in.Member(result, "reservations")
	made, _ := r.unwrapped(list)
	array, ok := r.in.Resolve(made).(*ast.ArrayLiteral)
	if !ok || len(array.Value) == 0 {
		return
	}
	r.mentions(data, func(e ast.Expression) bool {
		o := r.origins[e]
		topic, named := r.topic(o)
		if !named || !o.event() && !o.list() || slices.Contains(r.topics, topic) || said[topic] ||
			!slices.Contains(r.d.Subscribe, topic) {
			return false
		}
		said[topic] = true
		event := "event"
		if id, ok := e.(*ast.Identifier); ok && o.event() {
			event = id.Name.String()
		}
		// No edit: to reserve an event that the author only looks at would lose it.
		r.Warn("reservation.half", at, fmt.Sprintf("if the run deals with it, reserve it too, with { topic: %q, ids: "+
			"[%s.id] }", sandbox.Clip(topic, 100), event),
			"an event of %q is used in data and not reserved: it stays pending, and is used again",
			sandbox.Clip(topic, 100))
		return false
	}, 0)
}
