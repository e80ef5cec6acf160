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

// A pause lets what is under way come to its end: it is said beside that.
func TestPausedWithACallUnderWay(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 2}, "a")
	l.call("a", true)
	l.do(decide.Pause{})
	l.check("", false, []string{"has left and its answer is awaited", "1 of its 2 places taken",
		"The workflow was paused by ann at 2023-11-14T22:13:20Z: what is under way comes to its end, and nothing new " +
			"begins until it is resumed."}, []string{"pawl resume shop"})
	l.do(decide.Resume{})
	if w := l.why(); strings.Contains(w.Message, "paused") || slices.Contains(w.Commands, "pawl resume shop") {
		t.Errorf("after the resume: %s %q", w.Message, w.Commands)
	}
}

// Nothing of an archived workflow waits for a place, for a run or for a deploy (O6).
func TestArchivedWaitsForNothing(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 2, Key: "k"}, "a", "b", "c", "d", "e:b")
	m := l.call("a", true)
	l.do(decide.SettleMutation{Mutation: m, Outcome: decide.Settlement{Status: decide.Applied, Result: []byte("{}")}})
	l.do(decide.CommitRun{Run: l.of("a").ID, Failure: &eventlog.Failure{Class: eventlog.Logic, Code: "script.threw",
		Message: "next"}})
	l.fail("b", eventlog.Precondition, "http.404")
	l.do(decide.Archive{})
	l.check(decide.ReasonArchived, false, []string{
		"for a repair of the script; no version frees it any more, but a skip does (logic script.threw",
		"settled, and next does not run any more"},
		[]string{"pawl skip shop in a", "pawl skip shop in b"})
	for _, id := range []eventlog.MessageID{"a", "b"} {
		for _, wrong := range []string{"At consumer send wait", "any new version", "then resume", "with the key"} {
			if w := l.why(); strings.Contains(w.Message, wrong) {
				t.Errorf("an archived workflow is said to wait (%q): %s", wrong, w.Message)
			}
		}
		l.do(decide.SkipEvent{Topic: "in", MessageID: id})
	}
	if w := l.why(); strings.Contains(w.Message, "At consumer send wait") {
		t.Errorf("when nothing is held any more: %s", w.Message)
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

// When nothing is left to try a target with, no time is named at which it is tried (C7).
func TestProbingWithNothingLeft(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 3}, "a", "b", "c")
	for _, id := range []string{"a", "b", "c"} {
		l.fail(id, eventlog.Transient, "http.connect")
	}
	l.check(decide.ReasonProbing, false, []string{"the next is due at "}, nil)
	for _, id := range []eventlog.MessageID{"a", "b", "c"} {
		l.do(decide.SkipEvent{Topic: "in", MessageID: id})
	}
	l.check(decide.ReasonIdle, false, []string{
		"1 failure so far; nothing is left to try it with, so that the next event tries it, and its success lets all go on."},
		[]string{"pawl resume shop"})
}

// While no run begins before the outcome of a call is known, no time is named at which a target is tried, and a resume
// is offered once (C3, C7).
func TestProbingThatWaitsForAnOutcome(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 6}, "a", "b", "c", "d", "e", "f")
	var calls []eventlog.MutationID
	for _, id := range []string{"a", "b", "c"} {
		calls = append(calls, l.call(id, true))
	}
	for _, id := range []string{"d", "e", "f"} {
		l.fail(id, eventlog.Transient, "http.connect")
	}
	l.check("", false, []string{"the next is due at "}, []string{"pawl resume shop"})
	for _, m := range calls {
		l.uncertain(m)
	}
	l.check(decide.ReasonUncertain, true, []string{"the next waits for the outcome of one of the calls above"},
		[]string{"pawl mutations show R1", "pawl resume shop"})
	for _, part := range l.why().Parts {
		if strings.Contains(part.Message, "its target is to blame") && slices.Contains(part.Commands, "pawl resume shop") {
			t.Errorf("a resume is offered again: %+v", part)
		}
	}
}
