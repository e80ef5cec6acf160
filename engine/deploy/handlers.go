package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

func (c *check) workflow() {
	name := c.in.Definition.Name
	if !c.in.Definition.Lacks("name") && eventlog.WorkflowName(name).Validate() != nil {
		c.refuse(CodeWorkflowName, fmt.Sprintf("use name: %q", SuggestWorkflowName(name)),
			"workflow name %q must have 1 to 64 letters, digits, - or _ and start with a letter or digit",
			eventlog.ClipName(name))
		c.at(c.place("name"))
	}
	if len(c.in.Definition.Producers) == 0 && len(c.in.Definition.Consumers) == 0 && !sandbox.HasErrors(c.in.Found) {
		c.warn(CodeEmpty, "add a producer or a consumer",
			"the workflow has neither producers nor consumers, so nothing ever runs")
		c.at(c.place())
	}
}

// tooMany refuses a workflow of too many handlers or topics; nothing else is said of it. A repair may have as many as
// the version that it repairs.
func (c *check) tooMany() bool {
	d, usual := &c.in.Definition, schedule.Default().Script
	handlers, topics := cmp.Or(c.in.Handlers, usual.Handlers), cmp.Or(c.in.Topics, usual.Topics)
	if c.in.Repair && c.in.Previous != nil {
		was := &c.in.Previous.Definition
		handlers = max(handlers, len(was.Producers)+len(was.Consumers))
		topics = max(topics, len(was.Topics))
	}
	const fix = "make several workflows of it, or raise %s in the engine's configuration"
	if n := len(d.Producers) + len(d.Consumers); n > handlers {
		c.refuse(CodeHandlers, fmt.Sprintf(fix, "policies.script.handlers"),
			"the workflow has %d handlers (producers and consumers), at most %d are allowed", n, handlers)
		c.at(c.place())
	}
	if n := len(d.Topics); n > topics {
		c.refuse(CodeTopics, fmt.Sprintf(fix, "policies.script.topics"),
			"the workflow has %d topics, at most %d are allowed", n, topics)
		c.at(c.place("topics"))
	}
	return len(d.Producers)+len(d.Consumers) > handlers || len(d.Topics) > topics
}

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

// handlerName checks the name of a handler; kind is for the message.
func (c *check) handlerName(kind, name string) {
	if eventlog.Handler(name).Validate() != nil {
		c.refuse(CodeHandlerName, fmt.Sprintf("use %q", SuggestHandler(name)),
			"%s name %q must be a JavaScript identifier of at most 64 ASCII characters", kind, eventlog.ClipName(name))
		c.at(c.place(kind+"s", name))
	}
}

func (c *check) producer(p sandbox.ProducerDefinition) {
	c.handlerName("producer", p.Name)
	producer := eventlog.Producer{
		// a bare function runs on deploy (S2)
		Name: eventlog.Handler(p.Name), Cron: p.Cron, Timezone: p.Timezone, RunOnDeploy: p.RunOnDeploy || p.Bare,
		Publishes:         c.declared("producer", p.Name, "publishes", p.Publishes),
		PublishesDeclared: p.Publishes != nil,
	}
	interval, err := time.Duration(0), error(nil)
	switch {
	case p.Interval != "":
		interval, err = schedule.ParseInterval(p.Interval)
	case p.Cron == "":
		interval = schedule.BareInterval
	}
	producer.IntervalMS = interval.Milliseconds()
	if err == nil {
		_, err = schedule.Parse(producer)
	}
	lacks := func(option string) bool { return c.in.Definition.Lacks("producers", p.Name, option) }
	if err != nil && !lacks("interval") && !lacks("cron") && !lacks("timezone") {
		member, fix := scheduleFix(p)
		c.refuse(CodeSchedule, fix, "producer %q: %v", eventlog.ClipName(p.Name), err)
		c.at(c.place("producers", p.Name, member))
	}
	c.accepted.Producers = append(c.accepted.Producers, producer)
}

