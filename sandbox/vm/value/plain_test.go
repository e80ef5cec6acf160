package value

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
)

// interpreted is what the interpreter makes of an object; "" where it fails, or JSON loses a part.
func interpreted(t *testing.T, o *goja.Object) string {
	t.Helper()
	raw, err := o.MarshalJSON()
	left := maxLooked
	if err != nil || lost(o, &left) != nil {
		return ""
	}
	return string(raw)
}

// written is the JSON of an object that is plain data; "" for any other.
func written(rt *goja.Runtime, o *goja.Object) string {
	raw, _ := plainJSON(rt, o)
	return string(raw)
}

func object(t *testing.T, source string) (*goja.Runtime, *goja.Object) {
	t.Helper()
	rt := goja.New()
	v, err := rt.RunString("'use strict';(" + source + ")")
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	o, ok := AsObject(v)
	if !ok {
		t.Fatalf("%s is no object", source)
	}
	return rt, o
}

// Plain data is written as the interpreter writes it.
func TestPlainDataIsWrittenAsTheInterpreterWritesIt(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`{}`, `[]`, `{a: []}`, `[{}, [[]], [1, [2]]]`, `{a: undefined}`, `{a: undefined, b: 1, c: undefined, d: null}`,
		`{b: 1, a: 2, 10: 3, 9: 4, "": 5, "01": 6, "-1": 7}`, `{"a\nb": 1, "\"\\": 2, é: 3, "日本": 4}`,
		`{["__proto__"]: 1, constructor: 2, length: 3}`,
		`[0, -0, 1, -1, 1.5, -1.5e-7, 1e21, 1e20, 123456789012345680000, 5e-324, 2 ** 53, 2 ** 31, -(2 ** 63), 0.1 + 0.2]`,
		`["", "a", "\u0000\u0001\b\t\n\v\f\r\u001f\u007f", "\"\\/", "é", "日本語 with ASCII", "😀", "\u2028\u2029\ufeff<>&"]`,
		`["a".repeat(40), "a".repeat(40) + "é", ("x" + "é").slice(0, 1), [true, false, null]]`,
		`Array.from({length: 120}, (_, i) => i)`, `Object.freeze({a: Object.freeze([1])})`, `Object.create(null)`,
		`Object.assign(Object.create({inherited: 1}), {own: 2})`, `new (class A { x = 1; #y = 2; get z() { return 3 } })`,
		`Object.defineProperty({a: 1}, "hidden", {value: 2})`, `Object.defineProperty({a: 1}, "hidden", {value: () => 1})`,
		`{get a() { return 1 }, get b() { return [2] }}`, `{get a() { delete this.b; return 1 }, b: 2, c: 3}`,
		`((o) => [o, o])({shared: 1})`, `{toString() {}, a: 1}.a === 1 ? {a: 1} : {}`, `{[Symbol("s")]: 1, a: 2}`,
		`class extends Array {}.from([1, 2])`, `"a-b".split("-")`, `{then: 1, valueOf: 2}`,
	} {
		rt, o := object(t, source)
		if got, want := written(rt, o), interpreted(t, o); got != want || got == "" {
			t.Errorf("%s: it is %s, want %s", source, got, want)
		}
	}
	p := newJSONPair(t)
	for _, text := range jsonTexts {
		v, err := p.values.Parse(text)
		if o, ok := AsObject(v); err == nil && ok {
			if got, want := written(p.rt, o), interpreted(t, o); got != want && got != "" {
				t.Errorf("%s: it is %s, want %s", text, got, want)
			}
		}
	}
}

