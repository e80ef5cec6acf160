package explain

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// heldKeys are the held events by their key.
type heldKeys map[uint64][]*projections.TopicEvent

// maxBehind bounds how many events are counted that wait for one event.
const maxBehind = 10_000

// keysOf finds the keys of held events.
func keysOf(s *projections.State, groups []heldGroup) heldKeys {
	keys := heldKeys{}
	for _, g := range groups {
		for _, e := range g.events {
			if key := s.KeyOf(e); key != 0 {
				keys[key] = append(keys[key], e)
			}
		}
	}
	return keys
}

// behind is how many events wait for the held one because they have its key. Events that are held themselves do not
// wait for it, and in an archived workflow nothing waits any more. It counts to most.
func (k heldKeys) behind(s *projections.State, e *projections.TopicEvent, most int) int {
	if s.Archived {
		return 0
	}
	held := 0
	for _, other := range k[s.KeyOf(e)] {
		if e.Created.Before(other.Created) {
			held++
		}
	}
	return max(0, s.Behind(e, most+held)-held)
}

// first reports whether the held event is the oldest one of its key.
func (k heldKeys) first(s *projections.State, e *projections.TopicEvent) bool {
	return !slices.ContainsFunc(k[s.KeyOf(e)], func(other *projections.TopicEvent) bool {
		return other.Created.Before(e.Created)
	})
}

// say says how many events wait for the event because they have its key; empty for none. The sentence calls the event
// as the caller says.
func (k heldKeys) say(s *projections.State, e *projections.TopicEvent, called string) string {
	n := k.behind(s, e, maxBehind)
	if n == 0 {
		return ""
	}
	many := eventlog.Count(n, "event")
	if n >= maxBehind {
		many = fmt.Sprintf("%d or more events", maxBehind)
	}
	c, _ := s.Definition().Subscriber(e.Topic)
	key := projections.EventKeyAt(c.Key, e.Payload)
	return fmt.Sprintf("; %s with the key %s %s until %s has ended", many, visible(eventlog.ClipName(key)),
		number(n, "waits", "wait"), called)
}

// nameBusiest names the held event that the most events wait for, unless it is one of those that stand for their group.
func (w *Why) nameBusiest(s *projections.State, of []heldGroup, keys heldKeys) {
	most := 0
	for _, g := range of[:min(len(of), maxGroups)] {
		most = max(most, keys.behind(s, g.events[0], maxBehind))
	}
	var busiest *projections.TopicEvent
	for _, g := range of {
		for _, e := range g.events {
			if !keys.first(s, e) {
				continue
			}
			if n := keys.behind(s, e, maxBehind); n > most {
				busiest, most = e, n
			}
		}
	}
	if busiest == nil {
		return
	}
	w.add("Most events wait behind %s%s.", eventName(s, eventlog.EventRef{Topic: busiest.Topic,
		MessageID: busiest.MessageID}), keys.say(s, busiest, "it"))
	w.once("%s", eventCommand("jobs show", s.Name, busiest.Topic, busiest.MessageID))
	w.once("pawl events list --workflow %s --topic %s --status pending", s.Name, busiest.Topic)
}

// listBehind names the command that lists the events which wait for the named ones because they have the same key.
func (w *Why) listBehind(s *projections.State, of []heldGroup, keys heldKeys) {
	for _, g := range of[:min(len(of), maxGroups)] {
		if first := g.events[0]; keys.behind(s, first, 1) > 0 {
			w.once("pawl events list --workflow %s --topic %s --status pending", s.Name, first.Topic)
		}
	}
}
