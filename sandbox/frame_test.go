package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox/confine"
)

// crossed sends frames and reads the one that is there.
func crossed(t *testing.T, pack func(*packer)) (frameKind, *unpacker) {
	t.Helper()
	var pipe bytes.Buffer
	p := newPacker()
	pack(p)
	if err := p.flush(&pipe); err != nil {
		t.Fatal(err)
	}
	r := newFrameReader(&pipe)
	kind, err := r.next(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	return kind, &r.unpacker
}

// TestFramesCross: what is packed is what is unpacked, nil and empty told apart where that matters.
func TestFramesCross(t *testing.T) {
	t.Parallel()
	call := invocationOf(Mutate, "x")
	call.Source, call.Workflow, call.State, call.ReadsByID, call.Seed = Source{}, "w", json.RawMessage{}, true, 1<<63+5
	call.Prepared, call.Limits = nil, DefaultLimits
	kind, u := crossed(t, func(p *packer) {
		packCall(p, 9, scriptRef{id: 4, source: &Source{"a.ts", "code"}, forget: []uint64{1, 2}}, &call)
	})
	serial, ref, got := unpackCall(u)
	if err := u.done(); err != nil || kind != frameCall || serial != 9 || !reflect.DeepEqual(got, call) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, call)
	}
	if ref.id != 4 || *ref.source != (Source{"a.ts", "code"}) || len(ref.forget) != 2 {
		t.Errorf("%+v", ref)
	}

	result := Result{Value: json.RawMessage("null"), Call: &MutationCall{"a", "b", json.RawMessage("{}"), 7}, Reads: 3,
		Publishes: []Publish{{Topics: []string{"t"}, MessageID: "m", Title: "ü", Payload: json.RawMessage("1"), InputID: "i"}},
		Inputs:    []Input{{"1", "2", "3", "4", "5"}}, Logs: []LogLine{{At: time.Unix(5, 6).UTC(), Level: "info", Text: "x"}}}
	fault := &Error{Fault: FaultRead, Code: "c", Message: "m", Line: 1, Column: 2, Stack: "s", Cause: &remoteError{read: 3, text: "m"}}
	_, u = crossed(t, func(p *packer) { packResult(p, 9, &result, fault) })
	serial, gotResult, gotFault := unpackResult(u, &call)
	if err := u.done(); err != nil || serial != 9 || !reflect.DeepEqual(gotResult, result) || !reflect.DeepEqual(gotFault, fault) {
		t.Errorf("%v\n%+v\n%+v", err, gotResult, gotFault)
	}

	r := ready{version: 1, report: confine.Report{Level: confine.Partial, Missing: []string{"a"}}, race: true, baseline: 5}
	_, u = crossed(t, r.pack)
	if got := unpackReady(u); u.done() != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v", got)
	}
}

