package worker

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

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
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
	call := invocationOf(sandbox.Mutate, "x")
	call.Source, call.Workflow, call.State, call.Seed = sandbox.Source{}, "w", json.RawMessage{}, 1<<63+5
	call.MutateReadsByID = true
	call.Prepared, call.Limits = nil, sandbox.DefaultLimits
	call.Vars = sandbox.Vars{"a": json.RawMessage(`"x"`), "b": json.RawMessage("{}")}
	kind, u := crossed(t, func(p *packer) {
		packCall(p, 9, scriptRef{id: 4, source: &sandbox.Source{Filename: "a.ts", Code: "code"},
			forget: []uint64{1, 2}}, &call)
	})
	serial, ref, got := unpackCall(u)
	if err := u.done(); err != nil || kind != frameCall || serial != 9 || !reflect.DeepEqual(got, call) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, call)
	}
	if ref.id != 4 || *ref.source != (sandbox.Source{Filename: "a.ts", Code: "code"}) || len(ref.forget) != 2 {
		t.Errorf("%+v", ref)
	}

	result := sandbox.Result{Value: json.RawMessage("null"), Call: &sandbox.MutationCall{Connector: "a", Operation: "b",
		Params: json.RawMessage("{}"), Oversize: 7}, Reads: 3,
		Publishes: []sandbox.Publish{{Topics: []string{"t"}, MessageID: "m", Title: "ü", Payload: json.RawMessage("1"),
			InputID: "i"}},
		Inputs: []sandbox.Input{{ID: "1", Source: "2", Type: "3", ExtID: "4", Title: "5"}},
		Logs:   []sandbox.LogLine{{At: time.Unix(5, 6).UTC(), Level: "info", Text: "x", Line: 8}}}
	fault := &sandbox.Error{Fault: sandbox.FaultRead, Code: "c", Message: "m", Line: 1, Column: 2, Stack: "s",
		Cause: &remoteError{read: 3, text: "m"}}
	_, u = crossed(t, func(p *packer) { packResult(p, 9, &result, fault) })
	serial, gotResult, gotFault := unpackResult(u, &call)
	if err := u.done(); err != nil || serial != 9 || !reflect.DeepEqual(gotResult, result) ||
		!reflect.DeepEqual(gotFault, fault) {
		t.Errorf("%v\n%+v\n%+v", err, gotResult, gotFault)
	}

	r := ready{version: 1, report: confine.Report{Level: confine.Partial, Missing: []string{"a"}}, race: true}
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
	call := invocationOf(sandbox.Next, "")
	call.Limits = sandbox.DefaultLimits
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
	packResult(p, 1, &sandbox.Result{Value: json.RawMessage("1"),
		Publishes: []sandbox.Publish{{Topics: []string{"t"}}}}, nil)
	f.Add(p.buf[4:])
	f.Fuzz(func(t *testing.T, body []byte) {
		var u unpacker
		u.reset(body)
		u.num()
		call := invocationOf(sandbox.Next, "")
		call.Limits = sandbox.DefaultLimits
		_, result, failed := unpackResult(&u, &call)
		if u.done() == nil {
			_ = recheck(&call, &result, failed)
		}
	})
}

