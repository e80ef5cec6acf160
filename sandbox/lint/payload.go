package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/flow"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// payloads are the payloads of the events that a script publishes for its consumers, as far as its text shows them.
type payloads struct {
	// of are the payloads by topic, of the topics that a consumer subscribes to.
	of map[string][]payload
	// unseen tells that there may be others: what is published, or where to, is not written out.
	unseen bool
	// left is how many payloads may still be looked at: a list of many topics may be named in many places.
	left int
}

// maxPayloads bounds how many payloads are looked at, one that is published to several topics for each of them.
const maxPayloads = 100_000

type payload struct {
	value sandbox.Written
	line  int
}

func newPayloads(d *sandbox.Definition) payloads {
	p := payloads{of: make(map[string][]payload), left: maxPayloads}
	for _, consumer := range d.Consumers {
		for _, topic := range consumer.Subscribe {
			p.of[topic] = nil
		}
	}
	return p
}

// unseenPublishes notes where a holder may publish what the text does not show.
func (c *collector) unseenPublishes(h *holder) {
	unseen := len(h.computed) > 0 || slices.ContainsFunc(h.passes, func(p pass) bool {
		_, _, known := script.Function(p.to)
		return !known
	}) || slices.ContainsFunc(h.touches, func(t touch) bool {
		m, own := t.builtin()
		return own && m == sandbox.MemberPublish && (t.call == nil || slices.ContainsFunc(t.call.ArgumentList,
			func(a ast.Expression) bool {
				_, spread := a.(*ast.SpreadElement)
				return spread
			}))
	})
	c.payloads.unseen = c.payloads.unseen || unseen
}

// payloadOf takes down what a call of ctx.publish shows of its payload.
func (c *collector) payloadOf(t *touch, args []ast.Expression) {
	if len(c.payloads.of) == 0 || c.payloads.unseen {
		return
	}
	if len(args) != 2 {
		c.payloads.unseen = true
		return
	}
	named := []ast.Expression{args[0]}
	if list, ok := c.in.Resolve(args[0]).(*ast.ArrayLiteral); ok {
		named = list.Value
	}
	found := payload{line: c.in.Position(c.in.Start(t.call)).Line}
	if event, ok := c.in.Resolve(args[1]).(*ast.ObjectLiteral); ok && c.in.Fixed(args[1]) {
		_, _, whole := script.Keys(event)
		_, value := c.in.Member(event, "payload")
		switch {
		case value != nil && whole:
			found.value = c.value(value, 0)
		case whole:
			found.value.Kind = sandbox.WrittenNull
		}
	}
	for _, expression := range named {
		topic, known := c.in.TextOf(expression)
		if c.payloads.left--; !known || c.payloads.left < 0 {
			c.payloads.unseen = true
			return
		}
		if before, wanted := c.payloads.of[topic]; wanted {
			c.payloads.of[topic] = append(before, found)
		}
	}
}

// payloadRead is a member that is taken of the payload of an event of a topic; the topic is empty where the text does
// not show it.
type payloadRead struct {
	topic string
	flow.Taking
}

// readPayloads warns of members that are taken of payloads and that no publish of the script puts there, once all
// publishes are known. One place may take them of events of several topics: one that has the member is enough.
func (c *collector) readPayloads() {
	said := make(map[file.Idx]bool)
	for _, r := range c.payloadReads {
		if _, _, lacks := c.lacking(r); !lacks {
			said[r.At] = true
		}
	}
	for _, r := range c.payloadReads {
		if said[r.At] {
			continue
		}
		said[r.At] = true
		have, line, _ := c.lacking(r)
		fix := "publish it in the payload (line " + fmt.Sprint(line) + "), or write one of those it has"
		if near := similar.Meant(r.Name, have); near != "" {
			fix = "write " + near
		}
		// No edit: events come from outside too, and from former versions of the script.
		c.Warn("payload.unknown", r.At, fix,
			"no payload that this script publishes to %q has %s, so this is undefined; it has %s (line %d)",
			sandbox.Clip(r.topic, 100), sandbox.Clip(r.Name, 100), orNothing(have), line)
	}
}

