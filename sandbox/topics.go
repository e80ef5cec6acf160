package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// defaultPeek is how many events a peek without a limit gives: a backlog of thousands must not make
// each run read them all.
const defaultPeek = 100

// peek is ctx.peek(topic, {limit?}): the pending events of a subscribed topic, oldest first.
func (inv *invocation) peek(args []goja.Value) goja.Value {
	topic, events := inv.pending("ctx.peek", args)
	limit := defaultPeek
	if len(args) > 1 && !goja.IsUndefined(args[1]) {
		var options struct {
			Limit *float64 `json:"limit"`
		}
		raw := inv.encoded(args[1], "call.params", "ctx.peek: the options")
		if err := json.Unmarshal(raw, &options); err != nil {
			inv.abort(scriptFault("call.params", "ctx.peek: the options must look like {limit: 10}, got %s", clip(string(raw), 60)))
		}
		if options.Limit != nil {
			n := *options.Limit
			if n < 1 || n != float64(int(n)) {
				inv.abort(scriptFault("call.params", "ctx.peek: limit must be a whole number from 1, got %v", n))
			}
			limit = int(n)
		}
	}
	if limit > len(events) {
		inv.needAll(topic)
	}
	return inv.events(events[:min(len(events), limit)])
}

// getByIDs is ctx.getByIds(topic, ids): those of the ids that are pending, in the order of ids.
func (inv *invocation) getByIDs(args []goja.Value) goja.Value {
	topic, events := inv.pending("ctx.getByIds", args)
	if len(args) < 2 {
		inv.abort(scriptFault("call.params", "ctx.getByIds takes a topic and an array of message ids"))
	}
	var ids []string
	raw := inv.encoded(args[1], "call.params", "ctx.getByIds: the ids")
	if err := json.Unmarshal(raw, &ids); err != nil || ids == nil {
		inv.abort(scriptFault("call.params", "ctx.getByIds: the ids must be an array of strings, got %s", clip(string(raw), 60)))
	}
	byMessageID := make(map[string]Event, len(events))
	for _, e := range events {
		byMessageID[e.MessageID] = e
	}
	found, taken := make([]Event, 0, len(ids)), make(map[string]bool, len(ids))
	for _, id := range ids {
		e, ok := byMessageID[id]
		switch {
		case !ok:
			inv.needAll(topic)
		case !taken[id]: // a repeated id is answered once
			found = append(found, e)
			taken[id] = true
		}
	}
	return inv.events(found)
}

// needAll ends a call that was given only the beginning of the topic's events.
func (inv *invocation) needAll(topic string) {
	if slices.Contains(inv.call.More, topic) {
		inv.abort(&Error{Fault: FaultTransient, Code: CodeMore, Message: "the handler looks further into " + topic + " than it was given"})
	}
}

// pending reads the topic argument; other topics than the subscribed ones do not exist for a
// consumer, even to look at (R9).
func (inv *invocation) pending(name string, args []goja.Value) (string, []Event) {
	if len(args) == 0 || !isText(args[0]) {
		inv.abort(scriptFault("call.params", "%s takes the name of a topic first", name))
	}
	topic := args[0].String()
	events, ok := inv.call.Pending[topic]
	if !ok {
		var subscribed []string
		for t := range inv.call.Pending {
			subscribed = append(subscribed, t)
		}
		slices.Sort(subscribed)
		inv.abort(scriptFault("topic.notSubscribed", "%s: this consumer is not subscribed to %q; it is subscribed to %s",
			name, clip(topic, 150), strings.Join(subscribed, ", ")))
	}
	return topic, events
}

// events makes new objects for every call, so that a script may change what it got.
func (inv *invocation) events(events []Event) goja.Value {
	list := make([]any, len(events))
	for i := range events {
		v, err := inv.values.event(&events[i])
		if err != nil {
			inv.abort(&Error{Fault: FaultInternal, Code: "internal",
				Message: fmt.Sprintf("the pending event %s is not JSON: %s", clip(events[i].MessageID, 100), clip(err.Error(), 300))})
		}
		list[i] = v
	}
	return inv.resolved(inv.rt.NewArray(list...))
}
