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
		made, by := r.madeBy(e.Value)
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
	made, by := r.madeBy(list)
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

// madeBy is what a function of the script returns where a list is made by a call of it, and the call; else the list.
func (r *reserving) madeBy(list ast.Expression) (made ast.Expression, by *ast.CallExpression) {
	call, ok := list.(*ast.CallExpression)
	if !ok {
		return list, nil
	}
	f := r.in.Callee(call)
	if returns := r.in.Returns(f); isFunction(f) && len(returns) == 1 {
		return returns[0].Value, call
	}
	return list, nil
}

// from are the origins of an expression. One that the flow has not reached may be a part of a parameter, of which the
// call says what it is.
func (r *reserving) from(e ast.Expression, by *ast.CallExpression) (from []origin) {
	if first, known := r.origins[e]; known && len(r.others[e]) < maxOthers {
		return append([]origin{first}, r.others[e]...)
	}
	if argument := r.givenFor(e, by); argument != nil {
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
			if given := r.givenFor(topic, o.by); given != nil {
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

// width compares how many events of a list are reserved with how many are used. by is the call of the function that
// makes the reservation, if there is one.
func (r *reserving) width(ids ast.Expression, by *ast.CallExpression, data ast.Expression) {
	value, at := ids, r.placeOf(ids, by)
	if id, named := ids.(*ast.Identifier); named {
		if given := r.givenFor(id, by); given != nil {
			value, by = given, nil
		} else if v := r.in.Refers[id]; v != nil && v.Value != nil {
			value = v.Value
		}
	}
	if call, ok := value.(*ast.CallExpression); ok {
		left, name, _, ok := script.SplitProperty(call.Callee)
		if given := r.givenFor(left, by); given != nil {
			left = given
		}
		if from, known := r.origins[left]; ok && known && name == "map" && from.list() && !r.limitedToOne(from) {
			r.tooWide(ids, call, by, left, from)
			r.part(at, data, left, from)
		}
		return
	}
	array, ok := value.(*ast.ArrayLiteral)
	if !ok || len(array.Value) != 1 || data == nil || !r.isMessageID(array.Value[0]) {
		return
	}
	origins := r.from(array.Value[0], by)
	if len(origins) != 1 || !origins[0].events() || len(origins[0].path) != 2 || r.limitedToOne(origins[0]) {
		return
	}
	var list ast.Expression
	if !r.mentions(data, func(e ast.Expression) bool {
		if o, ok := r.origins[e]; ok && o.list() && o.same(origins[0]) && r.wholeUse(e, 0) && !r.looksUp(e) {
			list = e
			return true
		}
		return false
	}, 0) {
		return
	}
	// No edit: to reserve events that the author has not meant would lose them.
	r.Warn("reservation.narrower", r.in.Start(at), "if all of them are meant, reserve all, with "+r.in.Source(list)+
		".map((each) => each.id); if one is meant, make the data of that one",
		"one event is reserved, and the data is made of all of them: the others are handled again in the next run")
}

// placeOf is what a finding about the ids of a reservation points at: a function that makes reservations for others too
// is right.
func (r *reserving) placeOf(ids ast.Expression, by *ast.CallExpression) ast.Expression {
	if by != nil && !r.within(ids, r.prepare) && r.calledElsewhere(by) {
		return by
	}
	return ids
}

// looksUp reports a mention that only says which other events prepare looks at.
func (r *reserving) looksUp(e ast.Expression) bool {
	if r.lookups == nil {
		r.lookups = make(map[ast.Node]bool)
		for _, o := range r.origins {
			if o.events() {
				r.lookups[o.touch.call] = true
			}
		}
	}
	for n := r.in.Parent(e); n != nil; n = r.in.Parent(n) {
		if r.lookups[n] {
			return true
		}
	}
	return false
}

// wholeUse reports a mention of a list that is about all of its elements.
func (r *reserving) wholeUse(e ast.Expression, depth int) bool {
	whole := r.in.Dressed(e)
	switch p := r.in.Parent(whole).(type) {
	case *ast.DotExpression:
		switch name := p.Identifier.Name.String(); name {
		case "length", "at", "find", "findLast", "shift", "pop", "some", "every":
			return false
		case "sort", "reverse", "filter", "slice", "toSorted", "toReversed":
			call, ok := r.in.Parent(r.in.Dressed(p)).(*ast.CallExpression)
			return ok && r.wholeUse(call, depth)
		}
		return true
	case *ast.BracketExpression:
		return p.Left != whole
	case *ast.Binding:
		if p.Initializer != whole {
			return false
		}
		pattern, ok := p.Target.(*ast.ArrayPattern)
		if ok {
			return pattern.Rest != nil
		}
		_, named := p.Target.(*ast.Identifier)
		return !named // what the name is used for counts
	case *ast.AwaitExpression:
		return r.wholeUse(p, depth)
	case *ast.CallExpression:
		parameter := r.given(p, whole)
		return parameter == nil || depth > maxHelpers || r.inParameter(p, parameter, func(use ast.Expression) bool {
			return r.wholeUse(use, depth+1)
		})
	case *ast.ReturnStatement, *ast.ExpressionBody:
		return !r.handedBack(p) // what the call is used for counts
	case *ast.UnaryExpression, *ast.IfStatement, *ast.ExpressionStatement:
		return false
	}
	return true
}

// tooWide warns where all events of a list are reserved, and nothing but the first of them is used. reserve makes the
// ids, and by is the call of the function that it stands in, if there is one.
func (r *reserving) tooWide(ids ast.Expression, reserve, by *ast.CallExpression, list ast.Expression, from origin) {
	first, all := "", false
	id, named := list.(*ast.Identifier)
	if !named || r.in.Refers[id] == nil {
		return
	}
	for e := range r.origins {
		o, ok := r.sameOrigin(e, from)
		if !ok || r.within(e, reserve) || r.within(e, by) {
			continue
		}
		switch {
		case o.list():
			all = all || r.wholeUse(e, 0) || r.counts(e, 0)
		case o.event():
			if text, ok := r.firstName(e); ok {
				if first == "" || len(text) < len(first) || len(text) == len(first) && text < first {
					first = text // a name before events[0], and the same one each time
				}
			} else if !r.isName(e) {
				all = true // what a loop or a method is at
			}
		}
	}
	if all || first == "" {
		return
	}
	// No edit: it would make one call for each event of what may be meant as one call for all.
	one, at := "ids: ["+first+".id]", r.placeOf(ids, by)
	switch {
	case at != ids:
		one = "give the function that makes the reservation a list of the one event: [" + first + "]"
	case !r.within(ids, r.prepare):
		one = "give the function that makes the reservation the one event, and write ids: [event.id] there"
	}
	r.Warn("reservation.wider", r.in.Start(at),
		"reserve what is used: "+one+"; the consumer runs again for the others. If one call is meant for all "+
			"of them, put their number into the title or the data",
		"all events are reserved, and only the first is used: the others are consumed unhandled")
}

// sameOrigin is the origin of an expression that may be of the same list.
func (r *reserving) sameOrigin(e ast.Expression, from origin) (origin, bool) {
	for _, o := range append([]origin{r.origins[e]}, r.others[e]...) {
		if o.same(from) {
			return o, true
		}
	}
	return origin{}, false
}

// counts reports a mention of a list that is about more than its first event: how many there are, beyond whether there
// are any, or a choice among them.
func (r *reserving) counts(e ast.Expression, depth int) bool {
	whole := r.in.Dressed(e)
	if call, ok := r.in.Parent(whole).(*ast.CallExpression); ok && depth < maxHelpers {
		parameter := r.given(call, whole)
		return parameter != nil && r.inParameter(call, parameter, func(use ast.Expression) bool {
			return r.counts(use, depth+1)
		})
	}
	dot, ok := r.in.Parent(whole).(*ast.DotExpression)
	if !ok {
		return false
	}
	switch dot.Identifier.Name.String() {
	case "some", "every", "find", "findLast":
		return true
	case "length":
	default:
		return false
	}
	length := r.in.Dressed(dot)
	switch p := r.in.Parent(length).(type) {
	case *ast.UnaryExpression, *ast.IfStatement:
		return false
	case *ast.ConditionalExpression:
		return p.Test != length
	case *ast.BinaryExpression:
		number, ok := p.Right.(*ast.NumberLiteral)
		return !ok || number.Literal != "0" && number.Literal != "1" ||
			!slices.Contains([]string{"===", "==", "!==", "!=", "<", ">", "<=", ">="}, p.Operator.String())
	}
	return true
}

// firstName is how the first event of a list is written.
func (r *reserving) firstName(e ast.Expression) (string, bool) {
	switch e := script.Bare(e).(type) {
	case *ast.BracketExpression:
		if n, ok := e.Member.(*ast.NumberLiteral); ok {
			return r.in.Source(e.Left) + "[" + n.Literal + "]", true
		}
	case *ast.CallExpression:
		left, method, _, ok := script.SplitProperty(e.Callee)
		if ok && left != nil && method == "at" && len(e.ArgumentList) == 1 {
			n, number := e.ArgumentList[0].(*ast.NumberLiteral)
			return r.in.Source(left) + "[0]", number && n.Literal == "0"
		}
		return r.in.Source(e), ok && left != nil && method == "shift"
	case *ast.Identifier:
		v := r.in.Refers[e]
		if v == nil {
			return "", false
		}
		if r.in.OfArrayPattern(v) {
			return v.Name, true
		}
		if _, named := v.Value.(*ast.Identifier); !named && v.Value != nil {
			_, first := r.firstName(v.Value)
			return v.Name, first
		}
	}
	return "", false
}

// isName reports a name that is not the parameter of a function or of a loop.
func (r *reserving) isName(e ast.Expression) bool {
	id, ok := script.Bare(e).(*ast.Identifier)
	if !ok {
		return false
	}
	v := r.in.Refers[id]
	return v != nil && v.Value != nil
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
	made, _ := r.madeBy(list)
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

// limitedToOne reports events of a call of ctx.peek that gives one event at most.
func (c *collector) limitedToOne(o origin) bool {
	if len(o.touch.call.ArgumentList) < 2 {
		return false
	}
	options, ok := c.in.Resolve(c.outside(o.touch.call.ArgumentList[1], o.site)).(*ast.ObjectLiteral)
	if !ok {
		return false
	}
	_, limit := c.in.Member(options, "limit")
	n, ok := c.in.Resolve(c.outside(limit, o.site)).(*ast.NumberLiteral)
	return ok && n.Literal == "1"
}
