package lint

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/script"
)

// touch is one place that uses a member of a ctx.
type touch struct {
	// e is the whole of it: ctx.peek, ctx.csv.appendRow, or a name that stands for it.
	e ast.Expression
	// at is where the last name of it stands, from where the member of ctx is taken.
	at, from file.Idx
	member   string // of ctx: a function of its own or a connector
	// operation is empty for ctx's own functions, and for a connector that is used without one.
	operation string
	call      *ast.CallExpression // nil where it is not called
}

// name is how a script writes it.
func (t *touch) name() string {
	if t.operation == "" {
		return "ctx." + sandbox.Clip(t.member, 100)
	}
	return "ctx." + sandbox.Clip(t.member, 100) + "." + sandbox.Clip(t.operation, 100)
}

// builtin reports a function of ctx that is no connector's.
func (t *touch) builtin() (sandbox.Member, bool) {
	m, ok := sandbox.Builtins[t.member]
	return m, ok
}

// ofConnector reports a connector's operation.
func (t *touch) ofConnector() bool {
	_, own := t.builtin()
	return !own && t.operation != "" && t.member != sandbox.VarsMember
}

// promises reports a call that gives a promise.
func (t *touch) promises() bool {
	if t.call == nil {
		return false
	}
	switch m, own := t.builtin(); {
	case !own:
		return t.ofConnector()
	case m == sandbox.MemberLog || m == sandbox.MemberNow || m == sandbox.MemberRegisterInput ||
		m == sandbox.MemberHash || m == sandbox.MemberScheduledAt:
		return false
	}
	return true
}

// pass is a ctx given on to another function.
type pass struct {
	call *ast.CallExpression
	to   ast.Expression // the function, nil where the text does not show it
	at   int            // its parameter
}

// holder is a parameter that is given a ctx, and all that is done with it under whatever names.
type holder struct {
	touches  []touch
	passes   []pass
	computed []ast.Expression // ctx[name], ctx.connector[name]
}

// role is what a name stands for: a ctx (no member), a member of it, or an operation.
type role struct {
	member, operation string
	from              file.Idx // where the member is taken
}

// collector follows ctx from the handlers through the functions it is passed to.
type collector struct {
	*finding.List
	in         *script.Text
	definition *sandbox.Definition
	uses       []sandbox.OperationUse
	holders    map[*ast.Binding]*holder
	order      []*holder // as found
	followed   map[*script.Variable]bool
	seen       map[visit]bool
	calls      map[*ast.CallExpression]bool // of ctx, once all are known
	recorded   map[*ast.CallExpression]bool // whose parameters are recorded
	payloads   payloads
	// flowed are the calls whose results are followed, and origins what is known of expressions by that. An expression
	// that may be of several calls, as first ?? second, has the further ones in others.
	flowed       map[*ast.CallExpression]bool
	origins      map[ast.Expression]origin
	others       map[ast.Expression][]origin
	payloadReads []payloadRead
	// handedOn are the values that prepare has returned.
	handedOn map[ast.Expression]handedOn
	// writtenLeft is how many bytes of parameters may still be taken down.
	writtenLeft int
}

// holder is what is done with the ctx in a parameter.
func (c *collector) holder(parameter *ast.Binding) *holder {
	if h, ok := c.holders[parameter]; ok {
		return h
	}
	h := &holder{}
	c.holders[parameter] = h
	c.order = append(c.order, h)
	c.bind(h, parameter.Target, role{})
	return h
}

// bind follows the names of a declaration that is given a ctx or a part of one.
func (c *collector) bind(h *holder, target ast.Node, r role) {
	switch target := target.(type) {
	case *ast.Identifier:
		if v := c.in.Declaring[target]; v != nil {
			c.follow(h, v, r)
		} else if v := c.in.Refers[target]; v != nil {
			c.follow(h, v, r)
		}
	case *ast.AssignExpression: // with a default value
		c.bind(h, target.Left, r)
	case *ast.ObjectPattern:
		if r.operation != "" {
			return
		}
		for _, p := range target.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				c.bind(h, &p.Name, r.of(p.Name.Name.String(), p.Name.Idx))
			case *ast.PropertyKeyed:
				if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
					c.bind(h, p.Value, r.of(key.Value.String(), key.Idx))
				}
			}
		}
	}
}

