package vm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// ctxObject is the `ctx` of a handler. It has the built-in functions, vars and the connectors of the
// invocation; reading any other member ends the call with a message that names what there is,
// instead of "cannot read property of undefined". Members are made when first read.
type ctxObject struct {
	inv  *invocation
	made madeMembers
}

// madeMembers are the few members that a handler has used so far.
type madeMembers []struct {
	name  string
	value goja.Value
}

func (m madeMembers) get(name string) goja.Value {
	for i := range m {
		if m[i].name == name {
			return m[i].value
		}
	}
	return nil
}

func (m *madeMembers) add(name string, v goja.Value) {
	*m = append(*m, struct {
		name  string
		value goja.Value
	}{name, v})
}

func (c *ctxObject) Get(name string) goja.Value {
	if v := c.made.get(name); v != nil {
		return v
	}
	v := c.make(name)
	if v == nil {
		if !c.inv.inherited(name) {
			c.inv.abort(sandbox.ScriptFault("connector.unknown", "ctx.%s does not exist; ctx has %s",
				sandbox.Clip(name, 100), strings.Join(c.Keys(), ", ")))
		}
		return nil
	}
	c.made.add(name, v)
	return v
}

func (c *ctxObject) make(name string) goja.Value {
	if name == sandbox.VarsMember {
		return c.inv.vars()
	}
	if m, ok := sandbox.Builtins[name]; ok {
		return c.inv.builtin(name, m)
	}
	for i := range c.inv.call.Operations {
		if c.inv.call.Operations[i].Connector == name {
			return c.inv.rt.NewDynamicObject(&connectorObject{inv: c.inv, name: name})
		}
	}
	return nil
}

// Set refuses: a handler cannot change its ctx. In strict mode, which all scripts are in, this
// throws a TypeError.
func (c *ctxObject) Set(string, goja.Value) bool { return false }

func (c *ctxObject) Delete(string) bool { return false }

func (c *ctxObject) Has(name string) bool { return slices.Contains(c.Keys(), name) }

func (c *ctxObject) Keys() []string {
	keys := append(slices.Clone(sandbox.BuiltinNames), sandbox.VarsMember)
	for _, op := range c.inv.call.Operations {
		if !slices.Contains(keys, op.Connector) {
			keys = append(keys, op.Connector)
		}
	}
	return keys
}

// connectorObject is ctx.<connector>.
type connectorObject struct {
	inv  *invocation
	name string
	made madeMembers
}

func (c *connectorObject) Get(name string) goja.Value {
	if v := c.made.get(name); v != nil {
		return v
	}
	for _, op := range c.inv.call.Operations {
		if op.Connector == c.name && op.Operation == name {
			full := "ctx." + c.name + "." + name
			v := c.inv.native(func(call goja.FunctionCall) goja.Value { return c.inv.operation(op, full, call.Arguments) })
			c.made.add(name, v)
			return v
		}
	}
	if !c.inv.inherited(name) {
		c.inv.abort(sandbox.ScriptFault("operation.unknown", "ctx.%s.%s does not exist; ctx.%s has %s",
			c.name, sandbox.Clip(name, 100), c.name, strings.Join(c.Keys(), ", ")))
	}
	return nil
}

func (c *connectorObject) Set(string, goja.Value) bool { return false }

func (c *connectorObject) Delete(string) bool { return false }

func (c *connectorObject) Has(name string) bool { return slices.Contains(c.Keys(), name) }

func (c *connectorObject) Keys() []string {
	var keys []string
	for _, op := range c.inv.call.Operations {
		if op.Connector == c.name {
			keys = append(keys, op.Operation)
		}
	}
	return keys
}

// inherited tells names that the language itself looks up on any object, which are no mistake of
// the author: the members of Object.prototype, `then` (an async function that returns the object
// asks for it) and `toJSON` (logging it does).
func (inv *invocation) inherited(name string) bool {
	switch name {
	case "then", "toJSON":
		return true
	}
	return inv.rt.NewObject().Get(name) != nil
}

