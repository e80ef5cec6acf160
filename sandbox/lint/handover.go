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
