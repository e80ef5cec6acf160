package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// setting is what to write in place of an environment.
const setting = "write a plain setting under vars in the configuration and read ctx.vars.NAME; scripts see no secrets"

// advice says what to write instead of members that authors expect ctx to have.
var advice = map[string]string{
	"state": "the state is the second parameter of producers and prepare: async prepare(ctx, state); what next " +
		"or a producer returns becomes the new one",
	"getState":  "the state is the second parameter of producers and prepare: async prepare(ctx, state)",
	"setState":  "return the new state from next or from the producer: return { cursor }",
	"saveState": "return the new state from next or from the producer: return { cursor }",
	"emit":      "write await ctx.publish(\"topic\", " + finding.EventShape + ")",
	"send": "write await ctx.publish(\"topic\", " + finding.EventShape +
		") for an event; a connector's operation is called as ctx.<connector>.<operation>({ … })",
	"enqueue":   "write await ctx.publish(\"topic\", " + finding.EventShape + ")",
	"dispatch":  "write await ctx.publish(\"topic\", " + finding.EventShape + ")",
	"events":    "write const events = await ctx.peek(\"topic\") in prepare",
	"event":     "write const [event] = await ctx.peek(\"topic\", { limit: 1 }) in prepare",
	"messages":  "write const events = await ctx.peek(\"topic\") in prepare",
	"message":   "write const [event] = await ctx.peek(\"topic\", { limit: 1 }) in prepare",
	"getEvents": "write const events = await ctx.peek(\"topic\") in prepare",
	"pending":   "write const events = await ctx.peek(\"topic\") in prepare",
	"payload":   "write const [event] = await ctx.peek(\"topic\", { limit: 1 }) in prepare, and event.payload",
	"reserve":   "return the reservations from prepare: return " + script.ResultShape,
	"consume":   "return the reservations from prepare: what a run reserved is consumed when it commits",
	"ack":       "remove it: what a run reserved is consumed when it commits",
	"skip": "return cancel from prepare: return { reservations: [], data: null, cancel: [{ topic: \"…\", ids: " +
		"[event.messageId], reason: \"…\" }] }",
	"cancel": "return cancel from prepare: return { reservations: [], data: null, cancel: [{ topic: \"…\", ids: " +
		"[event.messageId], reason: \"…\" }] }",
	"prepared": "what prepare returned is the second parameter of mutate and next: async mutate(ctx, prepared)",
	"data":     "what prepare returned is the second parameter of mutate and next: prepared.data",
	"result": "the outcome of the mutation is the third parameter of next: async next(ctx, prepared, " +
		"mutationResult)",
	"fetch":      "call a connector: ctx.http.get({ url: \"…\" }) in a producer or in prepare",
	"sleep":      "handlers do not wait: return wakeAt from prepare, or give the producer an interval",
	"wait":       "handlers do not wait: return wakeAt from prepare, or give the producer an interval",
	"setTimeout": "handlers do not wait: return wakeAt from prepare, or give the producer an interval",
	"schedule":   "give a producer an interval or a cron expression, or return wakeAt from prepare",
	"env":        setting,
	"secrets": "a secret is named in the parameters of an operation that takes one, as secret of http does; scripts " +
		"see none",
	"config":   setting,
	"settings": setting,
	"logger":   "write ctx.log(…) or console.log(…)",
	"console":  "write ctx.log(…) or console.log(…)",
	"debug":    "write ctx.log(…) or console.log(…)",
	"date":     "write new Date() or ctx.now()",
	"uuid":     "write crypto.randomUUID()",
	"retry":    "remove it: a passing fault is retried by itself",
	"step": "one consumer is one step: choose in prepare, make one call in mutate, publish in next for the " +
		"next consumer",
	"tools":      "write ctx.<connector>.<operation>({ … })",
	"connectors": "write ctx.<connector>.<operation>({ … })",
	"callTool":   "write ctx.<connector>.<operation>({ … })",
	"call":       "write ctx.<connector>.<operation>({ … })",
	"input":      "write ctx.registerInput({ source, type, id, title }) in a producer",
	"addInput":   "write ctx.registerInput({ source, type, id, title }) in a producer",
	"getById":    "write ctx.getByIds(\"topic\", [id])",
	"get": "write ctx.getByIds(\"topic\", [id]) for an event; a connector's operation is called as " +
		"ctx.<connector>.<operation>({ … })",
	"transaction": "remove it: what a run publishes and returns becomes visible together",
}

