package lint

import (
	"cmp"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/lint/global"
	"github.com/pawl-run/pawl/sandbox/lint/onecall"
	"github.com/pawl-run/pawl/sandbox/script"
)

// checkHandlers finds which connector operations the handlers of a definition name, and what the text
// alone shows to be wrong about them.
func checkHandlers(in *script.Text, d *sandbox.Definition) ([]sandbox.OperationUse, []sandbox.Problem) {
	c := &collector{List: finding.New(in), in: in, definition: d, holders: make(map[*ast.Binding]*holder),
		followed: make(map[*script.Variable]bool), seen: make(map[visit]bool),
		recorded: make(map[*ast.CallExpression]bool), flowed: make(map[*ast.CallExpression]bool),
		handedOn: make(map[ast.Expression]handedOn), writtenLeft: MaxWritten,
		payloads: newPayloads(d)}
	for _, p := range d.Producers {
		_, value := in.Find("producers", p.Name)
		if o, ok := in.Resolve(value).(*ast.ObjectLiteral); ok {
			for _, name := range script.ProducerHandlers {
				if _, f := in.Member(o, name); f != nil {
					value = f
					break
				}
			}
		}
		c.handler(value, entry{handler: p.Name, phase: sandbox.Producer, publishes: p.Publishes})
		if f := in.Resolve(value); isFunction(f) {
			c.state(f, f, p.Name, sandbox.Producer)
		}
	}
	for i := range d.Consumers {
		consumer := &d.Consumers[i]
		for _, phase := range []sandbox.Phase{sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
			_, value := in.Find("consumers", consumer.Name, string(phase))
			c.handler(value, entry{handler: consumer.Name, phase: phase, consumer: consumer,
				publishes: consumer.Publishes})
		}
	}
	c.rest()
	c.given()
	for i := range d.Consumers {
		c.consumer(&d.Consumers[i])
	}
	promises := &awaits{collector: c, fates: make(map[*script.Variable]fate)}
	for _, h := range c.order {
		promises.waits(h)
		c.arguments(h)
		c.loose(h)
		c.unseenPublishes(h)
	}
	for i := range d.Consumers {
		c.key(&d.Consumers[i])
	}
	c.readPayloads()
	c.feedback()
	slices.SortStableFunc(c.uses, func(a, b sandbox.OperationUse) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(c.uses), c.Problems
}

func (c *collector) handler(value ast.Expression, e entry) {
	f := c.in.Resolve(value)
	params, _, ok := script.Function(f)
	if !ok {
		return
	}
	c.parameters(params, e)
	if e.phase != sandbox.Mutate {
		c.keptValues(f, e.phase)
	}
	c.reach(f, 0, e)
	if e.phase == sandbox.Mutate && len(params.List) > 0 {
		c.mutateCalls(f, e)
	}
}

// reach judges what a function does with the ctx in its parameter, and what those do that it passes
// it to.
func (c *collector) reach(f ast.Expression, at int, e entry) {
	params, _, ok := script.Function(f)
	if !ok || params == nil || at >= len(params.List) {
		return
	}
	v := visit{params.List[at], e.handler, e.phase}
	if c.seen[v] {
		return
	}
	c.seen[v] = true
	h := c.holder(params.List[at])
	for i := range h.touches {
		c.judge(&h.touches[i], e)
	}
	for _, p := range h.passes {
		c.reach(p.to, p.at, e)
	}
}

// judge notes a use of a connector, and reports what the phase or the declared topics forbid.
func (c *collector) judge(t *touch, e entry) {
	m, own := t.builtin()
	switch {
	case !own && t.operation != "":
		if !c.in.IsAssigned(t.e) && !inherits(t.operation) { // an assignment is reported as that
			c.use(t, e)
		}
	case !own:
	case !sandbox.MemberAllowed(e.phase, m, true):
		c.Fail("phase.forbidden", t.at, sandbox.WhereAllowed(m), "ctx.%s is not allowed in %s (of %q)", t.member,
			e.phase, e.handler)
	default:
		c.topicsOf(t, m, e)
	}
}

func (c *collector) use(t *touch, e entry) {
	p := c.in.Position(c.in.Start(t.e))
	c.uses = append(c.uses, sandbox.OperationUse{Connector: t.member, Operation: t.operation, Handler: e.handler,
		Phase: e.phase, Line: p.Line, Column: p.Column})
}

// rest finds uses by the name ctx that no handler was seen to reach, in classes for example.
func (c *collector) rest() {
	for _, v := range c.in.All {
		if v.Name == "ctx" && !c.followed[v] {
			h := &holder{}
			c.order = append(c.order, h)
			c.follow(h, v, role{})
			c.unplaced(h)
		}
	}
	for _, statement := range c.in.Body {
		c.in.Walk(statement, func(n ast.Node) bool {
			if dot, ok := n.(*ast.DotExpression); ok && dot.Identifier.Name.String() == "ctx" {
				h := &holder{}
				c.order = append(c.order, h)
				c.site(h, dot, dot.Identifier.Idx, role{})
				c.unplaced(h)
			}
			return true
		})
	}
}

func (c *collector) unplaced(h *holder) {
	for i := range h.touches {
		if t := &h.touches[i]; t.operation != "" {
			c.use(t, entry{})
		}
	}
}

// consumer checks what the phases of a consumer hand on to each other.
func (c *collector) consumer(d *sandbox.ConsumerDefinition) {
	phase := func(name sandbox.Phase) ast.Expression {
		_, value := c.in.Find("consumers", d.Name, string(name))
		f := c.in.Resolve(value)
		if _, _, ok := script.Function(f); !ok {
			return nil
		}
		return f
	}
	if prepare := phase(sandbox.Prepare); prepare != nil {
		members, closed := c.results(prepare, d)
		if closed {
			data := c.dataOf(prepare)
			c.preparedMembers(phase(sandbox.Mutate), 1, members, data)
			c.preparedMembers(phase(sandbox.Next), 1, members, data)
			if asks := phase(approval); asks != nil {
				c.asErrors(func() { c.preparedMembers(asks, 0, members, data) })
			}
		}
		c.misplacedApproval(prepare, phase(sandbox.Mutate), phase(sandbox.Next), d)
		c.reserved(prepare, d)
		c.data(prepare, phase(sandbox.Mutate), phase(sandbox.Next), d)
		if asks := phase(approval); asks != nil {
			c.asErrors(func() { c.dataIn(prepare, asks, 0, d) })
		}
		if d.Concurrency == nil {
			c.state(prepare, phase(sandbox.Next), d.Name, sandbox.Prepare)
		}
	}
	if asks := phase(approval); asks != nil {
		c.answersLate(asks, d)
	}
	if next := phase(sandbox.Next); next != nil {
		c.outcomes(next)
		c.unguardedResult(next, d)
		c.outcome(next, d)
		c.returnedState(next, d)
		if prepare := phase(sandbox.Prepare); prepare != nil {
			c.emptyRun(prepare, next, d)
		}
	}
}

// approval is the member that holds the function which says whether a person must approve a call.
const approval = sandbox.ApprovalMember

// answersLate reports an approval whose answer is a promise: each call would fail.
func (c *collector) answersLate(asks ast.Expression, d *sandbox.ConsumerDefinition) {
	const fix = "write it, and what it calls, without async and await: (prepared) => prepared.data.total > 1000"
	if script.IsAsync(asks) {
		c.Fail("approval.result", c.in.Start(asks), fix, "approval of %q is async, and has to answer at once",
			sandbox.Clip(d.Name, 100))
		return
	}
	for _, r := range c.in.Returns(asks) {
		if call, ok := r.Value.(*ast.CallExpression); ok && script.IsAsync(c.in.Callee(call)) {
			c.Fail("approval.result", c.in.Start(call), fix, "approval of %q returns what an async function gives, a promise, "+
				"and has to answer at once", sandbox.Clip(d.Name, 100))
		}
	}
}

// asErrors makes errors of the problems that are found: a member that is undefined in approval lets calls leave
// unasked.
func (c *collector) asErrors(find func()) {
	before := len(c.Problems)
	find()
	for i := before; i < len(c.Problems); i++ {
		c.Problems[i].Severity = sandbox.SeverityError
	}
}

// maxLooks bounds how often the checks look at a place of the text: a second's work or two, and more than ten times
// what three hundred consumers in a script of the largest size take.
const maxLooks = 3_000_000

// Check judges what the text of a script shows about the handlers of its definition, and completes the
// definition with what they call. exist are the names of the runtime's global object. Where the text would keep the
// checks at work without end, there is one problem, and the definition is incomplete.
func Check(in *script.Text, d *sandbox.Definition, exist []string) (problems []sandbox.Problem) {
	in.Allow(maxLooks)
	defer func() {
		in.Allow(0)
		if x := recover(); x == (script.Exhausted{}) {
			d.Uses, d.Incomplete = nil, true
			problems = []sandbox.Problem{sandbox.NewProblem("limit.checks", in.Position(in.Start(in.Body[0])),
				"the text of this script takes too long to check: its names and calls refer to each other in too many ways",
				"write values out where they are used instead of composing them of names that are made of names, and split "+
					"large tables and long chains of functions")}
		} else if x != nil {
			panic(x)
		}
	}()
	uses, problems := checkHandlers(in, d)
	d.Uses = uses
	problems = append(problems, onecall.Problems(d, func(string, string) sandbox.OperationKind { return "" })...)
	return append(problems, global.Check(in, exist)...)
}
