package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/decide/kept"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// PreviousOf takes from a workflow's state what a check needs; nil if there is no such workflow.
func PreviousOf(s *projections.State) *Previous {
	if !s.Exists() {
		return nil
	}
	p := &Previous{
		Name: s.Name, Version: s.Version, Definition: *s.Definition(), State: s,
		Pending: make(map[eventlog.Topic]int),
	}
	for _, w := range s.Waiting {
		p.Pending[w.Topic] = w.Events
	}
	for name, h := range s.Handlers() {
		if h.State != nil {
			p.Stateful = append(p.Stateful, name)
		}
	}
	return p
}

// redeploy compares the script with what the workflow has. It refuses what F9 forbids, and warns of what would be left
// behind and of what O9 would refuse now; O9 itself is decided when the deploy is recorded.
func (c *check) redeploy() {
	if c.in.Previous == nil {
		if c.in.Repair {
			c.refuse(CodeRepair, "deploy the file instead", "there is no version of workflow %q to repair",
				eventlog.ClipName(c.in.Definition.Name))
			c.at(c.place("name"))
		}
		return
	}
	previous := c.in.Previous
	if previous.State != nil && previous.State.Archived {
		c.warn(CodeArchived, fmt.Sprintf("deploy under another name, e.g. %q",
			SuggestWorkflowName(string(previous.Name[:min(len(previous.Name), 60)])+"-2")),
			"workflow %s is archived for good, so a deploy will be refused", previous.Name)
		c.at(c.place("name"))
		return
	}
	if c.in.Definition.Lacks("topics") || c.lacksTopics() {
		return // whatever is missing would seem to be taken away
	}
	if c.in.Repair {
		c.repair(previous)
	}
	c.holds(previous)
	c.drops(previous)
}

// holds warns that a run stands in the way now (O9).
func (c *check) holds(previous *Previous) {
	if previous.State == nil {
		return
	}
	for _, d := range c.in.Definition.Consumers {
		if now, _ := c.accepted.Consumer(eventlog.Handler(d.Name)); d.Concurrency != nil && !now.Concurrent() {
			return // a number that was refused would seem to be taken away
		}
	}
	if held := decide.RefuseHeld(previous.State, &c.accepted); held != nil {
		c.warn(held.Code, "", "%s", held.Message)
		c.hint(held.Hint.Code, held.Hint.Values...)
	}
}

// drops warns of events and states that no handler will look at any more.
func (c *check) drops(previous *Previous) {
	for _, topic := range slices.Sorted(maps.Keys(previous.Pending)) {
		pending := previous.Pending[topic]
		if pending == 0 {
			continue
		}
		if !c.accepted.HasTopic(topic) {
			c.warn(CodeDrops, "keep the topic, or skip the events",
				"topic %q is gone while %s", topic, stranded(pending))
			c.at(c.place("topics"))
			continue
		}
		_, had := previous.Definition.Subscriber(topic)
		if _, has := c.accepted.Subscriber(topic); had && !has {
			c.warn(CodeDrops, "subscribe a consumer to it, or skip the events",
				"topic %q loses its consumer while %s", topic, stranded(pending))
			c.at(c.place("topics", string(topic)))
		}
	}
	for _, name := range previous.Stateful {
		_, producer := previous.Definition.Producer(name)
		_, consumer := previous.Definition.Consumer(name)
		_, stillProducer := c.accepted.Producer(name)
		_, stillConsumer := c.accepted.Consumer(name)
		if (producer || consumer) && !stillProducer && !stillConsumer {
			c.warn(CodeDrops, "keep the handler's name if the state is still meant for it",
				"handler %q is gone; its saved state is used again only by a handler of that name", name)
		}
		before, _ := previous.Definition.Consumer(name)
		if now, _ := c.accepted.Consumer(name); now.Concurrent() && !before.Concurrent() {
			c.warn(CodeDrops, "keep it without concurrency if it needs what it remembers",
				"consumer %q has saved a state, which stays and is not read: a consumer with concurrency has none", name)
			c.at(c.place("consumers", string(name), "concurrency"))
		}
	}
}

// repair checks what a minor version must keep (F9). New capabilities are refused where they are used.
func (c *check) repair(previous *Previous) {
	if name := eventlog.WorkflowName(c.in.Definition.Name); name != previous.Name && !c.in.Definition.Lacks("name") {
		c.refuse(CodeRepair, fmt.Sprintf("use name: %q", previous.Name), "a repair of %s may not rename it to %q",
			previous.Name, eventlog.ClipName(name))
		c.at(c.place("name"))
	}
	for _, setting := range kept.ByRepair(&previous.Definition, &c.accepted) {
		if c.lacksAny(setting.Path) {
			continue // what could not be read is no change
		}
		c.refuse(CodeRepair, cmp.Or(setting.Keep, "keep it as it was")+", or deploy the file instead", "%s",
			setting.Message)
		c.at(c.place(setting.Path...))
	}
}

// stranded says what becomes of a topic's pending events that no handler will look at.
func stranded(events int) string {
	if events == 1 {
		return "1 event of it is pending; it stays and nothing processes it"
	}
	return fmt.Sprintf("%d events of it are pending; they stay and nothing processes them", events)
}