// Advise says what to write instead of a member that ctx does not have; empty if nothing is known.
func Advise(member string) string {
	if text, ok := advice[member]; ok {
		return text
	}
	for _, name := range similar.Names(member, sandbox.BuiltinNames, 1) {
		return "write ctx." + name
	}
	return ""
}

// loose reports members of ctx that are used in another way than as ctx.<connector>.<operation>.
func (c *collector) loose(h *holder) {
	const keep = "keep values in variables, or return them: from prepare in data, from next as the new state"
	functions := "ctx has " + strings.Join(sandbox.BuiltinNames, ", ") +
		"; a connector's operations are called as ctx.<connector>.<operation>(params)"
	const written = "write every operation out, as in ctx.csv.appendRow({ … }): a workflow gets those that " +
		"its text names"
	for _, e := range h.computed {
		c.Warn("connector.dynamic", c.in.Start(e), written,
			"an operation that is only named while the script runs is not found")
	}
	for i := range h.touches {
		t := &h.touches[i]
		if c.valueCalled(t) {
			continue
		}
		fix := ""
		if _, own := t.builtin(); !own {
			fix = Advise(t.member)
		}
		if _, own := t.builtin(); own || t.operation != "" {
			if c.in.IsAssigned(t.e) {
				c.Fail("ctx.assigned", c.in.Start(t.e), cmp.Or(fix, keep), "%s cannot be assigned", t.name())
			}
			continue
		}
		if t.member == sandbox.VarsMember && t.call == nil && !c.in.IsAssigned(t.e) {
			continue // all of ctx.vars is taken; which settings are read shows only when the script runs
		}
		used := slices.ContainsFunc(c.uses, func(u sandbox.OperationUse) bool { return u.Connector == t.member })
		switch {
		case inherits(t.member) || t.member == "then" || t.member == "toJSON": // found on any object
		case t.call != nil:
			c.Fail("connector.unknown", t.at, cmp.Or(fix, functions), "ctx.%s is no function",
				sandbox.Clip(t.member, 100))
		case c.in.IsAssigned(t.e):
			c.Fail("ctx.assigned", c.in.Start(t.e), cmp.Or(fix, keep), "ctx.%s cannot be assigned",
				sandbox.Clip(t.member, 100))
		case used:
			c.Warn("connector.dynamic", c.in.Start(t.e), written,
				"ctx.%s is handed on here; what is called of it then is not found unless it is also written out",
				sandbox.Clip(t.member, 100))
		default:
			c.Fail("connector.unknown", t.from, cmp.Or(fix, written),
				"ctx.%s does not exist: ctx has %s, and the connectors whose operations the script names",
				sandbox.Clip(t.member, 100), strings.Join(sandbox.BuiltinNames, ", "))
		}
	}
}

// valueCalled reports a call of a member that is a value, and says so.
func (c *collector) valueCalled(t *touch) bool {
	m, own := t.builtin()
	setting := t.member == sandbox.VarsMember && t.operation != "" && !inherits(t.operation)
	if t.call == nil || !setting && !(own && m == sandbox.MemberScheduledAt) {
		return false
	}
	last := cmp.Or(t.operation, t.member)
	c.With(c.Amend().Swap(c.in.Position(t.at), last+"()", last)).Fail("connector.unknown", t.at,
		"write "+t.name()+" without ()", "%s is a value and no function", t.name())
	return true
}
