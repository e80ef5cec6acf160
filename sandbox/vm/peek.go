package vm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// defaultPeek is how many events a peek without a limit gives: a backlog of thousands must not make
// each run read them all.
const defaultPeek = 100

// peek is ctx.peek(topic, {limit?, after?}): the pending events of a subscribed topic, oldest first; with after those
// behind the event with that id.
func (inv *invocation) peek(args []goja.Value) goja.Value {
	topic, events := inv.pending("ctx.peek", args)
	limit, after := inv.peekOptions(args)
	if after != "" {
		return inv.peekAfter(topic, events, sandbox.AfterQuery{Topic: topic, After: after, Limit: limit})
	}
	if limit > len(events) {
		inv.needAll(topic)
	}
	return inv.events(events[:min(len(events), limit)])
}

// peekOptions reads the second argument.
func (inv *invocation) peekOptions(args []goja.Value) (limit int, after string) {
	if len(args) < 2 || goja.IsUndefined(args[1]) {
		return defaultPeek, ""
	}
	var options struct {
		Limit *float64 `json:"limit"`
		After *string  `json:"after"`
	}
	raw := inv.encoded(args[1], "call.params", "ctx.peek: the options")
	if n, ok := onlyLimit(raw); ok {
		return n, ""
	}
	if err := json.Unmarshal(raw, &options); err != nil {
		inv.abort(sandbox.ScriptFault("call.params",
			"ctx.peek: the options must look like {limit: 10} or {limit: 10, after: event.messageId}, got %s",
			sandbox.Clip(string(raw), 60)))
	}
	limit = defaultPeek
	if options.Limit != nil {
		n := *options.Limit
		if n < 1 || n != float64(int(n)) {
			inv.abort(sandbox.ScriptFault("call.params", "ctx.peek: limit must be a whole number from 1, got %v", n))
		}
		limit = int(n)
	}
	if options.After != nil {
		if after = *options.After; after == "" {
			inv.abort(sandbox.ScriptFault("call.params", "ctx.peek: after must be the messageId of an event, got \"\""))
		}
	}
	return limit, after
}

// onlyLimit reads the options that handlers give nearly always, {limit: 1}, which need no decoder.
func onlyLimit(raw json.RawMessage) (limit int, ok bool) {
	digits, ok := bytes.CutPrefix(raw, []byte(`{"limit":`))
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSuffix(digits, []byte("}"))))
	return n, err == nil && n > 0
}

// peekAfter gives what lies behind an event. The host is asked where that did not go in with the call.
func (inv *invocation) peekAfter(topic string, events []sandbox.Event, query sandbox.AfterQuery) goja.Value {
	inv.alive() // encoding the options may have run script code
	at := slices.IndexFunc(events, func(e sandbox.Event) bool { return e.MessageID == query.After })
	if at >= 0 && len(events)-at > query.Limit {
		return inv.events(events[at+1 : at+1+query.Limit])
	}
	params, err := json.Marshal(query)
	inv.must(err)
	op := sandbox.Operation{Connector: sandbox.OwnConnector, Operation: sandbox.PeekAfter, Kind: sandbox.KindList}
	return inv.read(op, "ctx.peek", params, func(raw json.RawMessage) (goja.Value, error) {
		var answered []sandbox.Event
		if err := json.Unmarshal(raw, &answered); err != nil {
			return nil, err
		}
		list := make([]any, len(answered))
		for i := range answered {
			list[i] = inv.event(&answered[i])
		}
		return inv.rt.NewArray(list...), nil
	})
}

