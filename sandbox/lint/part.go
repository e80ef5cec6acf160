package lint

import (
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox/script"
)

// part warns of a result that reserves a slice of the events it has peeked, and whose data is made of all of them. Only
// what is plainly of all counts: a reduce of the whole list, or the list itself as a value.
func (r *reserving) part(ids, data, list ast.Expression, from origin) {
	all, sliced := r.slicedFrom(list)
	if !sliced || data == nil || r.open || !r.mentions(data, func(e ast.Expression) bool {
		o, ok := r.origins[e]
		return ok && o.list() && o.touch == from.touch && r.madeOfAll(e, 0)
	}, 0) {
		return
	}
	some := r.in.Source(list)
	if _, named := script.Bare(list).(*ast.Identifier); !named {
		some = "a name for the part, as in const part = " + r.in.Source(all) + ".slice(0, 10)"
	}
	// No edit: to reserve events that the author has not meant would lose them.
	r.Warn("reservation.narrower", r.in.Start(ids),
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
		id := r.given(p, whole)
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

// handed reports an argument that is followed into a function of the script.
func (r *reserving) handed(call *ast.CallExpression, argument ast.Expression) bool {
	return r.given(call, argument) != nil
}

// given is the parameter that an argument is, of a function that has a name, is called here alone and leaves the
// parameter as it is; nil for any other.
func (r *reserving) given(call *ast.CallExpression, argument ast.Expression) *ast.Identifier {
	id, named := script.Bare(call.Callee).(*ast.Identifier)
	at := slices.Index(call.ArgumentList, argument)
	if !named || at < 0 {
		return nil
	}
	function := r.in.Refers[id]
	params, _, ok := script.Function(r.in.Resolve(id))
	if function == nil || len(function.Uses) != 1 || !ok || at >= len(params.List) {
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