// TestRecheck: what no script can make a worker answer is refused by the engine too.
func TestRecheck(t *testing.T) {
	t.Parallel()
	event := func(change func(*sandbox.Publish)) sandbox.Result {
		p := sandbox.Publish{Topics: []string{"t.a"}, MessageID: "m", Title: "t", Payload: json.RawMessage("1")}
		change(&p)
		return sandbox.Result{Publishes: []sandbox.Publish{p}}
	}
	send := func(connector, operation, params string) sandbox.Result {
		return sandbox.Result{Call: &sandbox.MutationCall{Connector: connector, Operation: operation,
			Params: json.RawMessage(params)}}
	}
	oversize := func(operation string, bytes int) sandbox.Result {
		return sandbox.Result{Call: &sandbox.MutationCall{Connector: "mail", Operation: operation, Oversize: bytes}}
	}
	over := sandbox.LimitFault("limit.result", "too much")
	for name, c := range map[string]struct {
		phase  sandbox.Phase
		result sandbox.Result
		failed *sandbox.Error
	}{
		"value in mutate":  {sandbox.Mutate, sandbox.Result{Value: json.RawMessage("1")}, nil},
		"value is no JSON": {sandbox.Prepare, sandbox.Result{Value: json.RawMessage("{")}, nil},
		"state too large": {sandbox.Next,
			sandbox.Result{Value: json.RawMessage(`"` + strings.Repeat("x", 300<<10) + `"`)}, nil},
		"call in prepare":    {sandbox.Prepare, send("mail", "send", "{}"), nil},
		"call of a read":     {sandbox.Mutate, send("mail", "get", "{}"), nil},
		"call of nothing":    {sandbox.Mutate, send("bank", "pay", "{}"), nil},
		"params no object":   {sandbox.Mutate, send("mail", "send", "[]"), nil},
		"params no JSON":     {sandbox.Mutate, send("mail", "send", "{"), nil},
		"params missing":     {sandbox.Mutate, send("mail", "send", ""), nil},
		"publish in prepare": {sandbox.Prepare, event(func(*sandbox.Publish) {}), nil},
		"publish elsewhere":  {sandbox.Next, event(func(p *sandbox.Publish) { p.Topics = []string{"other"} }), nil},
		"publish nowhere":    {sandbox.Next, event(func(p *sandbox.Publish) { p.Topics = nil }), nil},
		"publish no id":      {sandbox.Next, event(func(p *sandbox.Publish) { p.MessageID = "" }), nil},
		"publish bad id":     {sandbox.Next, event(func(p *sandbox.Publish) { p.MessageID = "a\x00" }), nil},
		"publish no title":   {sandbox.Next, event(func(p *sandbox.Publish) { p.Title = " " }), nil},
		"publish no JSON":    {sandbox.Next, event(func(p *sandbox.Publish) { p.Payload = nil }), nil},
		"publish an input":   {sandbox.Next, event(func(p *sandbox.Publish) { p.InputID = "i" }), nil},
		"publish too much": {sandbox.Next, event(func(p *sandbox.Publish) {
			p.Payload = json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`)
		}), nil},
		"publish too much to two topics": {sandbox.Next, event(func(p *sandbox.Publish) {
			p.Topics, p.Payload = []string{"t.a", "t.b"}, json.RawMessage(`"`+strings.Repeat("x", 2<<20)+`"`)
		}), nil},
		"input in next": {sandbox.Next,
			sandbox.Result{Inputs: []sandbox.Input{{ID: sandbox.InputID("a", "b", "c"), Source: "a", Type: "b",
				ExtID: "c"}}}, nil},
		"input with a wrong id": {sandbox.Producer,
			sandbox.Result{Inputs: []sandbox.Input{{ID: "x", Source: "a", Type: "b", ExtID: "c"}}}, nil},
		"log too long": {sandbox.Next,
			sandbox.Result{Logs: []sandbox.LogLine{{Text: strings.Repeat("x", 100<<10)}}}, nil},
		"failure with a call":   {sandbox.Mutate, send("mail", "send", "{}"), sandbox.ScriptFault("x", "y")},
		"refused, no failure":   {sandbox.Mutate, oversize("send", 2<<20), nil},
		"refused, within limit": {sandbox.Mutate, oversize("send", 1<<20), over},
		"refused in prepare":    {sandbox.Prepare, oversize("send", 2<<20), over},
		"refused, a read":       {sandbox.Mutate, oversize("get", 2<<20), over},
		"refused otherwise": {sandbox.Mutate, oversize("send", 2<<20), sandbox.LimitFault("limit.wall",
			"too long")},
		"refused without a cause": {sandbox.Mutate, oversize("send", 2<<20), &sandbox.Error{Fault: sandbox.FaultRead,
			Code: "limit.result"}},
		"refused with params": {sandbox.Mutate, sandbox.Result{Call: &sandbox.MutationCall{Connector: "mail",
			Operation: "send", Oversize: 2 << 20, Params: json.RawMessage("{}")}}, over},
		"sent and oversize": {sandbox.Mutate, sandbox.Result{Call: &sandbox.MutationCall{Connector: "mail",
			Operation: "send", Oversize: 2 << 20, Params: json.RawMessage("{}")}}, nil},
		"unknown fault": {sandbox.Mutate, sandbox.Result{}, &sandbox.Error{Fault: "unheard-of"}},
	} {
		call := invocationOf(c.phase, "")
		call.Limits = sandbox.DefaultLimits
		if err := recheck(&call, &c.result, c.failed); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	call := invocationOf(sandbox.Next, "")
	call.Limits = sandbox.DefaultLimits
	good := event(func(*sandbox.Publish) {})
	if err := recheck(&call, &good, nil); err != nil {
		t.Error(err)
	}
	call = invocationOf(sandbox.Mutate, "")
	call.Limits = sandbox.DefaultLimits
	good = oversize("send", 2<<20)
	if err := recheck(&call, &good, over); err != nil {
		t.Error(err)
	}
}
