package sandbox

import (
	"fmt"
)

// places are where the members of a definition are written that a check may have something to say about.
func (in *inspection) places(d *Definition) map[string]Place {
	if in.root == nil {
		return nil
	}
	places := map[string]Place{"": in.position(in.root.LeftBrace)}
	note := func(at Place, path ...string) {
		// What the text does not show has the place of what holds it, which Place finds by itself.
		if at.Line > 0 && at != places[placeKey(path[:len(path)-1])] {
			places[placeKey(path)] = at
		}
	}
	list := func(names []string, path ...string) {
		note(in.place(path...), path...)
		for i := range names {
			note(in.element(i, path...), append(path, fmt.Sprint(i))...)
		}
	}
	for _, group := range []string{"name", "topics", "producers", "consumers"} {
		note(in.place(group), group)
	}
	for _, topic := range d.Topics {
		note(in.place("topics", topic), "topics", topic)
	}
	for _, p := range d.Producers {
		note(in.place("producers", p.Name), "producers", p.Name)
		for _, option := range []string{"interval", "cron", "timezone"} {
			note(in.place("producers", p.Name, option), "producers", p.Name, option)
		}
		list(p.Publishes, "producers", p.Name, "publishes")
	}
	for _, c := range d.Consumers {
		note(in.place("consumers", c.Name), "consumers", c.Name)
		note(in.place("consumers", c.Name, "maxAttempts"), "consumers", c.Name, "maxAttempts")
		list(c.Subscribe, "consumers", c.Name, "subscribe")
		list(c.Publishes, "consumers", c.Name, "publishes")
	}
	return places
}
