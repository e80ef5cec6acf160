package kept

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Setting is a setting that a repair has to keep and that its script changes (F9, C9). A deploy may change it.
type Setting struct {
	// Path is where it stands in the script's definition, as in consumers, pay, rate.
	Path []string
	// Message says what the repair changes, from what to what.
	Message string
	// Keep says what to write; empty where it is to be as it was.
	Keep string
}

// ByRepair lists what differs between before and now, and must not change in a repair (F9, C9): topics and
// subscriptions; which producers and hooks there are, when a producer runs and what a hook lets in; where handlers
// publish, how often an event is tried, which calls a person approves, where what is discarded goes, what mutate may
// read, and how many runs there are at once, in which order and how often.
func ByRepair(before, now *eventlog.Definition) []Setting {
	kept := ofTopics(before, now)
	kept = append(kept, ofHooks(before, now)...)
	kept = append(kept, ofSubscriptions(before, now)...)
	kept = append(kept, ofProducers(before, now)...)
	for _, c := range now.Consumers {
		if was, ok := before.Consumer(c.Name); ok {
			kept = append(kept, members("consumer", c.Name, consumerMembers(was), consumerMembers(c))...)
		}
	}
	return kept
}

func ofTopics(before, now *eventlog.Definition) (kept []Setting) {
	for _, topic := range before.Topics {
		if !now.HasTopic(topic) {
			kept = append(kept, Setting{Path: []string{"topics"},
				Message: fmt.Sprintf("a repair may not remove topic %q", topic)})
		}
	}
	for _, topic := range now.Topics {
		if !before.HasTopic(topic) {
			kept = append(kept, Setting{Path: []string{"topics", string(topic)}, Keep: "leave it out",
				Message: fmt.Sprintf("a repair may not add topic %q", topic)})
		}
	}
	return kept
}

// ofHooks keeps what requests a hook lets in, and at which address.
func ofHooks(before, now *eventlog.Definition) (kept []Setting) {
	for _, old := range before.Hooks {
		h, ok := now.Hook(old.Name)
		if !ok {
			kept = append(kept, Setting{Path: []string{"hooks"},
				Message: fmt.Sprintf("a repair may not remove hook %q", old.Name)})
			continue
		}
		kept = append(kept, members("hook", old.Name, hookMembers(old), hookMembers(h))...)
	}
	for _, h := range now.Hooks {
		if _, ok := before.Hook(h.Name); !ok {
			kept = append(kept, Setting{Path: []string{"hooks", string(h.Name)}, Keep: "leave it out",
				Message: fmt.Sprintf("a repair may not add hook %q", h.Name)})
		}
	}
	return kept
}

func ofSubscriptions(before, now *eventlog.Definition) (kept []Setting) {
	was, is := subscriptionsOf(before), subscriptionsOf(now)
	for _, topic := range slices.Sorted(maps.Keys(was)) {
		if is[topic] != was[topic] {
			kept = append(kept, Setting{Path: []string{"consumers", string(was[topic]), "subscribe"},
				Message: fmt.Sprintf("a repair may not take topic %q from consumer %q", topic, was[topic])})
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(is)) {
		if was[topic] == "" {
			kept = append(kept, Setting{Path: []string{"consumers", string(is[topic]), "subscribe"},
				Message: fmt.Sprintf("a repair may not subscribe consumer %q to topic %q", is[topic], topic)})
		}
	}
	return kept
}

// subscriptionsOf maps each topic to its consumer.
func subscriptionsOf(d *eventlog.Definition) map[eventlog.Topic]eventlog.Handler {
	of := make(map[eventlog.Topic]eventlog.Handler)
	for _, consumer := range d.Consumers {
		for _, topic := range consumer.Subscribe {
			of[topic] = consumer.Name
		}
	}
	return of
}

func ofProducers(before, now *eventlog.Definition) (kept []Setting) {
	for _, old := range before.Producers {
		if _, ok := now.Producer(old.Name); !ok {
			kept = append(kept, Setting{Path: []string{"producers"},
				Message: fmt.Sprintf("a repair may not remove producer %q", old.Name)})
		}
	}
	for _, p := range now.Producers {
		old, ok := before.Producer(p.Name)
		if !ok {
			kept = append(kept, Setting{Path: []string{"producers", string(p.Name)}, Keep: "leave it out",
				Message: fmt.Sprintf("a repair may not add producer %q", p.Name)})
			continue
		}
		kept = append(kept, members("producer", p.Name, producerMembers(old), producerMembers(p))...)
	}
	return kept
}

// members compares two lists of the same members.
func members[S ~string](kind string, of S, before, now []member) (kept []Setting) {
	or := func(written string) string {
		if written == "" {
			return "none"
		}
		return written
	}
	for i, was := range before {
		if now[i].written == was.written {
			continue
		}
		keep := "leave " + was.name + " out"
		if was.written != "" {
			keep = "write " + was.name + ": " + was.written
		}
		kept = append(kept, Setting{Path: []string{kind + "s", string(of), was.name}, Keep: keep,
			Message: fmt.Sprintf("a repair may not change %s of %s %q from %s to %s", was.name, kind, of, or(was.written),
				or(now[i].written))})
	}
	return kept
}
