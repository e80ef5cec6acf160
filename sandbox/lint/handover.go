package lint

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/flow"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// signatures are the parameters that handlers are given.
var signatures = map[sandbox.Phase][]string{
	sandbox.Producer: {"ctx", "state"},
	sandbox.Prepare:  {"ctx", "state"},
	sandbox.Mutate:   {"ctx", "prepared"},
	sandbox.Next:     {"ctx", "prepared", "mutationResult"},
}

// parameters warns of parameters that nothing is given for.
func (c *collector) parameters(list *ast.ParameterList, e entry) {
	given := signatures[e.phase]
	for i, p := range list.List {
		if i == 1 && e.phase == sandbox.Prepare && e.concurrent() {
			c.stateParameter(p, e)
			return
		}
		if i < len(given) || p.Initializer != nil {
			continue
		}
		fix := "remove it"
		if id, ok := p.Target.(*ast.Identifier); ok && strings.Contains(strings.ToLower(id.Name.String()), "state") {
			fix = "remove it; prepare is given the state: pass on in its data what is needed here"
		}
		c.Warn("handler.parameter", c.in.Start(p), fix, "%s of %q is given (%s), so this parameter is always undefined",
			e.phase, e.handler, strings.Join(given, ", "))
		return
	}
}

// memberUse is one member that code takes of a value.
type memberUse struct {
	name string
	at   file.Idx
	e    ast.Expression // nil where a pattern takes it
}

// takenOf are the members that a function takes of its parameter.
func (c *collector) takenOf(f ast.Expression, parameter int) (list []memberUse) {
	params, _, ok := script.Function(f)
	if !ok || parameter >= len(params.List) {
		return nil
	}
	pattern := func(target ast.Node) {
		if o, ok := target.(*ast.ObjectPattern); ok {
			for _, p := range o.Properties {
				switch p := p.(type) {
				case *ast.PropertyShort:
					list = append(list, memberUse{p.Name.Name.String(), p.Name.Idx, nil})
				case *ast.PropertyKeyed:
					if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
						list = append(list, memberUse{key.Value.String(), key.Idx, nil})
					}
				}
			}
		}
	}
	id, ok := params.List[parameter].Target.(*ast.Identifier)
	if !ok {
		pattern(params.List[parameter].Target)
		return list
	}
	v := c.in.Declaring[id]
	if v == nil || c.in.Assigned(v) {
		return nil
	}
	for _, use := range v.Uses {
		whole := c.in.Dressed(use)
		if b, ok := c.in.Parent(whole).(*ast.Binding); ok && b.Initializer == whole {
			pattern(b.Target)
		}
		if m := c.in.MemberOf(whole); m != nil {
			if _, name, at, ok := script.SplitProperty(m); ok {
				list = append(list, memberUse{name, at, m})
			}
		}
	}
	return list
}

// preparedMembers warns of members of the prepare result, which the function is given, that prepare does not return.
func (c *collector) preparedMembers(f ast.Expression, parameter int, returned []string, data shape) {
	for _, t := range c.takenOf(f, parameter) {
		if slices.Contains(returned, t.name) || slices.Contains(resultMembers, t.name) || inherits(t.name) {
			continue
		}
		inData := data.members[t.name] != nil
		fix := "return it from prepare in data, and write prepared.data." + sandbox.Clip(t.name, 60)
		edit := sandbox.Edit{}
		if inData {
			edit = c.within(flow.Taking{Name: t.name, At: t.at, E: t.e}, "data")
		} else if near := similar.Names(t.name, resultMembers, 1); len(near) > 0 {
			fix, edit = "write "+near[0], c.Amend().Rename(c.in.Position(t.at), t.name, near[0])
		}
		if t.name == "status" || t.name == "result" {
			fix = "the outcome is the third parameter of next: async next(ctx, prepared, mutationResult)"
		}
		c.With(edit).Warn("prepared.unknown", t.at, fix, "prepare returns no %s, so this is undefined; it returns %s",
			sandbox.Clip(t.name, 100), strings.Join(distinct(returned), ", "))
	}
}

// shape is what the text shows of a value that one handler hands on to another.
type shape struct {
	// members are those of the objects that it may be; whole tells that it has no others.
	members map[string][]ast.Expression
	names   []string // in the order of the text
	whole   bool
	// values are the expressions that it may be, without those that are null or undefined.
	values []ast.Expression
}

// shapeOf is the union of the values that an expression may have; null and undefined are ignored.
func (c *collector) shapeOf(values []ast.Expression) shape {
	s := shape{members: make(map[string][]ast.Expression), whole: true}
	for _, value := range values {
		if kind := c.in.Kind(value); kind == "null" || kind == "undefined" {
			continue
		}
		s.values = append(s.values, value)
		object, ok := c.in.Resolve(value).(*ast.ObjectLiteral)
		if !ok || !c.in.Fixed(value) {
			s.whole = false
			continue
		}
		for _, p := range object.Value {
			name, _, member, plain := plainMember(p)
			if !plain {
				s.whole = false
				continue
			}
			if s.members[name] == nil {
				s.names = append(s.names, name)
			}
			s.members[name] = append(s.members[name], member)
		}
	}
	s.whole = s.whole && len(s.values) > 0
	return s
}