// What is no plain data is left to the interpreter: what JSON loses, what says itself what it becomes, and what is
// exotic.
func TestOtherDataIsLeftToTheInterpreter(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		`() => 1`, `Symbol()`, `NaN`, `-Infinity`, `1n`, `new Map()`, `new Set()`, `/x/`, `new Error("x")`, `new Date(0)`,
		`Promise.resolve()`, `{toJSON() { return 1 }}`, `{toJSON: null}`, `new Proxy({}, {})`, `new Proxy([], {})`,
		`new Number(1)`, `new String("x")`, `new Boolean(true)`, `new Uint8Array(2)`, `JSON.rawJSON("1")`, `"\ud800"`,
		`"x\udc00"`, `{"\ud800": 1}`, `[,]`, `[1,,2]`, `[undefined]`, `Object.assign([1], {extra: 1})`,
		`Object.assign([1], {extra: () => 1})`, `Object.assign([, 1], {extra: 1})`, `new Array(1e9)`,
		`{get [Symbol.toStringTag]() { return "Map" }}`, `(function () { return arguments })(1)`,
		`((o) => o.self = o)({})`, `((a) => { a.push(a); return a })([])`, `(function* () {})()`, `[].values()`,
		`((o) => { for (let i = 0; i < 200; i++) o = [o]; return o })(1)`,
	} {
		for _, source := range []string{"[" + part + "]", "{a: 1, part: " + part + "}"} {
			if rt, o := object(t, source); written(rt, o) != "" {
				t.Errorf("%s is taken for plain data", source)
			}
		}
	}
	if rt, o := object(t, `["x".repeat(600000), "x".repeat(600000)]`); written(rt, o) != "" {
		t.Error("more text is written than maxPlain allows")
	}
}

// An interruption while a getter runs ends the call: the interpreter is not asked after it.
func TestAnInterruptionEndsPlainData(t *testing.T) {
	t.Parallel()
	rt, o := object(t, `{get a() { for (;;); }}`)
	rt.Interrupt("over")
	defer func() {
		if recover() == nil {
			t.Error("the interruption is lost")
		}
	}()
	_, _ = plainJSON(rt, o)
}

// A getter that throws is not asked again: it might not throw then.
func TestAnExceptionOfAGetterIsNotLost(t *testing.T) {
	t.Parallel()
	rt, o := object(t, `((n) => ({get a() { if (n++ === 0) throw new Error("the first time"); return n }}))(0)`)
	if raw, err := Encode(rt, o); err == nil || !strings.Contains(err.Error(), "the first time") {
		t.Errorf("it is %s, %v, want the exception", raw, err)
	}
}

// What Encode makes of any value, plain or not, is what the interpreter and the search for lost parts make of it.
func TestEncodeIsWhatTheInterpreterMakes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	leaves := []string{`0`, `-0`, `-1.5e-7`, `1e21`, `2 ** 63`, `""`, `"\u2028\u0001\"é😀"`, `"\ud83d"`, `"\ufffd"`,
		`true`, `null`, `undefined`, `NaN`, `() => 1`, `Symbol()`, `new Map()`, `new Date(0)`, `new Proxy([1], {})`,
		`new Number(1)`, `[, 1]`, `Object.assign([1], {extra: 2})`, `{toJSON(key) { return key }}`,
		`{get a() { throw 1 }}`, `new Array(3)`, `Object.create({toJSON: () => 1})`, `{[Symbol.toStringTag]: "Map"}`,
		`JSON.rawJSON("1e999")`}
	keys := []string{`b`, `a`, `"10"`, `9`, `"01"`, `["__proto__"]`, `"\ud800"`, `"é\n"`, `[Symbol()]`, `length`}
	var source func(depth, of int) string // with some of the first leaves, of which nearly all of the first 12 are plain
	source = func(depth, of int) string {
		parts := make([]string, random.IntN(5))
		switch kind := random.IntN(4); {
		case depth == 0 || kind == 0:
			return leaves[random.IntN(of)]
		case kind == 1:
			for i := range parts {
				parts[i] = source(depth-1, of)
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
		for i := range parts {
			if parts[i] = keys[random.IntN(len(keys))] + ": " + source(depth-1, of); random.IntN(8) == 0 {
				parts[i] = fmt.Sprintf("get g%d() { return (%s) }", i, source(depth-1, of))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for range 1000 {
		text := "[" + source(4, 12+random.IntN(len(leaves)-11)) + "]"
		rt, o := object(t, text)
		got, err := Encode(rt, o)
		if want := interpreted(t, o); string(got) != want || (err != nil) != (want == "") {
			t.Errorf("seed %d: %s: it is %s, %v, want %s", seed, text, got, err, want)
		}
	}
}
