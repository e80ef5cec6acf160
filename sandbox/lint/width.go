package lint

import (
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox/script"
)

// width compares how many events of a list are reserved with how many are used. by is the call of the function that
// makes the reservation, if there is one.
func (r *reserving) width(ids ast.Expression, by *ast.CallExpression, data ast.Expression) {
	value, at := ids, r.placeOf(ids, by)
	if id, named := ids.(*ast.Identifier); named {
		if given := r.argumentFor(id, by); given != nil {
			value, by = given, nil
		} else if v := r.in.Refers[id]; v != nil && v.Value != nil {
			value = v.Value
		}
	}
	if call, ok := value.(*ast.CallExpression); ok {
		left, name, _, ok := script.SplitProperty(call.Callee)
		if given := r.argumentFor(left, by); given != nil {
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

// placeOf is what a finding about the ids of a reservation points at. It is the call, where other calls too get their
// reservations from the function: the function itself is right then.
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
		parameter := r.parameterOf(p, whole)
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
			text, named := r.firstName(e)
			switch {
			case !named:
				all = all || !r.isName(e) // what a loop or a method is at
			case len(o.site.Calls()) < len(from.site.Calls()):
				// The function that looks the events up looks at the first, and hands on all.
			case first == "" || len(text) < len(first) || len(text) == len(first) && text < first:
				first = text // a name before events[0], and the same one each time
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
		parameter := r.parameterOf(call, whole)
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
