package deploy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
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
