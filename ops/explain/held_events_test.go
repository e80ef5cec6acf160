package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// An id comes from outside: a command about an event with an id like a flag is still about that event.
func TestCommandsOfAnyID(t *testing.T) {
	t.Parallel()
	for id, want := range map[eventlog.MessageID][]string{
		"-1001": {"pawl redrive shop in -- -1001", "pawl redrive shop in --including-unknown -- -1001"},
		"--where=state=available": {"pawl redrive shop in -- --where=state=available",
			"pawl redrive shop in --including-unknown -- --where=state=available"},
		"-- -x": {"pawl redrive shop in -- '-- -x'", "pawl redrive shop in --including-unknown -- '-- -x'"},
		"it's":  {`pawl redrive shop in 'it'\''s'`, `pawl redrive shop in 'it'\''s' --including-unknown`},
		"a-1":   {"pawl redrive shop in a-1", "pawl redrive shop in a-1 --including-unknown"},
	} {
		got := []string{eventCommand("redrive", "shop", "in", id),
			eventCommand("redrive", "shop", "in", id, "--including-unknown")}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

// A deploy frees events that are held for a person because of the script, one or many.
func TestDeployFreesManyEvents(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 4}, "a", "b")
	for _, id := range []string{"a", "b"} {
		l.fail(id, eventlog.Logic, "script.threw")
		l.state.Event("in", eventlog.MessageID(id)).Held.Reason = eventlog.HeldPerson // the repairs are used up
	}
	l.check(decide.ReasonHeld, true, []string{"2 events are held"}, []string{"pawl resume shop", "pawl deploy FILE",
		"pawl redrive shop --where held=person"})
}

// Events that are held themselves do not wait for another one of their key, which a deploy may have given to them.
func TestHeldEventsOfOneKey(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 4}, "a:x", "b:x", "c:y")
	l.fail("a", eventlog.Precondition, "http.404")
	l.fail("b", eventlog.Precondition, "http.404")
	c, _ := l.state.Definition().Consumer("send")
	c.Key = "k"
	l.fail("c", eventlog.Precondition, "http.410")
	l.do(decide.Deploy{Filename: "w.ts", Source: "…", SourceHash: "2", Definition: eventlog.Definition{
		Topics: []eventlog.Topic{"in"}, Consumers: []eventlog.Consumer{c}}})
	l.push("d:x")
	l.check(decide.ReasonHeld, true, []string{`event "a" (“Order a”) of topic in and 1 more; 1 event with the key "x" ` +
		"waits until the first of them has ended."}, nil)
}

// Of many kinds of failures the event that most others wait for is named, wherever it stands.
func TestTheEventThatMostWaitForIsNamed(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 20, Key: "k"}, "0:x")
	l.push("0b:x")
	for n := range 9 {
		l.push(fmt.Sprint(n + 1))
	}
	l.push("9a:9", "9b:9")
	for n := range 10 {
		l.fail(fmt.Sprint(n), eventlog.Precondition, fmt.Sprintf("http.41%d", n))
	}
	l.check(decide.ReasonHeld, true, []string{`1 event with the key "x" waits until it has ended`,
		`Most events wait behind event "9" (“Order 9”) of topic in; 2 events with the key "9" wait until it has ended.`},
		[]string{"pawl jobs show shop in 9"})
	l.do(decide.SkipEvent{Topic: "in", MessageID: "9b"})
	if w := l.why(); strings.Contains(w.Message, "Most events") {
		t.Errorf("as many wait behind one that is named: %s", w.Message)
	}
}
