package lint

import (
	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/flow"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// state holds what a handler reads of its state against what is returned as the state: reads is the handler that is
// given it, and saves the one that returns it (R13). saves is nil where the consumer has no next.
func (c *collector) state(reads, saves ast.Expression, name string, phase sandbox.Phase) {
	saved, returns := c.saved(saves)
	reading := false
	var taken []flow.Taking
	c.handed(reads, 1, func(g flow.Taking) {
		reading = true
		if len(g.Path) == 0 {
			taken = append(taken, g)
		}
	}, func([]string, ast.Expression) { reading = true })
	at := c.in.Start(reads)
	if params, _, ok := script.Function(reads); ok && len(params.List) > 1 {
		at = c.in.Start(params.List[1])
		if id, plain := params.List[1].Target.(*ast.Identifier); plain && c.in.Declaring[id] != nil {
			reading = reading || len(c.in.Declaring[id].Uses) > 0 // also where it is assigned to
		}
	}
	from := "next of consumer"
	if phase == sandbox.Producer {
		from = "producer"
	}
	switch {
	case reading && !returns:
		fix := "return the new state at the end of " + string(phase) + ": return { … }"
		if phase == sandbox.Prepare {
			fix = "return the new state from next: async next(ctx, { data }, outcome) { return { … }; }"
		}
		c.Warn("state.neverReturned", at, fix,
			"the state is read here and %s %q never returns one, so it is always undefined", from, sandbox.Clip(name, 100))
	case !reading && phase == sandbox.Prepare && saved.whole && len(saved.names) > 0 && !c.takesAny(reads, 1):
		c.Warn("state.neverRead", c.in.Start(saved.values[0]), "read it in prepare: async prepare(ctx, state); or "+
			"return nothing from next", "next of %q returns this as the state, and prepare does not ask for it",
			sandbox.Clip(name, 100))
	}
	if !saved.whole {
		return
	}
	for _, g := range taken {
		if saved.members[g.Name] != nil || inherits(g.Name) {
			continue
		}
		fix := "return it too"
		if near := similar.Meant(g.Name, saved.names); near != "" {
			fix = "write " + near
		}
		// No edit: a state outlives the version of the script that has returned it.
		c.Warn("state.unknown", g.At, fix,
			"the state never has %s, so this is undefined: %s %q returns %s", sandbox.Clip(g.Name, 100), from,
			sandbox.Clip(name, 100), orNothing(saved.names))
	}
}

// saved is what a handler returns as the state, and whether it returns anything.
func (c *collector) saved(f ast.Expression) (s shape, returns bool) {
	if f == nil {
		return s, false
	}
	var values []ast.Expression
	for _, r := range c.in.Returns(f) {
		if kind := c.in.Kind(r.Value); r.Value != nil && kind != "undefined" {
			values, returns = append(values, r.Value), true
		}
	}
	return c.shapeOf(values), returns
}

// takesAny reports whether a function has a parameter at a place.
func (c *collector) takesAny(f ast.Expression, parameter int) bool {
	params, _, ok := script.Function(f)
	return !ok || parameter < len(params.List) || params.Rest != nil
}

// concurrent reports whether the consumer runs several times at once, with one event in each run.
func (e entry) concurrent() bool { return e.consumer != nil && e.consumer.Concurrency != nil }

// stateParameter warns of a prepare that asks for the state of a consumer that has none (C4).
func (c *collector) stateParameter(p *ast.Binding, e entry) {
	c.Warn("concurrency.state", c.in.Start(p),
		"remove it; or remove concurrency, if an event needs what the one before it left",
		"consumer %q has concurrency and so no state: this parameter of prepare is always undefined",
		sandbox.Clip(e.handler, 100))
}

// returnedState reports a next that returns the state of a consumer that has none (C4).
func (c *collector) returnedState(next ast.Expression, d *sandbox.ConsumerDefinition) {
	if d.Concurrency == nil {
		return
	}
	for _, r := range c.in.Returns(next) {
		if r.Value == nil {
			continue
		}
		if what := c.in.Never(r.Value, "undefined"); what != "" {
			c.Fail("concurrency.state", c.in.Start(r.Value),
				"return nothing, and publish what has to be kept; or remove concurrency, so that the events come one after the "+
					"other",
				"next of %q returns %s as its state, but a consumer with concurrency has none",
				sandbox.Clip(d.Name, 100), what)
		}
	}
}
