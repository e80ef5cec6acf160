package deploy

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

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
