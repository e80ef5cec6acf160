package value

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
)

// jsonPair is a runtime with the two ways from text to a value.
type jsonPair struct {
	rt     *goja.Runtime
	values Parser
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
	p.values = NewParser(p.rt)
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

func (p *jsonPair) describe(t testing.TB, v goja.Value) string {
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
	own, errOwn := p.values.Parse(text)
	theirs, errTheirs := p.parse(goja.Undefined(), p.rt.ToValue(text))
	// The interpreter takes some texts that are no JSON, and recurses without a limit.
	if !json.Valid([]byte(text)) {
		if errOwn == nil {
			t.Fatalf("%q is taken for JSON: %s", sandbox.Clip(text, 200), p.describe(t, own))
		}
		return
	}
	if errOwn != nil {
		t.Fatalf("%q: %v", sandbox.Clip(text, 200), errOwn)
	}
	if errTheirs != nil {
		if !strings.Contains(errTheirs.Error(), "cannot unmarshal number") {
			t.Fatalf("%q: %v", sandbox.Clip(text, 200), errTheirs)
		}
		return // too large for a number: Infinity
	}
	if a, b := p.describe(t, own), p.describe(t, theirs); a != b {
		t.Fatalf("%q:\n got %s\nwant %s", sandbox.Clip(text, 200), a, b)
	}
}

// orderPayload is an event as scripts get them.
const orderPayload = `{"orderId":"A-1042","customer":{"id":"c-77","name":"Ada ` +
	`Example","email":"ada@example.com"},"currency":"EUR",` +
	`"lines":[{"sku":"TEA-1","name":"Green tea, loose","quantity":2,"unitPrice":12.5},{"sku":"POT-3","name":"Cast ` +
	`iron pot","quantity":1,"unitPrice":59.9},` +
	`{"sku":"CUP-8","name":"Cup, ` +
	`glazed","quantity":4,"unitPrice":7.25}],"shipping":{"method":"parcel","cost":4.9,"address":{"street":"Main ` +
	`Street 5","city":"Berlin","zip":"10115"}},` +
	`"createdAt":"2026-01-02T03:04:05Z","express":false}`

var jsonTexts = []string{
	`null`, `true`, `false`, ` {} `, "\t[\r\n]\n", `""`, `{"":""}`, `[[],{},[[]],{"a":{}}]`, orderPayload,
	// numbers
	`0`, `-0`, `-0.0`, `0.0`, `-0e5`, `1`, `-1`, `12`, `10`, `1e2`, `1E+2`, `1e-2`, `1.5`, `-1.5e-7`, `123456789012345`,
	`1234567890123456`,
	`9007199254740991`, `9007199254740992`, `9007199254740993`, `-9007199254740993`, `18446744073709551616`, `0.1`,
	`1e21`, `1e-999`, `1e308`, `5e-324`,
	// strings
	`"a"`, `"0123456789abcdef"`, `"0123456789abcdefg"`, `"é"`, `"日本語 with ASCII, longer than sixteen bytes"`, `"😀"`,
	`["plain and long enough to be shared", "é"]`,
	`"\u0041\n\t\"\\\/\b\f\r"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00x"`, `"\ud800\ud800"`, `"\u0000"`,
	"\"\u2028\u2029\"", "\"\ufeff\"", "\"\ufffd\"", "\"\xff\xfe\"", "\"a\xc3\"", "{\"\xff\":1}",
	// names
	`{"a":1,"b":2,"a":3}`, `{"b":1,"a":{"b":1},"b":{"c":2},"a":3}`, `{"__proto__":1}`,
	`{"__proto__":{"x":1},"__proto__":{"y":2}}`, `{"constructor":1,"toString":2,"hasOwnProperty":null,"then":1}`,
	`{"2":1,"b":2,"1":3,"a":4,"0":5,"-1":6,"01":7,"4294967294":8,"4294967295":9}`, `{"é":1,"\u00e9":2}`, `{"length":1}`,
	`{"a b":1," ":2}`, `{"\u0061":1,"a":2}`,
	// no JSON
	``, ` `, `nul`, `nulll`, `tru`, `truefalse`, `+1`, `01`, `-`, `-a`, `1.`, `.5`, `1e`, `1e+`, `0x10`, `1 2`, `NaN`,
	`Infinity`, `undefined`, `'a'`, `"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u12`, "\"\n\"", "\"\x00\"", "\"a\x1fb\"",
	`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`,
	`{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `[}`, `{]`, "\ufeff1", "\u00a01", "1\v", `/**/1`,
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
	v, err := p.values.Parse(`[1e999,-1e999]`)
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
	if _, err := p.values.Parse(nested(maxNesting)); err != nil {
		t.Error(err)
	}
	if _, err := p.values.Parse(nested(maxNesting + 2)); err == nil {
		t.Error("nesting has no limit")
	}
	if _, err := p.values.Parse("[" + strings.Repeat("[],", 2*maxNesting) + "[]]"); err != nil {
		t.Errorf("what lies side by side is no nesting: %v", err)
	}
}

func BenchmarkValuesOfTheHost(b *testing.B) {
	p := newJSONPair(b)
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.values.Parse(orderPayload); err != nil {
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
