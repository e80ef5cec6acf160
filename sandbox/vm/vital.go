package vm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// vital are the members of a consumer whose absence does harm, and what then happens. If an unknown member seems to
// mean one of them, that is an error and not a warning: a warning does not stop a deploy.
var vital = []struct{ name, without string }{
	{sandbox.ApprovalMember, "calls are sent without asking a person"},
	{"key", "events with the same key do not keep their order"},
	{"rate", "nothing limits how often runs begin"},
}

// lost is the problem of an unknown member that seems to mean a vital member which the consumer lacks; nil for none.
// It does not look for key at the top of a workflow, nor for key and rate in an instance of a class: there such a
// member may mean anything.
func (r *reader) lost(on *goja.Object, path []string, member string, instance bool) *sandbox.Problem {
	workflow := len(path) == 0
	if !workflow && path[0] != "consumers" {
		return nil
	}
	at := append(slices.Clone(path), member)
	named := sandbox.Clip(member, 100)
	for _, v := range vital {
		switch {
		case !similar.Surely(member, v.name), workflow && v.name == "key", instance && v.name != sandbox.ApprovalMember:
			continue
		case workflow:
			p := sandbox.NewProblem("shape.unknownKey", r.text.Place(at...), fmt.Sprintf("%q is no member of a workflow and "+
				"has no effect; it probably stands for %s, which is a member of a consumer: without it %s", named, v.name,
				v.without), fmt.Sprintf("move it into each consumer that it is meant for, named %s, or remove it", v.name))
			return &p
		case !value.Undefined(on.Get(v.name)):
			continue
		}
		p := sandbox.NewProblem("shape.unknownKey", r.text.Place(at...), sandbox.Clip(fmt.Sprintf("%q is no member of a "+
			"consumer and has no effect; in %s it probably stands for %s: without it %s; if something else is meant, remove "+
			"it", named, strings.Join(path, "."), v.name, v.without), sandbox.MaxMessage),
			fmt.Sprintf("rename %s to %s", named, v.name))
		return &p
	}
	return nil
}
