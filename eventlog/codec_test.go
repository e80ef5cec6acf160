package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// changed encodes a sample after a change to its stored form.
func changed(t testing.TB, change func(*wire)) []byte {
	t.Helper()
	body, err := msgpack.Marshal(&RunCommitted{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	w := wire{ID: "id", Workflow: "w", Revision: 1, Prev: make([]byte, 32), At: 1, Actor: System, Kind: "run.committed",
		Facts: []wireFact{{Type: "run.committed", Version: 1, Data: body}}}
	change(&w)
	b, err := msgpack.Marshal(&w)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func raw(t testing.TB, v any) msgpack.RawMessage {
	t.Helper()
	b, err := msgpack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeIsStrict(t *testing.T) {
	if _, err := Decode(changed(t, func(*wire) {})); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	for name, b := range map[string][]byte{
		"empty":           {},
		"huge array":      {0x81, 0xa5, 'f', 'a', 'c', 't', 's', 0xdd, 0xff, 0xff, 0xff, 0xff},
		"not msgpack":     []byte("{}"),
		"trailing byte":   append(changed(t, func(*wire) {}), 0),
		"unknown type":    changed(t, func(w *wire) { w.Facts[0].Type = "run.imagined" }),
		"newer version":   changed(t, func(w *wire) { w.Facts[0].Version = 2 }),
		"version zero":    changed(t, func(w *wire) { w.Facts[0].Version = 0 }),
		"unknown field":   changed(t, func(w *wire) { w.Facts[0].Data = raw(t, map[string]any{"run": "r", "new": 1}) }),
		"wrong kind":      changed(t, func(w *wire) { w.Facts[0].Data = raw(t, map[string]any{"run": []int{1}}) }),
		"trailing fact":   changed(t, func(w *wire) { w.Facts[0].Data = append(w.Facts[0].Data, 0xc0) }),
		"short hash":      changed(t, func(w *wire) { w.Prev = w.Prev[:31] }),
		"unknown key":     raw(t, map[string]any{"id": "x", "surprise": true}),
		"huge string":     {0x81, 0xa2, 'i', 'd', 0xdb, 0xff, 0xff, 0xff, 0xff},
		"huge binary":     {0x81, 0xa4, 'p', 'r', 'e', 'v', 0xc6, 0xff, 0xff, 0xff, 0xff},
		"deep nesting":    slices.Repeat([]byte{0x91}, 100_000),
		"fact is no list": raw(t, map[string]any{"facts": []any{map[string]any{"a": 1}}}),
	} {
		if tr, err := Decode(b); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %+v, %v; want ErrUnreadable", name, tr, err)
		}
	}
}

// TestDecodeTruncated: a record cut off anywhere is an error, never a panic and never a shorter
// transition.
func TestDecodeTruncated(t *testing.T) {
	for _, typ := range FactTypes() {
		stored, err := Encode(sample(t, typ))
		if err != nil {
			t.Fatal(err)
		}
		for n := range stored {
			if _, err := Decode(stored[:n]); !errors.Is(err, ErrUnreadable) {
				t.Fatalf("%s cut to %d of %d bytes: %v, want ErrUnreadable", typ, n, len(stored), err)
			}
		}
	}
}

func TestEncodeRefusesUnknownFact(t *testing.T) {
	if _, err := Encode(Transition{Workflow: "w", Facts: []Fact{strange{}}}); err == nil {
		t.Error("a fact that is not in the table was encoded")
	}
}

type strange struct{}

func (strange) FactType() FactType { return "strange.fact" }

// TestTable: every type's value says the type it is listed under, in two tokens.
func TestTable(t *testing.T) {
	for typ, entry := range facts {
		if got := entry.make().FactType(); got != typ {
			t.Errorf("%s makes a %s", typ, got)
		}
		if NewFact(typ) == nil || entry.version < 1 {
			t.Errorf("%s cannot be made or has version %d", typ, entry.version)
		}
	}
	if NewFact("run.imagined") != nil {
		t.Error("made a fact of an unknown type")
	}
}

func TestEntryFollowsItsHead(t *testing.T) {
	head := Head{Revision: 4, Seq: 9, Hash: HashOf([]byte("x"))}
	e, err := NewEntry(sample(t, "run.committed"), head)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Decode(e.Stored)
	if err != nil || tr.Revision != 5 || tr.Prev != head.Hash {
		t.Errorf("revision %d after %s, %v", tr.Revision, tr.Prev, err)
	}
	if next := e.HeadAt(12); next != (Head{5, 12, HashOf(e.Stored)}) || e.Hash() != next.Hash {
		t.Errorf("head %+v", next)
	}
}

// FuzzDecode: whatever the bytes, an error or a transition that is written as it was read.
func FuzzDecode(f *testing.F) {
	f.Add(changed(f, func(*wire) {}))
	f.Add(changed(f, func(w *wire) { w.Facts[0].Data = raw(f, map[string]any{"run": 1}) }))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) {
				t.Errorf("error without ErrUnreadable: %v", err)
			}
			return
		}
		again, err := Encode(tr)
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("encoded, but cannot be decoded: %v", err)
		}
	})
}

// TestEncodeWritesTheWire: the envelope that is written field by field is the one that is read.
func TestEncodeWritesTheWire(t *testing.T) {
	all := busy()
	all["bare"] = Transition{Facts: []Fact{}}
	for name, tr := range all {
		w := wire{tr.ID, tr.Workflow, tr.Revision, tr.Prev[:], tr.At, tr.Actor, tr.Cause, tr.Kind,
			make([]wireFact, len(tr.Facts))}
		for i, f := range tr.Facts {
			body, err := msgpack.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			w.Facts[i] = wireFact{Type: f.FactType(), Version: versionOf(f), Data: body}
		}
		want, err := msgpack.Marshal(&w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(tr); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stored as\n%x (%v), want\n%x", name, got, err, want)
		}
	}
}

// What facts share is written down once for each of them: encoding is given up before that fills the memory.
func TestEncodeGivesUpInTime(t *testing.T) {
	payload := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	tr := Transition{ID: "id", Workflow: "w", Kind: "run.committed", Actor: System}
	for i := range 1000 {
		tr.Facts = append(tr.Facts, &EventPublished{Topic: Topic(fmt.Sprint("t", i)), MessageID: "m", Title: "t",
			Payload: payload})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Encode(tr)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrTooLarge) || took > 256<<20 {
		t.Errorf("%v, after %d MiB", err, took>>20)
	}
}
