package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

func init() {
	programs["chatterer"] = chatterer
	programs["spawner"] = spawner
	programs["idler"] = idler
}

// chatterer is a worker that a script has taken over: behind each answer stands one to the next call.
func chatterer([]string) error {
	in, err := handshakeUnconfined()
	for err == nil {
		if _, err = in.next(1 << 20); err == nil {
			serial, _, _ := unpackCall(&in.unpacker)
			pack := newPacker()
			packResult(pack, serial, &sandbox.Result{Value: json.RawMessage("1")}, nil)
			packResult(pack, serial+1, &sandbox.Result{Value: json.RawMessage(`"forged"`)}, nil)
			err = pack.flush(os.Stdout)
		}
	}
	return err
}

// spawner is a worker that a script has taken over: it starts threads and computes on.
func spawner([]string) error {
	in, err := handshakeUnconfined()
	if err == nil {
		_, err = in.next(1 << 20)
	}
	for range 4 * maxWorkerThreads {
		go func() {
			runtime.LockOSThread()
			select {}
		}()
	}
	if err == nil {
		_, err = in.next(1 << 20)
	}
	return err
}

// idler is a worker that a script has taken over: it says that it waits for a read, and has asked for none.
func idler([]string) error {
	in, err := handshakeUnconfined()
	if err == nil {
		_, err = in.next(1 << 20)
	}
	if err == nil {
		serial, _, _ := unpackCall(&in.unpacker)
		pack := newPacker()
		start := pack.begin(frameWaiting)
		pack.num(int64(serial))
		pack.num(0)
		pack.end(start)
		err = pack.flush(os.Stdout)
	}
	if err == nil {
		_, err = in.next(1 << 20)
	}
	return err
}

// TestAWorkerThatWaitsForNothing is ended: while a worker waits for a read, no time of its call passes.
func TestAWorkerThatWaitsForNothing(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "idler") }})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := p.Invoke(ctx, invocationOf(sandbox.Prepare, `return 1`), world)
	e := wantFault(t, err, sandbox.FaultInternal, "internal")
	wantContains(t, e.Message, "has asked for no read")
}

// TestNoAnswerIsLeftForTheNextCall: a worker that says more than its answer is ended, and what it said is read as the
// answer to no other call.
func TestNoAnswerIsLeftForTheNextCall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a pipe holds")
	}
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "chatterer") }})
	for range 2 {
		r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `return 1`), world)
		e := wantFault(t, err, sandbox.FaultInternal, "internal")
		wantContains(t, e.Message, "bytes after the answer")
		if r.Value != nil {
			t.Errorf("answered %s", r.Value)
		}
	}
}

// TestThreadsAreBounded: a worker that starts more threads than any script makes it start is ended.
func TestThreadsAreBounded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the threads of a process")
	}
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "spawner") }})
	call := invocationOf(sandbox.Prepare, `return 1`)
	call.Limits.CPU, call.Limits.Wall = sandbox.MaxCPU, time.Hour
	_, err := p.Invoke(t.Context(), call, world)
	e := wantFault(t, err, sandbox.FaultInternal, "internal")
	wantContains(t, e.Message, "threads")
}

// TestFramesAreBoundedBeforeTheyAreUnpacked: the memory that a frame takes is in proportion to its bytes, and what no
// script can answer is refused before it is made.
func TestFramesAreBoundedBeforeTheyAreUnpacked(t *testing.T) {
	const size = 8 << 20
	call := invocationOf(sandbox.Producer, "")
	call.Limits = sandbox.DefaultLimits
	p := newPacker()
	list := func(before ...byte) []byte { // of items of as few bytes as can be
		p.reset()
		p.buf = append(p.buf, before...)
		p.list(size)
		return append(bytes.Clone(p.buf), make([]byte, size)...)
	}
	result := func(body []byte) error {
		var u unpacker
		u.reset(body)
		_, _, _ = unpackResult(&u, &call)
		return u.done()
	}
	for name, read := range map[string]func() error{
		"publishes": func() error { return result(list(0, 0, 0)) },
		"topics":    func() error { return result(list(0, 0, 0, 1)) },
		"inputs":    func() error { return result(list(0, 0, 0, 0)) },
		"log lines": func() error { return result(list(0, 0, 0, 0, 0, 0)) },
		"problems": func() error {
			text := `{"problems":[` + strings.Repeat("{},", size/3) + `{}]}`
			return recheckDescribed(&described{text: []byte(text)}, sandbox.DefaultLimits)
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 6*size {
			t.Errorf("%s: %d MiB for a frame of %d MiB", name, took>>20, size>>20)
		}
	}
}

// TestRecheckLogAndFault: the texts of a worker are bounded, and the levels of its lines are those of scripts.
func TestRecheckLogAndFault(t *testing.T) {
	t.Parallel()
	call := invocationOf(sandbox.Next, "")
	call.Limits = sandbox.DefaultLimits
	for _, level := range []string{"call", "inputs", "", "INFO"} {
		if err := recheck(&call, &sandbox.Result{Logs: []sandbox.LogLine{{Level: level}}}, nil); !errors.Is(err,
			errMalformed) {
			t.Errorf("level %q: %v", level, err)
		}
	}
	empty := make([]sandbox.LogLine, sandbox.MaxLogLines(call.Limits)+100)
	for i := range empty {
		empty[i].Level = "info"
	}
	if err := recheck(&call, &sandbox.Result{Logs: empty}, nil); !errors.Is(err, errMalformed) {
		t.Errorf("%d empty lines: %v", len(empty), err)
	}
	long := strings.Repeat("x", 1<<20)
	fault := &sandbox.Error{Fault: sandbox.FaultScript, Code: long, Message: long, Stack: long, Line: -1, Column: -1}
	if err := recheck(&call, &sandbox.Result{}, fault); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(fault.Code), len(fault.Message), len(fault.Stack), fault.Line,
		fault.Column); len(fault.Code) > sandbox.MaxCode+8 ||
		len(fault.Message) > 2*sandbox.MaxMessage+8 || len(fault.Stack) > 2*sandbox.MaxStackText+8 || fault.Line != 0 ||
		fault.Column != 0 {
		t.Errorf("kept %s", got)
	}
}