// dataOf is what prepare returns in data.
func (c *collector) dataOf(prepare ast.Expression) shape {
	var values []ast.Expression
	whole := true
	for _, r := range c.in.Returns(prepare) {
		result, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral)
		if !ok || !c.in.Fixed(r.Value) {
			whole = false
			continue
		}
		_, _, closed := script.Keys(result)
		_, data := c.in.Member(result, "data")
		whole = whole && closed
		if data != nil {
			values = append(values, data)
		}
	}
	s := c.shapeOf(values)
	s.whole = s.whole && whole
	return s
}

// data follows what prepare returns in data into mutate and next.
func (c *collector) data(prepare, mutate, next ast.Expression, d *sandbox.ConsumerDefinition) {
	for _, f := range []ast.Expression{mutate, next} {
		if f != nil {
			c.dataIn(prepare, f, 1, d)
		}
	}
}

// dataIn follows what prepare returns in data into a function that is given it in a parameter.
func (c *collector) dataIn(prepare, f ast.Expression, parameter int, d *sandbox.ConsumerDefinition) {
	s := c.dataOf(prepare)
	take := func(g flow.Taking) {
		switch {
		case len(g.Path) == 0 || g.Path[0] != "data":
		case len(g.Path) == 1:
			c.ofData(s, g, d)
		default:
			c.inData(s, g)
		}
	}
	c.handed(f, parameter, take, func(path []string, e ast.Expression) {
		if len(path) > 0 && path[0] == "data" {
			c.handedOn[e] = handedOn{s, path[1:]}
		}
	})
}

// handedOn is a value that prepare has returned, by the path into its data.
type handedOn struct {
	shape shape
	path  []string
}

// written are the expressions that it stands for, nil where the text does not show them.
func (h handedOn) written() []ast.Expression {
	switch {
	case len(h.path) == 0:
		return h.shape.values
	case len(h.path) == 1:
		return h.shape.members[h.path[0]]
	}
	return nil
}

// ofData warns of a member of data that prepare does not put there.
func (c *collector) ofData(s shape, g flow.Taking, d *sandbox.ConsumerDefinition) {
	if inherits(g.Name) || len(s.values) == 0 {
		return
	}
	if c.allEvents(s.values) {
		if !slices.Contains(eventMembers, g.Name) && !slices.Contains(knownMembers, g.Name) {
			c.notOfEvent(g)
		}
		return
	}
	if !s.whole || s.members[g.Name] != nil {
		return
	}
	fix, edit := "return it from prepare in data", sandbox.Edit{}
	if near := similar.Meant(g.Name, s.names); near != "" {
		fix, edit = "write "+near, c.renamed(g, near)
	}
	c.With(edit).Warn("data.unknown", g.At, fix,
		"prepare of %q puts no %s into data, so this is undefined; it has %s", sandbox.Clip(d.Name, 100),
		sandbox.Clip(g.Name, 100), orNothing(s.names))
}

// inData judges what is taken of a member of data.
func (c *collector) inData(s shape, g flow.Taking) {
	of := s.members[g.Path[1]]
	if len(of) == 0 || slices.Contains(listMembers, g.Name) || inherits(g.Name) {
		return
	}
	switch {
	case len(g.Path) == 2 && c.allEvents(of):
		if !slices.Contains(eventMembers, g.Name) && !slices.Contains(knownMembers, g.Name) {
			c.notOfEvent(g)
		}
	case len(g.Path) == 3 && g.Path[2] == flow.Element && c.allLists(of):
		if !slices.Contains(eventMembers, g.Name) && !slices.Contains(knownMembers, g.Name) {
			c.notOfEvent(g)
		}
	}
}

func (c *collector) allEvents(values []ast.Expression) bool {
	return !slices.ContainsFunc(values, func(e ast.Expression) bool { return !c.origins[e].event() })
}

func (c *collector) allLists(values []ast.Expression) bool {
	return !slices.ContainsFunc(values, func(e ast.Expression) bool { return !c.origins[e].list() })
}

// outcome takes down what next takes of the result of the mutation.
func (c *collector) outcome(next ast.Expression, d *sandbox.ConsumerDefinition) {
	c.handed(next, 2, func(g flow.Taking) {
		if len(g.Path) > 0 && g.Path[0] == "result" {
			g.Path = slices.Clone(g.Path[1:])
			if len(g.Path) == 0 {
				g.Path = nil
			}
			c.result(sandbox.ResultRead{Handler: d.Name}, g)
		}
	}, nil)
}
