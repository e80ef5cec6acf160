package sandbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// jsonPair is a runtime with the two ways from text to a value.
type jsonPair struct {
	rt     *goja.Runtime
	values jsonValues
	parse  goja.Callable // the interpreter's own
	// tell describes a value down to what no text shows: order, sparse arrays, prototypes, flags, -0.
	tell goja.Callable
}

const tellSource = `(function tell(v) {
  const flags = (d) => (d.writable ? "w" : "-") + (d.enumerable ? "e" : "-") + (d.configurable ? "c" : "-");
  switch (typeof v) {
    case "number": return Object.is(v, -0) ? "-0" : "number " + v;
    case "string": return "string " + v.length + " " + [...Array(v.length).keys()].map((i) => v.charCodeAt(i)).join(" ");
    case "object": break;
    default: return typeof v + " " + v;
  }
  if (v === null) return "null";
  if (Array.isArray(v) !== (Object.getPrototypeOf(v) === Array.prototype)) return "an array of a wrong kind";
  if (!Array.isArray(v) && Object.getPrototypeOf(v) !== Object.prototype) return "an object of a wrong kind";
  return Object.prototype.toString.call(v) + Object.isExtensible(v) + Object.getOwnPropertySymbols(v).length +
    "{" + Reflect.ownKeys(v).map((k) => { const d = Object.getOwnPropertyDescriptor(v, k); return tell(k) + flags(d) + ":" + tell(d.value) }).join(",") + "}";
})`

func newJSONPair(t testing.TB) *jsonPair {
	t.Helper()
	p := &jsonPair{rt: goja.New()}
	p.values = newJSONValues(p.rt)
	var ok bool
	if p.parse, ok = goja.AssertFunction(p.rt.Get("JSON").ToObject(p.rt).Get("parse")); !ok {
		t.Fatal("no JSON.parse")
	}
	tell, err := p.rt.RunString(tellSource)
	if err != nil {
		t.Fatal(err)
	}
	p.tell, _ = goja.AssertFunction(tell)
	return p
}

