package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Place is a position in the author's source; the zero value is unknown.
type Place struct {
	Line   int `json:"line"`   // 1-based
	Column int `json:"column"` // 1-based
}

// placeKey makes a path of members into a key of Places.
func placeKey(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// Place is where a member of the definition is written: Place("consumers", "record", "subscribe", "0").
// For one that the text does not show it is the nearest one around it that it does.
func (d *Definition) Place(path ...string) Place {
	for ; len(path) > 0; path = path[:len(path)-1] {
		if at, ok := d.Places[placeKey(path)]; ok {
			return at
		}
	}
	return d.Places[""]
}

// Lacks reports whether a member, or what it is a part of, could not be read: nothing follows from its
// absence.
func (d *Definition) Lacks(path ...string) bool {
	for ; len(path) > 0; path = path[:len(path)-1] {
		if slices.Contains(d.Unread, placeKey(path)) {
			return true
		}
	}
	return d.Incomplete && len(d.Unread) == 0
}

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
