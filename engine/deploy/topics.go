package deploy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

func (c *check) topics() {
	c.accepted.Topics = make([]eventlog.Topic, 0, len(c.in.Definition.Topics))
	for _, name := range c.in.Definition.Topics {
		topic := eventlog.Topic(name)
		if topic.Validate() != nil {
			c.refuse(CodeTopicName, fmt.Sprintf("use %q", SuggestTopic(name)),
				"topic %q must be made of letters, digits, - or _, in parts joined by dots, at most 64 characters each and 128 "+
					"together", eventlog.ClipName(name))
			c.at(c.place("topics", name))
			continue
		}
		if slices.Contains(c.accepted.Topics, topic) {
			c.refuse(CodeDuplicate, "declare it once", "topic %q is declared twice", topic)
			c.at(c.place("topics", name))
			continue
		}
		c.accepted.Topics = append(c.accepted.Topics, topic)
	}
}

// declared checks the topics that a handler names in one of its fields.
func (c *check) declared(kind, handler, field string, names []string) []eventlog.Topic {
	if names == nil {
		return nil
	}
	topics := make([]eventlog.Topic, 0, len(names))
	for i, name := range names {
		topic := eventlog.Topic(name)
		at := c.place(kind+"s", handler, field, strconv.Itoa(i))
		switch {
		case slices.Contains(topics, topic):
			c.warn(CodeDuplicate, "name it once", "%s %q names topic %q twice in %s", kind, eventlog.ClipName(handler),
				eventlog.ClipName(name), field)
			c.at(at)
			continue
		case !slices.Contains(c.in.Definition.Topics, name) && !c.in.Definition.Lacks("topics"):
			fix := fmt.Sprintf("declare it: topics: { %q: {} }, or use one of the declared: %s", eventlog.ClipName(name),
				list(c.accepted.Topics))
			edit := c.amend().Member(c.amend().Value(c.place("topics")), strconv.Quote(name)+": {}")
			if close := similar.Names(name, c.in.Definition.Topics, 1); len(close) > 0 {
				fix = fmt.Sprintf("write %q, or %s", eventlog.ClipName(close[0]), fix)
				edit = c.amend().Swap(at, strconv.Quote(name), strconv.Quote(close[0]))
			}
			c.refuse(CodeTopicUnknown, fix, "%s %q names topic %q in %s, and topics does not declare it", kind,
				eventlog.ClipName(handler), eventlog.ClipName(name), field)
			c.at(at)
			c.edit(edit)
		}
		topics = append(topics, topic)
	}
	return topics
}

// subscriptions: a topic with two consumers is refused (S8).
func (c *check) subscriptions() {
	subscriber := make(map[eventlog.Topic]eventlog.Handler)
	for _, consumer := range c.accepted.Consumers {
		for _, topic := range consumer.Subscribe {
			i := slices.Index(c.definedConsumer(consumer.Name).Subscribe, string(topic))
			first, taken := subscriber[topic]
			if !taken {
				subscriber[topic] = consumer.Name
				continue
			}
			c.refuse(CodeTwoConsumers, fmt.Sprintf("publish to two topics, one for each consumer, e.g. %q and %q", topic,
				SuggestTopic(string(topic)+"."+string(consumer.Name))),
				"topic %q has two consumers, %q and %q; an event is processed by one", eventlog.ClipName(topic),
				eventlog.ClipName(first), eventlog.ClipName(consumer.Name))
			c.at(c.place("consumers", string(consumer.Name), "subscribe", strconv.Itoa(i)))
		}
	}
}

// definedConsumer is a consumer as its script has it.
func (c *check) definedConsumer(name eventlog.Handler) sandbox.ConsumerDefinition {
	for _, d := range c.in.Definition.Consumers {
		if d.Name == string(name) {
			return d
		}
	}
	return sandbox.ConsumerDefinition{}
}

// unusedTopics warns of a topic that no handler reads and none can write. Where `publishes` is not
// declared, any topic may be written.
func (c *check) unusedTopics() {
	if c.lacksTopics() {
		return
	}
	reached := make(map[eventlog.Topic]bool)
	for _, p := range c.accepted.Producers {
		if !p.PublishesDeclared {
			return
		}
		for _, topic := range p.Publishes {
			reached[topic] = true
		}
	}
	for _, consumer := range c.accepted.Consumers {
		if consumer.HasNext && !consumer.PublishesDeclared {
			return
		}
		for _, topic := range slices.Concat(consumer.Publishes, consumer.Subscribe) {
			reached[topic] = true
		}
		reached[consumer.DeadLetter] = true
	}
	for _, h := range c.accepted.Hooks {
		reached[h.Topic] = true
	}
	for _, topic := range c.accepted.Topics {
		if !reached[topic] {
			c.warn(CodeTopicUnused, "remove it, or subscribe a consumer to it",
				"no handler publishes to topic %q or subscribes to it", topic)
			c.at(c.place("topics", string(topic)))
		}
	}
}

// lacksTopics reports whether it is unknown which topics some handler reads or writes.
func (c *check) lacksTopics() bool {
	d := &c.in.Definition
	return d.Lacks("producers") || d.Lacks("consumers") ||
		slices.ContainsFunc(d.Producers, func(p sandbox.ProducerDefinition) bool {
			return d.Lacks("producers", p.Name, "publishes")
		}) ||
		slices.ContainsFunc(d.Consumers, func(k sandbox.ConsumerDefinition) bool {
			return d.Lacks("consumers", k.Name, "publishes") || d.Lacks("consumers", k.Name, "subscribe") ||
				d.Lacks("consumers", k.Name, "next")
		})
}
