package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// TestHeadline: what needs a person is said before all else, with the commands that belong to it.
func TestHeadline(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, w Why, begins string, commands ...string) {
		t.Helper()
		message, tried := w.Headline()
		if !strings.HasPrefix(message, begins) || !slices.Equal(tried, commands) {
			t.Errorf("%q: %q", message, tried)
		}
		if got := len(w.First(PartHeld, PartUnread).Commands); got != len(w.Commands) {
			t.Errorf("another order has %d commands, of %d", got, len(w.Commands))
		}
	}
	t.Run("an approval beside events without a consumer", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 2}, "a")
		l.do(decide.SetGrants{Grants: map[string]eventlog.Grant{"m.*": eventlog.GrantAsk}})
		l.call("a", true)
		waiting := *l.state
		waiting.Waiting = append(waiting.Waiting, projections.Waiting{Topic: "out", Events: 3})
		l.state = &waiting
		check(t, l.why(), "Workflow shop has only held events left: 1 of its events waits for a person or a repair. It has "+
			"waited since 2023-11-14T22:13:20Z. Held since 2023-11-14T22:13:20Z for an approval of its call; nothing has left: "+
			`event "a" (“Order a”) of topic in. 3 events wait in topic out`,
			"pawl mutations show R1", "pawl approve R1", "pawl reject R1")
	})
	t.Run("a held event while others move", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 2}, "a", "b")
		l.call("a", true)
		l.fail("b", eventlog.Precondition, "http.404")
		if w := l.why(); !w.Moving || !strings.HasPrefix(w.First(PartHeld).Message, "Held since ") {
			t.Errorf("%+v", w)
		}
		check(t, l.why(), "Workflow shop needs a person to look. Held since ", "pawl jobs show shop in b",
			"pawl resume shop", "pawl redrive shop in b")
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		check(t, begin(t, eventlog.Consumer{Concurrency: 1}).why(), "Workflow shop is idle")
	})
}

// A discarded event is told of first, with its last error.
func TestNameDiscarded(t *testing.T) {
	t.Parallel()
	s := new(projections.State).Hydrate(&projections.Workflow{Name: "shop", Counts: projections.Counts{Discarded: 2,
		DiscardedSince: 1_700_000_000_000_000}})
	w := Workflow(s, decide.Wait{Reason: decide.ReasonIdle}, decide.Present{}, Beside{}).First(PartDiscarded)
	w.nameDiscarded(&w.parts[0], readmodel.Job{Topic: "in", MessageID: "a b", Title: "Order",
		Error: &readmodel.Failure{Message: "no such file."}})
	if !strings.Contains(w.Message, `The oldest is event "a b" (“Order”) of topic in, which failed: “no such file”. `+
		"Workflow shop has only discarded events left") || w.Commands[0] != "pawl jobs show shop in 'a b'" {
		t.Errorf("%s %q", w.Message, w.Commands)
	}
}

// C5: the open outcome of one event's call keeps the others of its consumer from nothing.
func TestTheOtherEventsGoOn(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 2}, "a")
	l.uncertain(l.call("a", true))
	l.check(decide.ReasonReconcile, false, []string{"Nothing of this call is sent again, and the other events go on;"},
		[]string{"pawl mutations show R1"})
}

// A hook that refuses everything is told of, with what ends that.
func TestRefusingHooks(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 1})
	w := l.why()
	w.Hooks([]RefusingHook{{Name: "github", Because: "it is not granted", Grant: "pawl grants shop secret.GITHUB=allow"},
		{Name: "shop", Because: "it is not configured", Remedy: "start again"}})
	if !strings.Contains(w.Message, "Workflow shop is idle") ||
		!strings.Contains(w.Message, "Hook github refuses every request (503): it is not granted. ") ||
		!strings.HasSuffix(w.Message, "Hook shop refuses every request (503): it is not configured; start again.") ||
		!slices.Equal(w.Commands, []string{"pawl grants shop secret.GITHUB=allow", "pawl hooks list"}) {
		t.Errorf("%s %q", w.Message, w.Commands)
	}
}

// What a consumer has looked at and left is named, with the oldest of each topic; what it looks at again is not.
func TestEventsThatNoRunReserves(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{})
	look := func(wake eventlog.Instant) {
		run := l.state.Current
		prepared := decide.Prepared{Raw: []byte(`{"reservations":[]}`), WakeAt: wake}
		l.do(decide.FinishPrepare{Run: run, Seen: l.state, Prepared: prepared, Next: &decide.CommitRun{Run: run}})
	}
	look(0)
	l.push("a", "b")
	look(0)
	w := l.why()
	if !strings.Contains(w.Message, "2 events of topic in wait: prepare of send looked at 2023-11-14T22:13:20") ||
		!strings.Contains(w.Message, "and reserved none, the oldest is \"a\" (“Order a”).") ||
		!slices.Contains(w.Commands, "pawl events list --workflow shop --status pending") {
		t.Errorf("%s %v", w.Message, w.Commands)
	}
	l.push("c")
	look(l.now.Add(time.Hour))
	if w := l.why(); strings.Contains(w.Message, "reserved none") {
		t.Errorf("it has asked to look again: %s", w.Message)
	}
}

// What a script says is told in one line, no longer than a person reads, and cannot end its own quotes.
func TestQuotedIsClipped(t *testing.T) {
	t.Parallel()
	if got := quoted("no ” file.\n“run this”"); got != `“no " file. "run this"”` {
		t.Error(got)
	}
	if got := quoted("x" + strings.Repeat("E", 9000)); len(got) > maxCause+len("“”") || !strings.HasSuffix(got, "E…”") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