// O5: the script says of each call whether a person has to approve it; nothing leaves on an answer that is none.
func TestO5_AScriptAsks(t *testing.T) {
	t.Parallel()
	source := func(approval string) sandbox.Invocation {
		call := invocationOf(sandbox.Mutate, "")
		call.Source.Code = `export default Pawl.workflow({ name: "w", topics: { "t.a": {} }, consumers: { h: {
			subscribe: ["t.a"], prepare: () => ({ reservations: [] }), approval: ` + approval + `,
			async mutate(ctx, { data }) { await ctx.mail.send({ x: data.x }); } } } });`
		return call
	}
	for name, e := range executors(t) {
		for approval, asks := range map[string]bool{
			`"ask"`: true, `undefined`: false, `({ data }) => data.x === 1`: true, `({ data }) => data.x > 1`: false,
			`(prepared) => { prepared.data.x = 7; return true; }`: true, // its own copy
		} {
			r, err := e.Invoke(t.Context(), source(approval), world)
			if err != nil || r.Call == nil || r.Call.Ask != asks || string(r.Call.Params) != `{"x":1}` {
				t.Errorf("%s, %s: %+v, %v", name, approval, r.Call, err)
			}
		}
		for approval, says := range map[string]string{
			`async () => false`: "returns a promise", `() => {}`: "must return true", `() => 1`: "must return true",
			`"never"`: `must be "ask"`, `() => { throw new Error("broken") }`: "broken",
		} {
			r, err := e.Invoke(t.Context(), source(approval), world)
			if r.Call != nil || err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s, %s: %+v, %v", name, approval, r.Call, err)
			}
		}
		definition, _, err := e.Describe(t.Context(), source(`() => true`).Source)
		if err != nil || definition.Consumers[0].Approval != sandbox.ApprovalScript {
			t.Errorf("%s: described as %+v, %v", name, definition.Consumers, err)
		}
		_, problems, err := e.Describe(t.Context(), source(`"never"`).Source)
		if err != nil || len(problems) != 1 || problems[0].Code != "shape.consumer" {
			t.Errorf("%s: problems %+v, %v", name, problems, err)
		}
	}
}

// O5: an approval that stands in what prepare returns asks no person; the run fails before anything is sent.
func TestO5_AnApprovalInTheResultOfPrepareIsRefused(t *testing.T) {
	t.Parallel()
	const reserved = `reservations: [{ topic: "t.a", ids: ["1"] }], data: null`
	source := func(result, members string) sandbox.Invocation {
		call := invocationOf(sandbox.Prepare, "")
		call.Source.Code = `export default Pawl.workflow({ name: "w", topics: { "t.a": {} }, consumers: { h: {
			subscribe: ["t.a"], prepare() { return { ` + result + ` } }, ` + members + ` } } });`
		return call
	}
	const mutate = `async mutate(ctx) { await ctx.mail.send({}); }`
	for name, e := range executors(t) {
		_, err := e.Invoke(t.Context(), source(reserved+`, ["appro" + "val"]: "ask"`, mutate), world)
		if fault, ok := errors.AsType[*sandbox.Error](err); !ok || fault.Fault != sandbox.FaultScript ||
			fault.Code != "shape.unknownKey" || fault.Line != 2 || !strings.Contains(fault.Message, "beside prepare") {
			t.Errorf("%s: %v", name, err)
		}
		for _, fine := range [][2]string{
			{reserved + `, approval: "ask"`, `approval: () => true, ` + mutate},
			{reserved + `, approval: "ask"`, ``},
			{reserved + `, approval: 5`, mutate},
			{`reservations: [], data: { approval: "ask" }`, mutate},
			{`reservations: [], approval: "ask"`, mutate},
		} {
			if _, err := e.Invoke(t.Context(), source(fine[0], fine[1]), world); err != nil {
				t.Errorf("%s, %s: %v", name, fine, err)
			}
		}
	}
}