// lacking reports a member that none of the payloads has that the script publishes to the topic. have are the members
// that they have, and line is where the first one is published. Nothing is reported of a topic to which requests of
// other systems are published, since that holds whatever they send.
func (c *collector) lacking(r payloadRead) (have []string, line int, lacks bool) {
	published := c.payloads.of[r.topic]
	if c.payloads.unseen || len(published) == 0 || inherits(r.Name) || slices.ContainsFunc(c.definition.Hooks,
		func(h sandbox.HookDefinition) bool { return h.Topic == r.topic }) {
		return nil, 0, false
	}
	for _, p := range published {
		if p.value.Kind != sandbox.WrittenObject || p.value.Open {
			return nil, 0, false
		}
		for _, m := range p.value.Members {
			if m.Name == r.Name {
				return nil, 0, false
			}
			have = append(have, m.Name)
		}
	}
	return have, published[0].line, true
}

// maxPaths bounds how many paths a wrong one is compared with.
const maxPaths = 100

// key warns of a path that is in no payload as far as the text shows them: the events wait for no other then (C2).
func (c *collector) key(d *sandbox.ConsumerDefinition) {
	if d.Concurrency == nil || d.Key == "" {
		return
	}
	path := strings.Split(d.Key, ".")
	inside, twice := strings.CutPrefix(d.Key, "payload.")
	var have []string
	unseen, line, of := c.payloads.unseen, 0, ""
	for _, topic := range d.Subscribe {
		for _, p := range c.payloads.of[topic] {
			if c.payloads.left--; c.payloads.left < 0 {
				return
			}
			switch {
			case lacks(p.value, path):
			case p.value.Kind == "":
				unseen = true
				continue
			default:
				return
			}
			if line == 0 {
				line, of = p.line, topic
			}
			if len(have) < maxPaths {
				have = append(have, pathsOf(p.value, "", 0)...)
				have = have[:min(len(have), maxPaths)]
			}
		}
	}
	at, _ := c.in.Find("consumers", d.Name, "key")
	switch {
	case line > 0 && !unseen:
		fix := "name the value that says which customer, order or thing the event is about, and publish it in the payload"
		if twice && slices.Contains(have, inside) {
			fix = fmt.Sprintf("write key: %q", inside)
		} else if close := similar.Names(d.Key, have, 1); len(close) > 0 {
			fix = fmt.Sprintf("write key: %q", close[0])
		} else if len(have) > 0 {
			have = distinct(have)
			fix = "write the path of something in it: " + sandbox.Quoted(have[:min(len(have), 5)])
		}
		c.Warn("concurrency.key", at, fix, "no payload that is published to %q has %s (line %d): the events would wait "+
			"for no other", sandbox.Clip(of, 100), sandbox.Clip(d.Key, 100), line)
	case twice:
		c.Warn("concurrency.key", at, fmt.Sprintf("write key: %q", sandbox.Clip(inside, 100)),
			"the path of a key begins inside the payload, so this one looks for a payload in the payload")
	}
}

// lacks reports that what a path leads to is certainly not there.
func lacks(w sandbox.Written, path []string) bool {
	if len(path) == 0 {
		return false
	}
	switch w.Kind {
	case "":
		return false
	case sandbox.WrittenObject:
		for _, m := range w.Members {
			if m.Name == path[0] {
				return lacks(m.Value, path[1:])
			}
		}
		return !w.Open
	case sandbox.WrittenArray:
		at, err := strconv.Atoi(path[0])
		if err == nil && at >= 0 && at < len(w.Items) {
			return lacks(w.Items[at], path[1:])
		}
		return err != nil || at < 0 || !w.Open
	}
	return true
}

// pathsOf lists the paths to what is in a written value.
func pathsOf(w sandbox.Written, before string, depth int) (paths []string) {
	const deepest = 3
	if w.Kind != sandbox.WrittenObject || depth == deepest {
		return nil
	}
	for _, m := range w.Members {
		if inside := pathsOf(m.Value, before+m.Name+".", depth+1); len(inside) > 0 {
			paths = append(paths, inside...)
		} else {
			paths = append(paths, before+m.Name)
		}
	}
	return paths
}