// getByIDs is ctx.getByIds(topic, ids): those of the events that exist, each with its status, in the order of
// ids (R19). The host is asked for those that did not go in with the call.
func (inv *invocation) getByIDs(args []goja.Value) goja.Value {
	topic, events := inv.pending("ctx.getByIds", args)
	if len(args) < 2 {
		inv.abort(sandbox.ScriptFault("call.params", "ctx.getByIds takes a topic and an array of message ids"))
	}
	var ids []string
	raw := inv.encoded(args[1], "call.params", "ctx.getByIds: the ids")
	if err := json.Unmarshal(raw, &ids); err != nil || ids == nil {
		inv.abort(sandbox.ScriptFault("call.params", "ctx.getByIds: the ids must be an array of strings, got %s",
			sandbox.Clip(string(raw), 60)))
	}
	inv.alive() // encoding may have run script code
	known := make(map[string]sandbox.Event, len(events))
	for _, e := range events {
		e.Status = statusPending
		known[e.MessageID] = e
	}
	asked, taken := sandbox.IDsQuery{Topic: topic}, make(map[string]bool, len(ids))
	ids = slices.DeleteFunc(ids, func(id string) bool { // a repeated id is answered once
		again := taken[id]
		taken[id] = true
		return again
	})
	for _, id := range ids {
		if _, here := known[id]; !here {
			asked.IDs = append(asked.IDs, id)
		}
	}
	found := func() []any {
		list := make([]any, 0, len(ids))
		for _, id := range ids {
			if e, ok := known[id]; ok {
				list = append(list, inv.event(&e))
			}
		}
		return list
	}
	if len(asked.IDs) == 0 {
		return inv.resolved(inv.rt.NewArray(found()...))
	}
	params, err := json.Marshal(asked)
	inv.must(err)
	if len(params) > inv.limits.Result {
		inv.abort(sandbox.LimitFault("limit.result", "ctx.getByIds: the ids have %d bytes; the limit is %d",
			len(params), inv.limits.Result))
	}
	op := sandbox.Operation{Connector: sandbox.OwnConnector, Operation: sandbox.GetByIDs, Kind: sandbox.KindGet}
	return inv.read(op, "ctx.getByIds", params, func(raw json.RawMessage) (goja.Value, error) {
		var answered []sandbox.Event
		if err := json.Unmarshal(raw, &answered); err != nil {
			return nil, err
		}
		for _, e := range answered {
			known[e.MessageID] = e
		}
		return inv.rt.NewArray(found()...), nil
	})
}

// statusPending is the status of all events that go in with a call.
const statusPending = "pending"

// needAll ends a call that was given only the beginning of the topic's events.
func (inv *invocation) needAll(topic string) {
	if slices.Contains(inv.call.More, topic) {
		inv.abort(&sandbox.Error{Fault: sandbox.FaultTransient, Code: sandbox.CodeMore,
			Message: "the handler looks further into " + topic + " than it was given"})
	}
}

// pending reads the topic argument; other topics than the subscribed ones do not exist for a
// consumer, even to look at (R9).
func (inv *invocation) pending(name string, args []goja.Value) (string, []sandbox.Event) {
	if len(args) == 0 || !value.IsText(args[0]) {
		inv.abort(sandbox.ScriptFault("call.params", "%s takes the name of a topic first", name))
	}
	topic := args[0].String()
	events, ok := inv.call.Pending[topic]
	if !ok {
		var subscribed []string
		for t := range inv.call.Pending {
			subscribed = append(subscribed, t)
		}
		slices.Sort(subscribed)
		inv.abort(sandbox.ScriptFault("topic.notSubscribed",
			"%s: this consumer is not subscribed to %q; it is subscribed to %s",
			name, sandbox.Clip(topic, 150), strings.Join(subscribed, ", ")))
	}
	return topic, events
}

// events makes new objects for every call, so that a script may change what it got.
func (inv *invocation) events(events []sandbox.Event) goja.Value {
	list := make([]any, len(events))
	for i := range events {
		list[i] = inv.event(&events[i])
	}
	return inv.resolved(inv.rt.NewArray(list...))
}

func (inv *invocation) event(e *sandbox.Event) goja.Value {
	v, err := inv.values.Event(e)
	if err != nil {
		inv.abort(sandbox.InternalFault("the event %s is not JSON: %s", sandbox.Clip(e.MessageID, 100),
			sandbox.Clip(err.Error(), 300)))
	}
	return v
}