func (p *jsonPair) told(t testing.TB, v goja.Value) string {
	t.Helper()
	text, err := p.tell(goja.Undefined(), v)
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// compare fails the test unless both ways agree about a text.
func (p *jsonPair) compare(t testing.TB, text string) {
	t.Helper()
	own, errOwn := p.values.parse(text)
	theirs, errTheirs := p.parse(goja.Undefined(), p.rt.ToValue(text))
	// The interpreter takes some texts that are no JSON, and recurses without a limit.
	if !json.Valid([]byte(text)) {
		if errOwn == nil {
			t.Fatalf("%q is taken for JSON: %s", clip(text, 200), p.told(t, own))
		}
		return
	}
	if errOwn != nil {
		t.Fatalf("%q: %v", clip(text, 200), errOwn)
	}
	if errTheirs != nil {
		if !strings.Contains(errTheirs.Error(), "cannot unmarshal number") {
			t.Fatalf("%q: %v", clip(text, 200), errTheirs)
		}
		return // too large for a number: Infinity
	}
	if a, b := p.told(t, own), p.told(t, theirs); a != b {
		t.Fatalf("%q:\n got %s\nwant %s", clip(text, 200), a, b)
	}
}

var jsonTexts = []string{
	`null`, `true`, `false`, ` {} `, "\t[\r\n]\n", `""`, `{"":""}`, `[[],{},[[]],{"a":{}}]`, orderPayload,
	// numbers
	`0`, `-0`, `-0.0`, `0.0`, `-0e5`, `1`, `-1`, `12`, `10`, `1e2`, `1E+2`, `1e-2`, `1.5`, `-1.5e-7`, `123456789012345`, `1234567890123456`,
	`9007199254740991`, `9007199254740992`, `9007199254740993`, `-9007199254740993`, `18446744073709551616`, `0.1`, `1e21`, `1e-999`, `1e308`, `5e-324`,
	// strings
	`"a"`, `"0123456789abcdef"`, `"0123456789abcdefg"`, `"é"`, `"日本語 with ASCII, longer than sixteen bytes"`, `"😀"`, `["plain and long enough to be shared", "é"]`,
	`"\u0041\n\t\"\\\/\b\f\r"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00x"`, `"\ud800\ud800"`, `"\u0000"`, "\"\u2028\u2029\"", "\"\ufeff\"", "\"\ufffd\"", "\"\xff\xfe\"", "\"a\xc3\"", "{\"\xff\":1}",
	// names
	`{"a":1,"b":2,"a":3}`, `{"b":1,"a":{"b":1},"b":{"c":2},"a":3}`, `{"__proto__":1}`, `{"__proto__":{"x":1},"__proto__":{"y":2}}`, `{"constructor":1,"toString":2,"hasOwnProperty":null,"then":1}`,
	`{"2":1,"b":2,"1":3,"a":4,"0":5,"-1":6,"01":7,"4294967294":8,"4294967295":9}`, `{"é":1,"\u00e9":2}`, `{"length":1}`, `{"a b":1," ":2}`, `{"\u0061":1,"a":2}`,
	// no JSON
	``, ` `, `nul`, `nulll`, `tru`, `truefalse`, `+1`, `01`, `-`, `-a`, `1.`, `.5`, `1e`, `1e+`, `0x10`, `1 2`, `NaN`, `Infinity`, `undefined`, `'a'`, `"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u12`, "\"\n\"", "\"\x00\"", "\"a\x1fb\"",
	`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `[}`, `{]`, "\ufeff1", "\u00a01", "1\v", `/**/1`,
}

func TestValuesOfTheHostAreThoseOfJSONParse(t *testing.T) {
	p := newJSONPair(t)
	for _, text := range jsonTexts {
		p.compare(t, text)
	}
}

func FuzzValuesOfTheHostAreThoseOfJSONParse(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	p := newJSONPair(f)
	f.Fuzz(func(t *testing.T, text string) { p.compare(t, text) })
}

func TestANumberOfTheHostThatIsTooLargeIsInfinity(t *testing.T) {
	p := newJSONPair(t)
	v, err := p.values.parse(`[1e999,-1e999]`)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.String(); got != "Infinity,-Infinity" {
		t.Errorf("got %s", got)
	}
}

func TestNestingOfTheHostsJSONIsLimited(t *testing.T) {
	p := newJSONPair(t)
	nested := func(n int) string { return strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2) }
	if _, err := p.values.parse(nested(maxNesting)); err != nil {
		t.Error(err)
	}
	if _, err := p.values.parse(nested(maxNesting + 2)); err == nil {
		t.Error("nesting has no limit")
	}
	if _, err := p.values.parse("[" + strings.Repeat("[],", 2*maxNesting) + "[]]"); err != nil {
		t.Errorf("what lies side by side is no nesting: %v", err)
	}
}

func TestValuesOfTheHostAreMadeWithoutTheScript(t *testing.T) {
	const sabotage = `
		const never = () => { throw new Error("reached") };
		for (const name of ["messageId", "id", "payload", "n", "0", "length", "__proto__"])
			try { Object.defineProperty(Object.prototype, name, { get: never, set: never, configurable: true }) } catch {}
		JSON.parse = Array = Object = String = Number = never;
	`
	r := succeed(t, Prepare, sabotage+`const [e] = await ctx.peek("t.a", { limit: 1 }); return [e.messageId, e.id, e.payload.n]`)
	if string(r.Value) != `["1","1",1]` {
		t.Errorf("got %s", r.Value)
	}
}

func TestEventsKeepWhatTheirTextsAre(t *testing.T) {
	for name, text := range map[string]string{"ascii": "plain", "long": "longer than sixteen bytes", "accent": "é", "mixed": "a longer text with é and 😀 in it", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			call := invocationOf(Prepare, `const [e] = await ctx.peek("t.a"); return { e, length: e.title.length, same: e.id === e.messageId && e.title === e.payload }`)
			payload, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			call.Pending = map[string][]Event{"t.a": {{MessageID: "1", Topic: "t.a", Title: text, Payload: payload}}}
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
			if got.E["title"] != text || got.E["payload"] != text || got.E["id"] != "1" || got.E["topic"] != "t.a" || !got.Same || got.Length != utf16Length(text) {
				t.Errorf("got %s", r.Value)
			}
		})
	}
}

func TestAnEventThatIsNotJSONIsNoFaultOfTheScript(t *testing.T) {
	call := invocationOf(Prepare, `try { await ctx.peek("t.a") } catch {}`)
	call.Pending = map[string][]Event{"t.a": {{MessageID: "m-1", Topic: "t.a", Title: "T", Payload: json.RawMessage(`{"a":`)}}}
	_, err := newExecutor(t).Invoke(t.Context(), call, world)
	wantContains(t, wantFault(t, err, FaultInternal, "internal").Message, "m-1", "unexpected end of JSON")
}

func BenchmarkValuesOfTheHost(b *testing.B) {
	p := newJSONPair(b)
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.values.parse(orderPayload); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("JSON.parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.parse(goja.Undefined(), p.rt.ToValue(orderPayload)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
