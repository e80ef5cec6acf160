package vm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// publish is ctx.publish(topic | topics, {messageId, title, payload, inputId?}). It is only
// buffered; the engine makes it visible with the commit of the run (R10).
func (inv *invocation) publish(args []goja.Value) goja.Value {
	if len(args) != 2 {
		inv.abort(sandbox.ScriptFault("publish.invalid",
			"ctx.publish takes a topic (or an array of topics) and an event {messageId, title, payload}"))
	}
	p := sandbox.Publish{Topics: inv.publishTopics(args[0])}

	if value.IsPromise(args[1]) {
		inv.abort(sandbox.ScriptFault("publish.invalid",
			"ctx.publish got a promise instead of an event: write await before it"))
	}
	raw := inv.encoded(args[1], "publish.invalid", "ctx.publish: the event")
	inv.alive() // encoding may have run script code
	event, ok := value.Members(raw)
	if !ok {
		inv.abort(sandbox.ScriptFault("publish.invalid",
			"ctx.publish: the event must be an object {messageId, title, payload}, got %s",
			sandbox.Clip(string(raw), 60)))
	}
	p.MessageID = inv.required("publish.invalid", "ctx.publish: messageId", event.Member("messageId"))
	p.Title = inv.required("publish.invalid", "ctx.publish: title", event.Member("title"))
	if why := sandbox.BadMessageID(p.MessageID); why != "" {
		inv.abort(sandbox.ScriptFault("publish.invalid", "ctx.publish: messageId %s: %q", why,
			sandbox.Clip(p.MessageID, 100)))
	}
	if inputID := event.Member("inputId"); present(inputID) {
		if inv.call.Phase != sandbox.Producer {
			inv.abort(sandbox.ScriptFault("phase.forbidden", "ctx.publish: inputId is not allowed in %s: %s",
				inv.call.Phase, sandbox.WhereAllowed(sandbox.MemberRegisterInput)))
		}
		p.InputID = inv.required("publish.invalid", "ctx.publish: inputId", inputID)
	}
	p.Payload = event.Member("payload")
	if !present(p.Payload) {
		p.Payload = json.RawMessage("null")
	}
	for _, name := range event.Others(sandbox.EventMembers) {
		inv.log.add(inv.now(), "warn",
			fmt.Sprintf("ctx.publish: %q is no member of an event and was dropped; put data into payload",
				sandbox.Clip(name, 100)), inv.place(inv.frames()).Line)
	}

	inv.warnOfRepeats(&p)
	inv.publishBytes += p.Size()
	if inv.publishBytes > inv.limits.Publish {
		inv.abort(sandbox.LimitFault("limit.publish",
			"the published events have more than %d bytes together; publish fewer per run", inv.limits.Publish))
	}
	inv.publishes = append(inv.publishes, p)
	if inv.buffered == nil {
		inv.buffered = inv.resolved(goja.Undefined())
	}
	return inv.buffered
}

// warnOfRepeats notes an event that this call has published already with other contents: only the last ones stay (R11).
func (inv *invocation) warnOfRepeats(p *sandbox.Publish) {
	for _, topic := range p.Topics {
		key := topic + "\x00" + p.MessageID
		if i, again := inv.published[key]; again {
			if was := &inv.publishes[i]; was.Title != p.Title || !bytes.Equal(was.Payload, p.Payload) {
				inv.log.add(inv.now(), "warn", fmt.Sprintf(
					"ctx.publish: event %q of topic %q was published before in this call with another title or payload; only "+
						"the last one stays: give each event a messageId of its own", sandbox.Clip(p.MessageID, 100),
					sandbox.Clip(topic, 100)), inv.place(inv.frames()).Line)
			}
		}
		if inv.published == nil {
			inv.published = map[string]int{}
		}
		inv.published[key] = len(inv.publishes)
	}
}

// publishTopics reads the first argument of publish: declared topics only (S8), each once.
func (inv *invocation) publishTopics(v goja.Value) []string {
	var topics []string
	var err error
	raw := json.RawMessage(`""`) // the only text that is refused
	if value.IsText(v) {
		topics = []string{v.String()}
	} else {
		raw = inv.encoded(v, "publish.invalid", "ctx.publish: the topic")
		err = json.Unmarshal(raw, &topics)
	}
	if err != nil || len(topics) == 0 || slices.Contains(topics, "") {
		inv.abort(sandbox.ScriptFault("publish.invalid",
			"ctx.publish: the topic must be a name or a non-empty array of names, got %s",
			sandbox.Clip(string(raw), 60)))
	}
	distinct := topics[:0]
	for _, t := range topics {
		if !slices.Contains(inv.call.Topics, t) {
			inv.abort(sandbox.ScriptFault("topic.unknown",
				"ctx.publish: %q is not a topic this handler may publish to; it may publish to %s",
				sandbox.Clip(t, 150), orNone(inv.call.Topics)))
		}
		if !slices.Contains(distinct, t) {
			distinct = append(distinct, t)
		}
	}
	return distinct
}

// registerInput is ctx.registerInput({source, type, id, title}): it returns the id to put into
// publishes as inputId. The same input again changes only its title.
func (inv *invocation) registerInput(args []goja.Value) goja.Value {
	if len(args) != 1 {
		inv.abort(sandbox.ScriptFault("input.invalid", "ctx.registerInput takes one object {source, type, id, title}"))
	}
	raw := inv.encoded(args[0], "input.invalid", "ctx.registerInput: the input")
	inv.alive()
	input, ok := value.Members(raw)
	if !ok {
		inv.abort(sandbox.ScriptFault("input.invalid",
			"ctx.registerInput takes one object {source, type, id, title}, got %s", sandbox.Clip(string(raw), 60)))
	}
	in := sandbox.Input{
		Source: inv.required("input.invalid", "ctx.registerInput: source", input.Member("source")),
		Type:   inv.required("input.invalid", "ctx.registerInput: type", input.Member("type")),
		ExtID:  inv.required("input.invalid", "ctx.registerInput: id", input.Member("id")),
		Title:  inv.required("input.invalid", "ctx.registerInput: title", input.Member("title")),
	}
	in.ID = sandbox.InputID(in.Source, in.Type, in.ExtID)
	if i := slices.IndexFunc(inv.inputs, func(known sandbox.Input) bool { return known.ID == in.ID }); i >= 0 {
		inv.publishBytes += len(in.Title) - len(inv.inputs[i].Title)
		inv.inputs[i] = in
	} else {
		inv.publishBytes += len(in.Source) + len(in.Type) + len(in.ExtID) + len(in.Title)
		inv.inputs = append(inv.inputs, in)
	}
	if inv.publishBytes > inv.limits.Publish {
		inv.abort(sandbox.LimitFault("limit.publish",
			"the published events and inputs have more than %d bytes together; publish fewer per run",
			inv.limits.Publish))
	}
	return inv.rt.ToValue(in.ID)
}

// required reads a non-empty string.
func (inv *invocation) required(code, what string, raw json.RawMessage) string {
	if !present(raw) {
		inv.abort(sandbox.ScriptFault(code, "%s is missing; it must be a non-empty string", what))
	}
	s, err := value.TextOf(raw)
	if err != nil {
		inv.abort(sandbox.ScriptFault(code, "%s must be a non-empty string, got %s", what,
			sandbox.Clip(string(raw), 60)))
	}
	if strings.TrimSpace(s) == "" {
		inv.abort(sandbox.ScriptFault(code, "%s must not be empty", what))
	}
	return s
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
