package lint

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/flow"
	"github.com/pawl-run/pawl/sandbox/script"
)

// statuses are the statuses that a mutation result can have.
var statuses = []string{"applied", "none", "skipped"}

// outcomes warns of members and values that a mutation result never has.
func (c *collector) outcomes(next ast.Expression) {
	for _, t := range c.takenOf(next, 2) {
		switch {
		case t.name == "status":
			if t.e != nil {
				c.compared(t.e)
			}
		case t.name == "result" || inherits(t.name):
		default:
			edit := sandbox.Edit{}
			fix := "write mutationResult.result." + sandbox.Clip(t.name, 60) +
				" for a member of what the connector answered, after mutationResult.status === \"applied\""
			switch t.name {
			case "success", "ok", "applied":
				fix = "write mutationResult.status === \"applied\""
				if left, _, _, ok := script.SplitProperty(t.e); ok {
					whole := c.in.Source(left) + "." + t.name
					edit = c.Amend().Swap(c.place(t.e), whole, c.in.Source(left)+".status === \"applied\"")
				}
			case "error", "failed", "failure":
				fix = "remove it: next never runs after a failed mutation; the status is applied, none or skipped"
			case "data", "value", "response", "output":
				fix, edit = "write mutationResult.result", c.Amend().Rename(c.in.Position(t.at), t.name, "result")
			default:
				edit = c.withinResult(next, flow.Taking{Name: t.name, At: t.at, E: t.e})
			}
			c.With(edit).Warn("mutationResult.unknown", t.at, fix, "a mutation result has status and result, and no %s",
				sandbox.Clip(t.name, 100))
		}
	}
	params, _, _ := script.Function(next)
	if len(params.List) > 2 {
		c.destructuredStatus(params.List[2].Target)
	}
}

// withinResult is the edit that takes the member from the result instead. The result may be absent where next has not
// tested the status.
func (c *collector) withinResult(next ast.Expression, g flow.Taking) sandbox.Edit {
	switch {
	case c.testsBefore(next, g.At):
		return c.within(g, "result")
	case g.E == nil:
		return sandbox.Edit{} // a pattern has no way to say so
	}
	return c.within(g, "result?")
}

// destructuredStatus looks at the uses of next(ctx, prepared, { status }).
func (c *collector) destructuredStatus(target ast.Node) {
	o, ok := target.(*ast.ObjectPattern)
	if !ok {
		return
	}
	for _, p := range o.Properties {
		if short, ok := p.(*ast.PropertyShort); ok && short.Name.Name.String() == "status" {
			if v := c.in.Declaring[&short.Name]; v != nil {
				for _, use := range v.Uses {
					c.compared(use)
				}
			}
		}
	}
}

// compared checks what a status is compared with.
func (c *collector) compared(status ast.Expression) {
	check := func(with ast.Expression) {
		text, known := c.in.TextOf(with)
		if !known || slices.Contains(statuses, text) {
			return
		}
		fix, edit := `the status is "applied", "none" or "skipped"`, sandbox.Edit{}
		switch strings.ToLower(text) {
		case "success", "succeeded", "successful", "ok", "done", "completed", "complete", "committed", "confirmed":
			fix, edit = `write "applied"`, c.Amend().Replace(c.place(with), `"applied"`)
		case "failed", "failure", "error", "rejected":
			fix = "remove it: next never runs after a failed mutation; the status is applied, none or skipped"
		case "skip", "cancelled", "canceled", "user_skip":
			fix, edit = `write "skipped"`, c.Amend().Replace(c.place(with), `"skipped"`)
		case "noop", "empty", "null", "":
			fix, edit = `write "none"`, c.Amend().Replace(c.place(with), `"none"`)
		}
		c.With(edit).Warn("mutationResult.unknown", c.in.Start(with), fix, "the status of a mutation result is never %q",
			sandbox.Clip(text, 60))
	}
	switch p := c.in.Parent(c.in.Dressed(status)).(type) {
	case *ast.BinaryExpression:
		switch p.Operator {
		case token.EQUAL, token.STRICT_EQUAL, token.NOT_EQUAL, token.STRICT_NOT_EQUAL:
			if p.Left == c.in.Dressed(status) {
				check(p.Right)
			} else {
				check(p.Left)
			}
		}
	case *ast.SwitchStatement:
		for _, branch := range p.Body {
			if branch.Test != nil {
				check(branch.Test)
			}
		}
	}
}
