package engine_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// keepRunLog keeps what the engine writes into the run log, and returns how to read it.
func keepRunLog(b *enginetest.Harness) func() []sandbox.LogLine {
	var mu sync.Mutex
	var said []sandbox.LogLine
	b.Config.RunLog = func(_ eventlog.WorkflowName, _ eventlog.RunID, _ eventlog.Handler, lines []sandbox.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, lines...)
	}
	return func() []sandbox.LogLine {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(said)
	}
}

// What prepare returned and was ignored stands in the log of its run, where its author looks; the log
// tells the script's time, also while the engine's clock stands still.
func TestIgnoredPartsAreLogged(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	logged := keepRunLog(b)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	b.Config.Clock = clock.NewManual(now)
	e := b.Start()
	e.MustDeploy(`export default Keep.workflow({ name: "w", topics: { t: {} }, producers: {}, consumers: {
  c: Keep.consumer({ subscribe: ["t"],
    async prepare(ctx) { ctx.log("looking"); return { reservations: [], data: null, wakeAt: 1767261600500, ui: { title: 7 } }; } }),
} });`)
	e.Rest("w")
	said := logged()
	var texts []string
	for _, l := range said {
		if texts = append(texts, l.Level+" "+l.Text); l.At.Before(now) || l.At.Sub(now).Hours() > 1 {
			t.Errorf("said at %s, the clock is at %s", l.At, now)
		}
	}
	if len(texts) != 3 || texts[0] != "info looking" || !strings.HasPrefix(texts[1], "warn prepare: ui.title") ||
		!strings.Contains(texts[2], `wakeAt 1767261600500 is no ISO 8601`) {
		t.Errorf("the log: %q", texts)
	}
}

// What a failed mutate was given is logged behind its own lines, though prepare has called it in the same exchange.
func TestInputsOfAFailedMutateAreLoggedLast(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	logged := keepRunLog(b)
	e := b.Start()
	e.MustDeploy(`export default Pawl.workflow({ name: "w", topics: { t: {} }, consumers: { c: { subscribe: ["t"],
    async prepare(ctx) {
      const ids = (await ctx.peek("t")).map((e) => e.id);
      return { reservations: [{ topic: "t", ids }] };
    },
    async mutate(ctx) { ctx.log("mutate"); throw new Error("no"); } } } });`)
	e.MustPush("w", "t", "a")
	e.Rest("w")
	said := logged()
	if len(said) != 2 || said[0].Text != "mutate" || said[1].Level != "inputs" || said[1].At.Before(said[0].At) {
		t.Errorf("the log: %+v", said)
	}
}

// A script's inputs are the engine's: the id that registerInput returns links what it publishes to
// the input that the log knows (Causes).
func TestCauses_ARegisteredInputIsLinked(t *testing.T) {
	t.Parallel()
	for _, parts := range [][3]string{{"mail", "email", "m1"}, {"ab", "c", "d"}, {"a", "bc", "d"}, {"ä", "", "\u2028 "}} {
		if in, out := sandbox.InputID(parts[0], parts[1], parts[2]),
			eventlog.NewInputID(parts[0], parts[1], parts[2]); in != string(out) {
			t.Errorf("%q is %s to scripts and %s to the log", parts, in, out)
		}
	}
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(`export default Keep.workflow({ name: "w", topics: { t: {}, u: {} },
  producers: { poll: { interval: "1h", async handler(ctx, state) {
    const inputId = ctx.registerInput({ source: "mail", type: "email", id: "m1", title: "Mail 1" });
    await ctx.publish("t", { messageId: "a", title: "A", inputId });
    await ctx.publish("t", { messageId: "b", title: "B", inputId });
    return inputId;
  } } },
  consumers: { c: Keep.consumer({ subscribe: ["t"],
    async prepare(ctx) {
      const events = await ctx.peek("t");
      return { reservations: [{ topic: "t", ids: events.map((e) => e.id) }], data: events.length };
    },
    async next(ctx, { data }) { if (data) await ctx.publish("u", { messageId: "sum", title: "Sum" }); } }),
  } });`)
	e.Rest("w")
	s := b.FullFold("w")
	id := eventlog.NewInputID("mail", "email", "m1")
	inputs := 0
	for got, in := range s.Inputs() {
		if inputs++; got != id || in.Title != "Mail 1" {
			t.Errorf("input %s: %+v", got, in)
		}
	}
	for _, ref := range []eventlog.EventRef{{Topic: "t", MessageID: "a"}, {Topic: "t", MessageID: "b"},
		{Topic: "u", MessageID: "sum"}} {
		event := s.Event(ref.Topic, ref.MessageID)
		if event == nil || len(event.CausedBy) != 1 || event.CausedBy[0] != id {
			t.Errorf("%v: %+v", ref, event)
		}
	}
	if inputs != 1 {
		t.Errorf("%d inputs, want 1", inputs)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("w")
}