func (r role) of(name string, at file.Idx) role {
	if r.member == "" {
		return role{member: name, from: at}
	}
	return role{r.member, name, r.from}
}

func (c *collector) follow(h *holder, v *script.Variable, r role) {
	if c.followed[v] {
		return
	}
	c.followed[v] = true
	for _, id := range v.Uses {
		c.site(h, id, id.Idx, r)
	}
}

// site looks at what is done with an expression that is a ctx or a part of one. Its last name stands
// at the given place.
func (c *collector) site(h *holder, e ast.Expression, at file.Idx, r role) {
	_, own := sandbox.Builtins[r.member]
	whole := c.in.Dressed(e)
	switch p := c.in.Parent(whole).(type) {
	case *ast.DotExpression:
		if r.operation == "" && !own { // a connector's operation, or one of vars
			c.site(h, p, p.Identifier.Idx, r.of(p.Identifier.Name.String(), p.Identifier.Idx))
			return
		}
	case *ast.BracketExpression:
		if p.Left != whole || r.operation != "" || own {
			break
		}
		if _, name, at, ok := script.SplitProperty(p); ok {
			c.site(h, p, at, r.of(name, at))
			return
		}
		if r.member == sandbox.VarsMember { // which one is known when it is read
			break
		}
		h.computed = append(h.computed, p)
		return
	case *ast.Binding:
		if p.Initializer == whole {
			c.bind(h, p.Target, r)
			return
		}
	case *ast.AssignExpression:
		if _, name := p.Left.(*ast.Identifier); name && p.Right == whole {
			c.bind(h, p.Left, r)
			return
		}
	case *ast.CallExpression:
		t := touch{e: e, at: at, from: r.from, member: r.member, operation: r.operation}
		if p.Callee == whole {
			t.call = p
		} else if r.member == "" {
			h.passes = append(h.passes, pass{call: p, to: c.in.Callee(p),
				at: slices.IndexFunc(p.ArgumentList, func(a ast.Expression) bool { return a == whole })})
			return
		}
		if r.member != "" {
			h.touches = append(h.touches, t)
		}
		return
	}
	if r.member != "" {
		h.touches = append(h.touches, touch{e: e, at: at, from: r.from, member: r.member, operation: r.operation})
	}
}

// onlyHostCalls reports whether nothing in a block but calls of ctx looks as if it could throw.
func (c *collector) onlyHostCalls(block *ast.BlockStatement) bool {
	only := true
	c.in.Walk(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpression:
			if !c.hostCalls()[n] {
				only = false
			}
		case *ast.NewExpression, *ast.ThrowStatement:
			only = false
		}
		return only
	})
	return only
}

// hostCalls are all calls of ctx in the script.
func (c *collector) hostCalls() map[*ast.CallExpression]bool {
	if c.calls == nil {
		c.calls = make(map[*ast.CallExpression]bool)
		for _, h := range c.order {
			for i := range h.touches {
				if call := h.touches[i].call; call != nil {
					c.calls[call] = true
				}
			}
		}
	}
	return c.calls
}

// entry is one handler phase from which code is reached.
type entry struct {
	handler string
	phase   sandbox.Phase
	// consumer is nil for producers.
	consumer *sandbox.ConsumerDefinition
	// publishes is nil where it is not declared.
	publishes []string
}

// visit is one function looked at as part of one handler.
type visit struct {
	parameter *ast.Binding
	handler   string
	phase     sandbox.Phase
}

func isFunction(e ast.Expression) bool {
	_, _, ok := script.Function(e)
	return ok
}
