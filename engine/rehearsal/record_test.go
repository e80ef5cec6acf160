package rehearsal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/engine/rehearsal"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// keeper reads twice, and names what it was shown.
const keeper = `export default Pawl.workflow({ name: "keeper", topics: { placed: {}, other: {} }, consumers: {
  keep: Pawl.consumer({
    subscribe: ["placed"],
    async prepare(ctx, state) {
      const [order, behind] = await ctx.peek("placed", { limit: 2 });
      if (!order) return { reservations: [], data: null };
      const first = await ctx.shop.get({ id: "c" });
      const second = await ctx.shop.get({ id: "c" });
      const wide = await ctx.shop.get({ id: "c", all: true });
      return { reservations: [{ topic: "placed", ids: [order.id] }],
        data: { payload: order.payload, behind: behind.id, reads: [first.n, second.n, wide.n], state } };
    },
    async mutate(ctx, { data }) { await ctx.mail.send(data); },
    async next(ctx, { data }, outcome) { ctx.log(JSON.stringify(outcome.result)); },
  }),
} });`

const keeperTools = "tools: { shop.get: get, mail.send: mutate }\n"

// kept is a run of keeper as it was recorded.
func kept() rehearsal.Recorded {
	odd := json.RawMessage(`{"z":1,"a":"# \"x\"\n\u0000\u2028 <é😀> {{}}: - ~",` +
		`"n":[1.5e-7,123456789012345678901234567890,-0,0.1,1e21],` +
		`"":null,"1":true,"__proto__":{"k":"yes"},"on":"2026-03-01","long":"1234567890123456789012345"}`)
	event := func(id string) sandbox.Event {
		return sandbox.Event{MessageID: id, Topic: "placed", Title: id, Payload: odd, Attempt: 2}
	}
	read := func(params, answer string) recording.Read {
		return recording.Read{Connector: "shop", Operation: "get", Params: json.RawMessage(params),
			Answer: json.RawMessage(answer)}
	}
	return rehearsal.Recorded{
		Recording: recording.Recording{Run: "R1", Version: "1.0", Handler: "keep",
			At: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), State: json.RawMessage(`{"n":4}`),
			Pending: map[string][]sandbox.Event{"placed": {event("a: b"), event("'# c")}, "other": nil},
			Reads: []recording.Read{read(`{"id":"c"}`, `{"n":1}`), read(`{"id":"c","all":true}`, `{"n":3}`),
				read(`{"id":"c"}`, `{"n":2}`)}},
		Change: &rehearsal.Change{Operation: "mail.send", Status: eventlog.MutationStatusApplied,
			Result: json.RawMessage(`{"id":"m-1"}`), Left: true,
			Params: json.RawMessage(`{"payload":` + string(odd) + `,"behind":"'# c","reads":[1,2,3],"state":{"n":4}}`)},
	}
}

// runWritten runs the case of a recorded run, of the script.
func runWritten(t *testing.T, script string, r rehearsal.Recorded) (said, text string) {
	t.Helper()
	text, err := rehearsal.WriteYAML([]rehearsal.Recorded{r})
	if err != nil {
		t.Fatal(err)
	}
	said, _ = runSuite(t, sheets(t), script, func(scripts sandbox.Executor) (rehearsal.Suite, error) {
		return rehearsal.ReadYAML(t.Context(), scripts, sandbox.Source{Filename: "keeper.test.yaml",
			Code: keeperTools + text}, nil)
	})
	return said, text
}

// A recorded run is a case that holds for the script which ran then, whatever its values are.
func TestRecordedRunIsWritten(t *testing.T) {
	t.Parallel()
	said, text := runWritten(t, keeper, kept())
	if said != "" {
		t.Errorf("%s\n%s", said, text)
	}
	if !strings.Contains(text, "was in attempt 2") {
		t.Errorf("what cannot be given again is not named:\n%s", text)
	}
	said, _ = runWritten(t, strings.Replace(keeper, "second.n, wide.n", "wide.n, second.n", 1), kept())
	want := "run R1 of keep:25: mail.send was called with other parameters [reads[1]: 3, not 2] [reads[2]: 2, not 3]"
	if said != want {
		t.Errorf("another script:\n%s", said)
	}
}

// A run that failed says what its author has to write; a change that was refused is refused again, once.
func TestRecordedFailureIsWritten(t *testing.T) {
	t.Parallel()
	failed := kept()
	failed.Change, failed.Failure = nil, &eventlog.Failure{Class: eventlog.Logic, Code: "script.threw",
		Message: "x is\n- push: not a step"}
	if said, text := runWritten(t, keeper, failed); !strings.Contains(said, "mail.send was called") ||
		!strings.Contains(text, "    # The run failed (script.threw): x is - push: not a step\n") {
		t.Errorf("%s\n%s", said, text)
	}
	refused := kept()
	refused.Change.Status, refused.Change.Result = eventlog.MutationStatusFailed, nil
	refused.Change.Failure = &eventlog.Failure{Class: eventlog.Transient, Code: "busy", Message: "try later"}
	if said, text := runWritten(t, keeper, refused); said != "" {
		t.Errorf("%s\n%s", said, text)
	}
}