// TestMalformedFrames are errors, whatever they claim about themselves.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	frame := func(body ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	for name, raw := range map[string][]byte{
		"too long":       binary.LittleEndian.AppendUint32(nil, 1<<30),
		"no kind":        frame(),
		"cut kind":       frame(0x80),
		"kind too large": frame(bytes.Repeat([]byte{0xff}, 11)...),
	} {
		if kind, err := newFrameReader(bytes.NewReader(raw)).next(1 << 20); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %d, %v", name, kind, err)
		}
	}
	for name, raw := range map[string][]byte{"empty": nil, "cut head": {1}, "cut body": frame(18, 1)[:5]} {
		_, err := newFrameReader(bytes.NewReader(raw)).next(1 << 20)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	call := invocationOf(Next, "")
	call.Limits = DefaultLimits
	// The kind, the number of the call, no fault, no value; then lists of publishes, inputs and logs.
	for name, body := range map[string][]byte{
		"cut short":      {36, 2},
		"no flag":        {36, 2, 2},
		"huge list":      {36, 2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"endless list":   {36, 2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"huge text":      {36, 2, 1, 0xff, 0xff, 0xff, 0xff, 0x07},
		"huge value":     {36, 2, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x07, 'x'},
		"many items":     append([]byte{36, 2, 0, 0, 0xff, 0xff, 0x1f}, bytes.Repeat([]byte{0x01}, 1<<19)...),
		"more than that": {36, 2, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		r := newFrameReader(bytes.NewReader(frame(body...)))
		if _, err := r.next(1 << 20); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		unpackResult(&r.unpacker, &call)
		if err := r.done(); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzResultFrame: no frame of a worker makes the engine panic or allocate beyond the frame.
func FuzzResultFrame(f *testing.F) {
	p := newPacker()
	packResult(p, 1, &Result{Value: json.RawMessage("1"), Publishes: []Publish{{Topics: []string{"t"}}}}, nil)
	f.Add(p.buf[4:])
	f.Fuzz(func(t *testing.T, body []byte) {
		var u unpacker
		u.reset(body)
		u.num()
		call := invocationOf(Next, "")
		call.Limits = DefaultLimits
		_, result, failed := unpackResult(&u, &call)
		if u.done() == nil {
			_ = recheck(&call, &result, failed)
		}
	})
}

// TestRecheck: what no script can make a worker answer is refused by the engine too.
func TestRecheck(t *testing.T) {
	t.Parallel()
	event := func(change func(*Publish)) Result {
		p := Publish{Topics: []string{"t.a"}, MessageID: "m", Title: "t", Payload: json.RawMessage("1")}
		change(&p)
		return Result{Publishes: []Publish{p}}
	}
	send := func(connector, operation, params string) Result {
		return Result{Call: &MutationCall{Connector: connector, Operation: operation, Params: json.RawMessage(params)}}
	}
	oversize := func(operation string, bytes int) Result {
		return Result{Call: &MutationCall{Connector: "mail", Operation: operation, Oversize: bytes}}
	}
	over := limitFault("limit.result", "too much")
	for name, c := range map[string]struct {
		phase  Phase
		result Result
		failed *Error
	}{
		"value in mutate":       {Mutate, Result{Value: json.RawMessage("1")}, nil},
		"value is no JSON":      {Prepare, Result{Value: json.RawMessage("{")}, nil},
		"state too large":       {Next, Result{Value: json.RawMessage(`"` + strings.Repeat("x", 300<<10) + `"`)}, nil},
		"call in prepare":       {Prepare, send("mail", "send", "{}"), nil},
		"call of a read":        {Mutate, send("mail", "get", "{}"), nil},
		"call of nothing":       {Mutate, send("bank", "pay", "{}"), nil},
		"params no object":      {Mutate, send("mail", "send", "[]"), nil},
		"params no JSON":        {Mutate, send("mail", "send", "{"), nil},
		"params missing":        {Mutate, send("mail", "send", ""), nil},
		"publish in prepare":    {Prepare, event(func(*Publish) {}), nil},
		"publish elsewhere":     {Next, event(func(p *Publish) { p.Topics = []string{"other"} }), nil},
		"publish nowhere":       {Next, event(func(p *Publish) { p.Topics = nil }), nil},
		"publish no id":         {Next, event(func(p *Publish) { p.MessageID = "" }), nil},
		"publish bad id":        {Next, event(func(p *Publish) { p.MessageID = "a\x00" }), nil},
		"publish no title":      {Next, event(func(p *Publish) { p.Title = " " }), nil},
		"publish no JSON":       {Next, event(func(p *Publish) { p.Payload = nil }), nil},
		"publish an input":      {Next, event(func(p *Publish) { p.InputID = "i" }), nil},
		"publish too much":      {Next, event(func(p *Publish) { p.Payload = json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`) }), nil},
		"input in next":         {Next, Result{Inputs: []Input{{ID: InputID("a", "b", "c"), Source: "a", Type: "b", ExtID: "c"}}}, nil},
		"input with a wrong id": {Producer, Result{Inputs: []Input{{ID: "x", Source: "a", Type: "b", ExtID: "c"}}}, nil},
		"log too long":          {Next, Result{Logs: []LogLine{{Text: strings.Repeat("x", 100<<10)}}}, nil},
		"failure with a call":   {Mutate, send("mail", "send", "{}"), scriptFault("x", "y")},
		"refused, no failure":   {Mutate, oversize("send", 2<<20), nil},
		"refused, within limit": {Mutate, oversize("send", 1<<20), over},
		"refused in prepare":    {Prepare, oversize("send", 2<<20), over},
		"refused, a read":       {Mutate, oversize("get", 2<<20), over},
		"refused otherwise":     {Mutate, oversize("send", 2<<20), limitFault("limit.wall", "too long")},
		"refused by nobody":     {Mutate, oversize("send", 2<<20), &Error{Fault: FaultRead, Code: "limit.result"}},
		"refused with params":   {Mutate, Result{Call: &MutationCall{Connector: "mail", Operation: "send", Oversize: 2 << 20, Params: json.RawMessage("{}")}}, over},
		"sent and oversize":     {Mutate, Result{Call: &MutationCall{Connector: "mail", Operation: "send", Oversize: 2 << 20, Params: json.RawMessage("{}")}}, nil},
		"unknown fault":         {Mutate, Result{}, &Error{Fault: "nobody"}},
	} {
		call := invocationOf(c.phase, "")
		call.Limits = DefaultLimits
		if err := recheck(&call, &c.result, c.failed); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	call := invocationOf(Next, "")
	call.Limits = DefaultLimits
	good := event(func(*Publish) {})
	if err := recheck(&call, &good, nil); err != nil {
		t.Error(err)
	}
	call = invocationOf(Mutate, "")
	call.Limits = DefaultLimits
	good = oversize("send", 2<<20)
	if err := recheck(&call, &good, over); err != nil {
		t.Error(err)
	}
}
