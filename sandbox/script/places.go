package script

import (
	"fmt"

	"github.com/pawl-run/pawl/sandbox"
)

// Places are where the members of a definition are written that a check may have something to say about.
func (in *Text) Places(d *sandbox.Definition) map[string]sandbox.Place {
	if in.root == nil {
		return nil
	}
	places := map[string]sandbox.Place{"": in.Position(in.root.LeftBrace)}
	note := func(at sandbox.Place, path ...string) {
		// What the text does not show has the place of what holds it, which Place finds by itself.
		if at.Line > 0 && at != places[sandbox.PlaceKey(path[:len(path)-1])] {
			places[sandbox.PlaceKey(path)] = at
		}
	}
	list := func(names []string, path ...string) {
		note(in.Place(path...), path...)
		for i := range names {
			note(in.element(i, path...), append(path, fmt.Sprint(i))...)
		}
	}
	for _, group := range []string{"name", "topics", "producers", "consumers", "hooks"} {
		note(in.Place(group), group)
	}
	for _, topic := range d.Topics {
		note(in.Place("topics", topic), "topics", topic)
	}
	for _, p := range d.Producers {
		note(in.Place("producers", p.Name), "producers", p.Name)
		for _, option := range []string{"interval", "cron", "timezone"} {
			note(in.Place("producers", p.Name, option), "producers", p.Name, option)
		}
		list(p.Publishes, "producers", p.Name, "publishes")
	}
	for _, c := range d.Consumers {
		note(in.Place("consumers", c.Name), "consumers", c.Name)
		for _, option := range []string{"maxAttempts", "concurrency", "key", "rate", "approval", "deadLetter"} {
			note(in.Place("consumers", c.Name, option), "consumers", c.Name, option)
		}
		list(c.Subscribe, "consumers", c.Name, "subscribe")
		list(c.Publishes, "consumers", c.Name, "publishes")
	}
	for _, h := range d.Hooks {
		note(in.Place("hooks", h.Name), "hooks", h.Name)
		for _, path := range hookMembers {
			note(in.Place(append([]string{"hooks", h.Name}, path...)...), append([]string{"hooks", h.Name}, path...)...)
		}
		list(h.Headers, "hooks", h.Name, "headers")
	}
	return places
}

// hookMembers are the members of a hook that a check may have something to say about.
var hookMembers = [][]string{
	{"topic"}, {"id"}, {"title"}, {"verify"}, {"verify", "scheme"}, {"verify", "secret"}, {"verify", "hmac"},
	{"verify", "secretEncoding"}, {"verify", "signed"}, {"verify", "token"}, {"verify", "header"},
	{"verify", "signatures"}, {"verify", "signatures", "header"}, {"verify", "signatures", "split"},
	{"verify", "signatures", "encoding"}, {"verify", "timestamp"}, {"verify", "timestamp", "header"},
	{"verify", "timestamp", "format"}, {"verify", "timestamp", "tolerance"},
	{"respond"}, {"respond", "status"}, {"respond", "challenge"},
}
