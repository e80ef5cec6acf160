package worker

import (
	"encoding/json"
	"testing"
	"unicode/utf16"

	"github.com/pawl-run/pawl/sandbox"
)

func TestValuesOfTheHostAreMadeWithoutTheScript(t *testing.T) {
	const sabotage = `
		const never = () => { throw new Error("reached") };
		for (const name of ["messageId", "id", "payload", "n", "0", "length", "__proto__"])
			try { Object.defineProperty(Object.prototype, name, { get: never, set: never, configurable: true }) } catch {}
		JSON.parse = Array = Object = String = Number = never;
	`
	r := succeed(t, sandbox.Prepare, sabotage+`const [e] = await ctx.peek("t.a", { limit: 1 }); return [e.messageId, `+
		`e.id, e.payload.n]`)
	if string(r.Value) != `["1","1",1]` {
		t.Errorf("got %s", r.Value)
	}
}

func TestEventsKeepWhatTheirTextsAre(t *testing.T) {
	for name, text := range map[string]string{"ascii": "plain", "long": "longer than sixteen bytes", "accent": "é",
		"mixed": "a longer text with é and 😀 in it", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			call := invocationOf(sandbox.Prepare,
				`const [e] = await ctx.peek("t.a"); return { e, length: e.title.length, same: e.id === e.messageId && `+
					`e.title === e.payload }`)
			payload, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			call.Pending = map[string][]sandbox.Event{"t.a": {{MessageID: "1", Topic: "t.a", Title: text,
				Payload: payload}}}
			r, err := newExecutor(t).Invoke(t.Context(), call, world)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				E      map[string]string
				Length int
				Same   bool
			}
			if err := json.Unmarshal(r.Value, &got); err != nil {
				t.Fatal(err)
			}
			if got.E["title"] != text || got.E["payload"] != text || got.E["id"] != "1" || got.E["topic"] != "t.a" ||
				!got.Same || got.Length != len(utf16.Encode([]rune(text))) {
				t.Errorf("got %s", r.Value)
			}
		})
	}
}

func TestAnEventThatIsNotJSONIsNoFaultOfTheScript(t *testing.T) {
	call := invocationOf(sandbox.Prepare, `try { await ctx.peek("t.a") } catch {}`)
	call.Pending = map[string][]sandbox.Event{"t.a": {{MessageID: "m-1", Topic: "t.a", Title: "T",
		Payload: json.RawMessage(`{"a":`)}}}
	_, err := newExecutor(t).Invoke(t.Context(), call, world)
	wantContains(t, wantFault(t, err, sandbox.FaultInternal, "internal").Message, "m-1", "unexpected end of JSON")
}

// J1: prepare sees which try of an event it is, and what the last failed one has ended with; in this process and in one
// of its own. Data that has a whole event in it does not change with that.
func TestJ1_TriesOfAnEvent(t *testing.T) {
	t.Parallel()
	call := invocationOf(sandbox.Prepare, `return (await ctx.peek("t.a")).map((e) => [e.attempt, e.lastError, `+
		`Object.keys(e).length])`)
	call.Pending = map[string][]sandbox.Event{"t.a": {
		{MessageID: "1", Topic: "t.a", Title: "T"},
		{MessageID: "2", Topic: "t.a", Title: "T", Attempt: 3,
			LastError: &sandbox.EventError{Class: "logic", Code: "script.threw", Message: "Error: \"x\""}},
	}}
	const want = `[[1,null,5],[3,{"class":"logic","code":"script.threw","message":"Error: \"x\""},5]]`
	for name, e := range executors(t) {
		r, err := e.Invoke(t.Context(), call, world)
		if err != nil || string(r.Value) != want {
			t.Errorf("%s: got %s, %v", name, r.Value, err)
		}
	}
}
