package lint

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// feed is what a consumer publishes in any case: for each event that it consumes there is another one.
type feed struct {
	from, to string // consumers
	topic    string
	touch    *touch
}

// feedback warns of consumers whose next publishes, without any condition, what leads back to themselves: one event is
// worked on without end.
func (c *collector) feedback() {
	var feeds []feed
	for i := range c.definition.Consumers {
		d := &c.definition.Consumers[i]
		_, value := c.in.Find("consumers", d.Name, string(sandbox.Next))
		f := c.in.Resolve(value)
		params, _, ok := script.Function(f)
		if !ok || len(params.List) == 0 {
			continue
		}
		h := c.holder(params.List[0])
		for j := range h.touches {
			t := &h.touches[j]
			if m, own := t.builtin(); !own || m != sandbox.MemberPublish || t.call == nil ||
				len(t.call.ArgumentList) == 0 || c.conditional(t.call, f) {
				continue
			}
			for _, topic := range c.topicsNamed(t.call.ArgumentList[0]) {
				for k := range c.definition.Consumers {
					if to := &c.definition.Consumers[k]; slices.Contains(to.Subscribe, topic) {
						feeds = append(feeds, feed{d.Name, to.Name, topic, t})
					}
				}
			}
		}
	}
	for _, f := range feeds {
		way := c.wayBack(feeds, f)
		if way == nil {
			continue
		}
		through := "its own topic"
		if len(way) > 1 {
			through = "itself again, by way of " + strings.Join(way[:len(way)-1], ", ")
		}
		c.Warn("next.feedsItself", c.in.Start(f.touch.call), "publish only while there is more to do: if (…) await "+
			"ctx.publish(…); or publish to another topic",
			"next of %q always publishes to %q, which leads to %s: one event makes another without end",
			sandbox.Clip(f.from, 100), sandbox.Clip(f.topic, 100), through)
	}
}

func (c *collector) topicsNamed(e ast.Expression) (topics []string) {
	named := []ast.Expression{e}
	if list, ok := c.in.Resolve(e).(*ast.ArrayLiteral); ok {
		named = list.Value
	}
	for _, e := range named {
		if topic, known := c.in.TextOf(e); known {
			topics = append(topics, topic)
		}
	}
	return topics
}

// wayBack lists the consumers on the shortest way from a feed back to its own consumer, nil for none.
func (c *collector) wayBack(feeds []feed, f feed) []string {
	type way struct{ names []string }
	queue, seen := []way{{[]string{f.to}}}, map[string]bool{f.to: true}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		last := w.names[len(w.names)-1]
		if last == f.from {
			return w.names
		}
		for _, g := range feeds {
			if g.from == last && !seen[g.to] {
				seen[g.to] = true
				queue = append(queue, way{append(slices.Clone(w.names), g.to)})
			}
		}
	}
	return nil
}

// conditional reports whether a call in a handler depends on more than that there was something to do: on any test but
// those of the outcome and of whether there is data.
func (c *collector) conditional(call ast.Node, f ast.Expression) bool {
	for n := ast.Node(call); n != nil && n != ast.Node(f); n = c.in.Parent(n) {
		switch p := c.in.Parent(n).(type) {
		case *ast.IfStatement:
			if p.Test != n && !c.presence(p.Test, f) {
				return true
			}
		case *ast.ConditionalExpression:
			if p.Test != n {
				return true
			}
		case *ast.BinaryExpression:
			if op := p.Operator.String(); (op == "&&" || op == "||") && p.Right == n && !c.presence(p.Left, f) {
				return true
			}
		case *ast.SwitchStatement, *ast.WhileStatement, *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement,
			*ast.TryStatement:
			return true // it may do nothing
		case *ast.BlockStatement:
			if c.leavesBefore(p.List, n, f) {
				return true
			}
		case *ast.ArrowFunctionLiteral, *ast.FunctionLiteral:
			if ast.Node(p) != ast.Node(f) {
				return true
			}
		}
	}
	return false
}

// leavesBefore reports a return for another cause before a statement of a list.
func (c *collector) leavesBefore(list []ast.Statement, before ast.Node, f ast.Expression) bool {
	for _, s := range list {
		if ast.Node(s) == before {
			return false
		}
		if test, ok := s.(*ast.IfStatement); ok && !c.presence(test.Test, f) {
			leaves := false
			c.in.Walk(test, func(n ast.Node) bool {
				switch n.(type) {
				case *ast.ReturnStatement, *ast.ThrowStatement:
					leaves = true
				}
				return !leaves
			})
			if leaves {
				return true
			}
		}
	}
	return false
}

// presence reports a test that only asks whether there is data, or what became of the mutation.
func (c *collector) presence(test ast.Expression, f ast.Expression) bool {
	return c.presenceTo(test, f, 10)
}

// presenceTo is presence with a bound: it follows at most depth names, since a name may lead back to itself.
func (c *collector) presenceTo(test ast.Expression, f ast.Expression, depth int) bool {
	switch e := script.Bare(test).(type) {
	case *ast.Identifier:
		return c.presentName(e, f, depth)
	case *ast.UnaryExpression:
		return e.Operator.String() == "!" && c.presenceTo(e.Operand, f, depth)
	case *ast.DotExpression:
		name := e.Identifier.Name.String()
		return name == "data" || name == "status"
	case *ast.BinaryExpression:
		switch e.Operator.String() {
		case "&&", "||":
			return c.presenceTo(e.Left, f, depth) && c.presenceTo(e.Right, f, depth)
		case "===", "!==", "==", "!=":
			left := script.Bare(e.Left)
			if dot, ok := left.(*ast.DotExpression); ok && dot.Identifier.Name.String() == "status" {
				return true
			}
			kind := c.in.Kind(e.Right)
			id, named := left.(*ast.Identifier)
			return named && c.presentName(id, f, depth) && (kind == "null" || kind == "undefined") ||
				named && c.statusText(e.Right)
		}
	}
	return false
}

// presentName reports a name that stands for the data, for the outcome or its status, or for a test of those. One that
// is taken out of the data, or is assigned, is a condition of its own.
func (c *collector) presentName(id *ast.Identifier, f ast.Expression, depth int) bool {
	v := c.in.Refers[id]
	switch {
	case v == nil || c.in.Assigned(v):
		return false
	case v.Value != nil:
		return depth > 0 && c.presenceTo(v.Value, f, depth-1)
	}
	params, _, _ := script.Function(f)
	for i, part := range []string{"", "data", "status"} {
		if i >= len(params.List) {
			break
		}
		switch target := params.List[i].Target.(type) {
		case *ast.Identifier:
			if c.in.Declaring[target] == v {
				return true
			}
		case *ast.ObjectPattern:
			if part != "" && c.declares(target, part, v) {
				return true
			}
		}
	}
	key, declared := c.in.KeyOf(v)
	return declared && (key == "data" || key == "status")
}

func (c *collector) statusText(e ast.Expression) bool {
	text, known := c.in.TextOf(e)
	return known && slices.Contains(statuses, text)
}
