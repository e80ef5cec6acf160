package vm

import (
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
)

// varsObject is ctx.vars: the plain settings of the configuration. Reading one that is not there ends the call, as it
// does with all of ctx: `undefined` in an address or an amount would be sent.
type varsObject struct {
	inv  *invocation
	vars sandbox.Vars
	made madeMembers
}

// vars makes ctx.vars.
func (inv *invocation) vars() goja.Value {
	return inv.rt.NewDynamicObject(&varsObject{inv: inv, vars: inv.call.Vars})
}

func (o *varsObject) Get(name string) goja.Value {
	if v := o.made.get(name); v != nil {
		return v
	}
	raw, ok := o.vars[name]
	if !ok {
		if !o.inv.inherited(name) {
			there := "the configuration has none"
			if len(o.vars) > 0 {
				there = "there are " + strings.Join(o.vars.Names(), ", ")
			}
			o.inv.abort(sandbox.ScriptFault("vars.unknown",
				"ctx.vars.%s does not exist: %s; write it under vars in the configuration, or ask first: %q in ctx.vars",
				sandbox.Clip(name, 100), there, sandbox.Clip(name, 100)))
		}
		return nil
	}
	v, err := o.inv.values.Parse(string(raw))
	if err != nil {
		o.inv.abort(sandbox.InternalFault("read a var of the configuration: %v", err))
	}
	o.made.add(name, v)
	return v
}

// Set refuses: a setting changes in the configuration only.
func (o *varsObject) Set(string, goja.Value) bool { return false }

func (o *varsObject) Delete(string) bool { return false }

func (o *varsObject) Has(name string) bool { return slices.Contains(o.Keys(), name) }

func (o *varsObject) Keys() []string { return o.vars.Names() }