// builtin makes a member of ctx that is no connector's.
func (inv *invocation) builtin(name string, m sandbox.Member) goja.Value {
	var f func([]goja.Value) goja.Value
	switch m {
	case sandbox.MemberPeek:
		f = inv.peek
	case sandbox.MemberGetByIDs:
		f = inv.getByIDs
	case sandbox.MemberPublish:
		f = inv.publish
	case sandbox.MemberRegisterInput:
		f = inv.registerInput
	case sandbox.MemberLog:
		return inv.native(func(call goja.FunctionCall) goja.Value {
			inv.alive()
			inv.write("info", call.Arguments)
			return goja.Undefined()
		})
	case sandbox.MemberHash:
		return inv.native(inv.hash)
	case sandbox.MemberScheduledAt:
		inv.admit(m, "ctx."+name)
		return inv.rt.ToValue(inv.scheduledAt())
	case sandbox.MemberNow:
		return inv.native(func(goja.FunctionCall) goja.Value {
			inv.alive()
			return inv.rt.ToValue(inv.now().UnixMilli())
		})
	}
	full := "ctx." + name
	return inv.native(func(call goja.FunctionCall) goja.Value {
		inv.admit(m, full)
		return f(call.Arguments)
	})
}

// admit is the gate of every call that is counted: ended invocations, the phase table (R8) and the
// number of calls.
func (inv *invocation) admit(m sandbox.Member, name string) {
	inv.alive()
	if !sandbox.MemberAllowed(inv.call.Phase, m, inv.call.MutateReadsByID) {
		inv.abort(sandbox.ScriptFault("phase.forbidden", "%s is not allowed in %s: %s", name, inv.call.Phase,
			sandbox.WhereAllowed(m)))
	}
	inv.hostCalls++
	if inv.hostCalls <= inv.limits.HostCalls {
		return
	}
	published := ""
	if n := len(inv.publishes); n > 0 {
		published = fmt.Sprintf(", %d of them ctx.publish: publish the rest in later runs, from a place that the state "+
			"remembers", n)
	}
	inv.abort(sandbox.LimitFault("limit.hostCalls", "more than %d calls of ctx in one handler call%s",
		inv.limits.HostCalls, published))
}

// operation is a call of ctx.<connector>.<operation>, which name is.
func (inv *invocation) operation(op sandbox.Operation, name string, args []goja.Value) goja.Value {
	m, ok := op.Kind.Member()
	if !ok {
		inv.abort(sandbox.InternalFault("%s has the unknown kind %q", name, op.Kind))
	}
	inv.admit(m, name)
	params := inv.params(name, args)
	// Encoding the parameters may have run script code (getters, toJSON), and with it another call.
	inv.alive()
	var over *sandbox.Error
	if len(params) > inv.limits.Result {
		over = sandbox.LimitFault("limit.result", "%s: the parameters have %d bytes; the limit is %d", name,
			len(params), inv.limits.Result)
	}
	switch {
	case m == sandbox.MemberMutate:
		inv.take(op, params, over)
	case over != nil:
		inv.abort(over)
	}
	return inv.read(op, name, params, inv.answered)
}

// take ends the script at its mutation call: from here the host acts, and nothing of the script runs
// any more, neither finally nor catch nor a parallel branch (R4). With over it is named and must not be sent (F14).
func (inv *invocation) take(op sandbox.Operation, params json.RawMessage, over *sandbox.Error) {
	call := &sandbox.MutationCall{Connector: op.Connector, Operation: op.Operation, Params: params, Ask: inv.asks}
	if over != nil {
		inv.locate(over, inv.frames())
		call.Params, call.Oversize = nil, len(params)
	}
	inv.outcome.end(over, call)
	inv.rt.Interrupt(nil)
	panic(interrupted())
}

// params reads the one argument of an operation.
func (inv *invocation) params(name string, args []goja.Value) json.RawMessage {
	switch {
	case len(args) == 0 || len(args) == 1 && goja.IsUndefined(args[0]):
		return json.RawMessage("{}")
	case len(args) > 1:
		inv.abort(sandbox.ScriptFault("call.params", "%s takes one object of parameters, and got %d arguments", name,
			len(args)))
	case value.IsPromise(args[0]):
		inv.abort(sandbox.ScriptFault("call.params",
			"%s got a promise instead of its parameters: write await before it", name))
	}
	params := inv.encoded(args[0], "call.params", name+": the parameters")
	if len(params) == 0 || params[0] != '{' {
		inv.abort(sandbox.ScriptFault("call.params", "%s takes one object of parameters, and got %s", name,
			sandbox.Clip(string(params), 60)))
	}
	return params
}
