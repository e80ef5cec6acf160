package lint

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/onecall"
	"github.com/pawl-run/pawl/sandbox/script"
)

// mutateCalls notes the calls of a mutate, and what the text has after each, for package onecall.
func (c *collector) mutateCalls(f ast.Expression, e entry) {
	m := mutateBody{collector: c, f: f, made: make(map[ast.Node][]madeCall), number: make(map[ast.Node]sandbox.CallRange)}
	for _, call := range c.madeBy(f, 0, 0) {
		m.made[call.node] = append(m.made[call.node], call)
	}
	if len(m.made) == 0 {
		return
	}
	_, body, _ := script.Function(f)
	c.in.Walk(body, func(node ast.Node) bool {
		if calls := m.made[node]; calls != nil {
			from := len(c.definition.MutateCalls)
			for _, call := range calls {
				c.definition.MutateCalls = append(c.definition.MutateCalls, m.noted(call, e))
			}
			m.number[node] = sandbox.CallRange{From: from, To: len(c.definition.MutateCalls)}
		}
		return true
	})
	c.in.Walk(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BlockStatement:
			m.after(node.List)
		case *ast.CaseStatement:
			m.after(node.Consequent)
		case *ast.SwitchStatement:
			m.fallsThrough(node)
		case *ast.ArrayLiteral:
			m.parallel(node)
		case *ast.TryStatement:
			m.finally(node)
		}
		return true
	})
}

// mutateBody is the body of one mutate handler, with its calls.
type mutateBody struct {
	*collector
	f ast.Expression
	// made holds, for each node of the body, the calls that it makes.
	made map[ast.Node][]madeCall
	// number are the indexes of each node's calls in the definition's MutateCalls. Calls below one node are
	// neighbours there.
	number map[ast.Node]sandbox.CallRange
}

// noted is a call as the definition has it: at the place in the handler that makes it, or at its own where another
// function makes it in a loop.
func (m *mutateBody) noted(call madeCall, e entry) sandbox.MutateCall {
	noted := sandbox.MutateCall{Handler: e.handler, Connector: call.t.member, Operation: call.t.operation,
		Place: m.in.Position(m.in.Start(call.node)), MutateReadsByID: e.consumer.MutateReadsByID, Loop: call.loop}
	switch direct := call.node == call.t.call; {
	case direct:
		noted.Place, noted.Loop = m.in.Position(m.in.Start(call.t.e)), m.loop(call.node, m.f)
	case call.loop != "":
		noted.Place = m.in.Position(m.in.Start(call.t.e))
	case call.certain || m.always(call.t.call, m.in.FunctionAround(call.t.call)):
		noted.Loop = m.loop(call.node, m.f)
	}
	return noted
}

// within are the calls below a node, in whatever branch.
func (m *mutateBody) within(n ast.Node) sandbox.CallRange {
	var found sandbox.CallRange
	m.in.Walk(n, func(n ast.Node) bool {
		if calls, ok := m.number[n]; ok {
			found = onecall.Joined(found, calls)
		}
		return true
	})
	return found
}

// after notes for the calls that a statement certainly makes what stands behind it.
func (m *mutateBody) after(list []ast.Statement) {
	var later sandbox.CallRange
	for i := len(list) - 1; i >= 0; i-- {
		here := m.within(list[i])
		if i < len(list)-1 && here.From < here.To {
			for _, call := range m.certain(list[i]) {
				m.definition.MutateCalls[call].Later = later
				m.definition.MutateCalls[call].After = m.in.Position(m.code(list[i+1]))
			}
			m.mayReach(list[i], list[i+1:])
		}
		later = onecall.Joined(later, here)
	}
}

// code is where a statement begins that does something; 0 for one that only leaves what is around it.
func (m *mutateBody) code(s ast.Statement) file.Idx {
	switch s := s.(type) {
	case *ast.EmptyStatement, *ast.BranchStatement:
		return 0
	case *ast.ReturnStatement:
		if s.Argument == nil {
			return 0
		}
	}
	return m.in.Start(s)
}

// parallel notes the calls that one list makes together, as for Promise.all.
func (m *mutateBody) parallel(list *ast.ArrayLiteral) {
	var later sandbox.CallRange
	for i := len(list.Value) - 1; i >= 0; i-- {
		here := m.within(list.Value[i])
		for call := here.From; call < here.To; call++ {
			if parallel := &m.definition.MutateCalls[call].Parallel; parallel.From == parallel.To {
				*parallel = later
			}
		}
		later = onecall.Joined(later, here)
	}
}

// finally notes a finally behind calls.
func (m *mutateBody) finally(try *ast.TryStatement) {
	if try.Finally == nil || len(try.Finally.List) == 0 {
		return
	}
	here := m.within(try.Body)
	for call := here.From; call < here.To; call++ {
		m.definition.MutateCalls[call].Finally = m.in.Position(m.in.Start(try.Finally.List[0]))
	}
}

// loop says what repeats a call in a function: a loop, or a method such as map. It is empty for nothing.
func (c *collector) loop(call ast.Node, f ast.Expression) string {
	inner := call
	for n := c.in.Parent(inner); n != nil && n != ast.Node(f); inner, n = n, c.in.Parent(n) {
		switch n := n.(type) {
		case *ast.IfStatement, *ast.SwitchStatement, *ast.ConditionalExpression:
			return "" // it may be a search for the one item to work on
		case *ast.BlockStatement:
			i := slices.IndexFunc(n.List, func(s ast.Statement) bool { return ast.Node(s) == inner })
			if i+1 < len(n.List) {
				switch next := n.List[i+1].(type) {
				case *ast.BranchStatement:
					if next.Token == token.BREAK {
						return ""
					}
				case *ast.ReturnStatement:
					return ""
				}
			}
		case *ast.ReturnStatement:
			if c.in.FunctionAround(n) == f {
				return ""
			}
		case *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement:
			return "this loop"
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
			outer, ok := c.in.Parent(n).(*ast.CallExpression)
			if !ok {
				return ""
			}
			if _, method, _, ok := script.SplitProperty(outer.Callee); ok && deaf[method] != "" {
				return method
			}
			return ""
		}
	}
	return ""
}

// certain are the calls that a plain statement makes: in no branch, loop or nested function.
func (m *mutateBody) certain(statement ast.Statement) (calls []int) {
	switch statement.(type) {
	case *ast.ExpressionStatement, *ast.VariableStatement, *ast.LexicalDeclaration:
	default:
		return nil
	}
	m.in.Walk(statement, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ConditionalExpression:
			return false
		case *ast.BinaryExpression:
			if node.Operator == token.LOGICAL_AND || node.Operator == token.LOGICAL_OR ||
				node.Operator == token.COALESCE {
				return false
			}
		}
		numbers := m.number[node]
		for i, call := range m.made[node] {
			direct := call.node == call.t.call
			if numbers.From < numbers.To && (direct || m.always(call.t.call, m.in.FunctionAround(call.t.call))) {
				calls = append(calls, numbers.From+i)
			}
		}
		return true
	})
	return calls
}