func (c *check) consumer(d sandbox.ConsumerDefinition) {
	c.handlerName("consumer", d.Name)
	consumer := eventlog.Consumer{
		Name:      eventlog.Handler(d.Name),
		Subscribe: c.declared("consumer", d.Name, "subscribe", d.Subscribe),
		Publishes: c.declared("consumer", d.Name, "publishes", d.Publishes), PublishesDeclared: d.Publishes != nil,
		HasMutate: d.HasMutate, HasNext: d.HasNext, MutateReadsByID: d.MutateReadsByID,
	}
	if len(d.Subscribe) == 0 && !c.in.Definition.Lacks("consumers", d.Name, "subscribe") {
		c.refuse(CodeSubscribe, `add subscribe: ["topic"]`,
			"consumer %q subscribes to no topic, so it would never have anything to do", eventlog.ClipName(d.Name))
		c.at(c.place("consumers", d.Name, "subscribe"))
	}
	if len(d.Publishes) > 0 && !d.HasNext && !c.in.Definition.Lacks("consumers", d.Name, "next") {
		c.warn(CodePublishes, "add next, or remove publishes",
			"consumer %q declares publishes but has no next, the only phase that publishes", eventlog.ClipName(d.Name))
		c.at(c.place("consumers", d.Name, "publishes"))
	}
	if d.MaxAttempts != nil {
		if *d.MaxAttempts < 0 {
			c.refuse(CodeMaxAttempts, "write how many retries a job gets, e.g. maxAttempts: 3, or leave it out",
				"consumer %q: maxAttempts must be a whole number of at least 0, and is %d", eventlog.ClipName(d.Name),
				*d.MaxAttempts)
			c.at(c.place("consumers", d.Name, "maxAttempts"))
		}
		attempts := *d.MaxAttempts
		consumer.MaxAttempts = &attempts
	}
	consumer.Approval = eventlog.Approval(d.Approval)
	c.deadLetter(d, &consumer)
	c.concurrency(d, &consumer)
	c.accepted.Consumers = append(c.accepted.Consumers, consumer)
}

// deadLetter checks the topic to which what the consumer discards goes (J7).
func (c *check) deadLetter(d sandbox.ConsumerDefinition, consumer *eventlog.Consumer) {
	if d.DeadLetter == "" {
		return
	}
	at := c.place("consumers", d.Name, "deadLetter")
	if d.MaxAttempts == nil && !c.in.Definition.Lacks("consumers", d.Name, "maxAttempts") {
		c.refuse(CodeDeadLetter, "add maxAttempts: 3, or remove deadLetter",
			"consumer %q has a deadLetter and no maxAttempts, without which nothing is discarded", eventlog.ClipName(d.Name))
		c.at(at)
	}
	if !slices.Contains(c.in.Definition.Topics, d.DeadLetter) && !c.in.Definition.Lacks("topics") {
		c.refuse(CodeTopicUnknown, fmt.Sprintf("declare it: topics: { %q: {} }", eventlog.ClipName(d.DeadLetter)),
			"deadLetter of consumer %q names topic %q, which the workflow does not declare", eventlog.ClipName(d.Name),
			eventlog.ClipName(d.DeadLetter))
		c.at(at)
	}
	consumer.DeadLetter = eventlog.Topic(d.DeadLetter)
}

// deadLetterLoops refuses dead letters that come back to the consumer that has left them: it would discard them again,
// without end (J7).
func (c *check) deadLetterLoops() {
	for _, consumer := range c.accepted.Consumers {
		at, seen := consumer, map[eventlog.Handler]bool{}
		for at.DeadLetter != "" && !seen[at.Name] {
			seen[at.Name] = true
			next, subscribed := c.accepted.Subscriber(at.DeadLetter)
			if !subscribed {
				break
			}
			if at = next; at.Name == consumer.Name {
				c.refuse(CodeDeadLetter, "name a topic that leads to no consumer which is on the way to this one",
					"what consumer %q discards comes back to it by deadLetter: %q", consumer.Name, consumer.DeadLetter)
				c.at(c.place("consumers", string(consumer.Name), "deadLetter"))
				break
			}
		}
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

// duplicates: one name is one handler, because state and runs are kept by it.
func (c *check) duplicates() {
	seen := make(map[string]string)
	note := func(kind, name string) {
		if first, ok := seen[name]; ok {
			c.refuse(CodeDuplicate, fmt.Sprintf("rename one of them, e.g. to %q", SuggestHandler(name+" "+kind)),
				"handler name %q is taken by a %s and a %s", eventlog.ClipName(name), first, kind)
			c.at(c.place(kind+"s", name))
			return
		}
		seen[name] = kind
	}
	for _, p := range c.in.Definition.Producers {
		note("producer", p.Name)
	}
	for _, d := range c.in.Definition.Consumers {
		note("consumer", d.Name)
	}
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
