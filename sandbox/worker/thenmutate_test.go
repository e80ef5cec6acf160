package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

func init() { programs["forestaller"] = forestaller }

// forestaller is a worker that a script has taken over. It tells of mutate what the call has as its workflow's name.
func forestaller([]string) error {
	in, err := handshakeUnconfined()
	for err == nil {
		if _, err = in.next(1 << 20); err == nil {
			serial, _, call := unpackCall(&in.unpacker)
			pack := newPacker()
			result := sandbox.Result{Value: json.RawMessage("1")}
			switch call.Workflow {
			case "ended":
				result.Mutate = &sandbox.MutateResult{}
			case "ended with a value":
				result.Mutate = &sandbox.MutateResult{Result: result}
			case "begun":
				packPrepared(pack, serial, &result, sandbox.Place{})
			case "begun twice":
				packPrepared(pack, serial, &result, sandbox.Place{})
				packPrepared(pack, serial, &result, sandbox.Place{})
			case "begun, and reads":
				packPrepared(pack, serial, &result, sandbox.Place{})
				readRequest{serial: serial, id: 1, connector: "mail", operation: "search",
					params: json.RawMessage("{}")}.pack(pack)
			}
			packResult(pack, serial, &result, nil)
			err = pack.flush(os.Stdout)
		}
	}
	return err
}

const reservesOne = `return { reservations: [{ topic: "t.a", ids: ["1"] }], data: { n: 1 } }`

// bothHandlers is a call of prepare that asks for mutate after it.
func bothHandlers(prepare, mutate string) sandbox.Invocation {
	call := invocationOf(sandbox.Prepare, "")
	call.ThenMutate = true
	call.Source.Code = fmt.Sprintf(`export default Pawl.workflow({topics: ["t.a"], consumers: {h: {subscribe: ["t.a"],
		async prepare(ctx, state) { %s },
		async mutate(ctx, prepared, more) { %s } }}})`, prepare, mutate)
	return call
}

// TestThenMutate: mutate gets what prepare returned and sees nothing else of prepare, as if it were called by itself.
func TestThenMutate(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	call := bothHandlers(`globalThis.left = 1; ctx.log("prepare"); `+reservesOne,
		`ctx.log("mutate " + typeof left + more); await ctx.mail.send({ n: prepared.data.n, `+
			`late: ctx.now() >= Date.UTC(2026, 0, 2, 3, 4, 5), random: Math.random() < 1 })`)
	call.State = json.RawMessage(`"of prepare"`)
	r, err := e.Invoke(t.Context(), call, world)
	if err != nil || r.Mutate == nil || r.Mutate.Failure != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	got := string(r.Mutate.Call.Params)
	if got != `{"n":1,"late":true,"random":true}` || r.Mutate.Call.Operation != "send" {
		t.Errorf("mutate called %s with %s", r.Mutate.Call.Operation, got)
	}
	if len(r.Logs) != 1 || len(r.Mutate.Logs) != 1 || r.Mutate.Logs[0].Text != "mutate undefinedundefined" {
		t.Errorf("prepare logged %v, mutate %v", r.Logs, r.Mutate.Logs)
	}
	if r.Call != nil || !strings.Contains(string(r.Value), `"ids":["1"]`) {
		t.Errorf("prepare returned %s and called %v", r.Value, r.Call)
	}
}

// TestThenMutateFails: the failure is that of mutate, with its line, and what prepare returned is kept.
func TestThenMutateFails(t *testing.T) {
	t.Parallel()
	call := bothHandlers(reservesOne, `ctx.log("soon"); throw new Error("no")`)
	r, err := newExecutor(t).Invoke(t.Context(), call, world)
	if err != nil || r.Mutate == nil || r.Mutate.Failure == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if f := r.Mutate.Failure; f.Message != "Error: no" || f.Line != 3 || f.Fault != sandbox.FaultScript {
		t.Errorf("mutate failed with %+v", f)
	}
	if r.Value == nil || len(r.Mutate.Logs) != 1 {
		t.Errorf("prepare returned %s, mutate logged %v", r.Value, r.Mutate.Logs)
	}
}

// TestThenMutateIsLeftToTheCaller: mutate is not called where prepare reserves nothing, fails or takes long, where the
// caller did not ask for it, and where statements are counted.
func TestThenMutateIsLeftToTheCaller(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	for name, prepare := range map[string]string{
		"nothing reserved":  `return { reservations: [] }`,
		"no event reserved": `return { reservations: [{ topic: "t.a", ids: [] }] }`,
		"no prepare result": `return { reservations: "all" }`,
		"a read":            `await ctx.mail.search({}); ` + reservesOne,
		"slow":              `const end = Date.now() + 60; while (Date.now() < end); ` + reservesOne,
		"failed":            `throw new Error("no")`,
	} {
		r, err := e.Invoke(t.Context(), bothHandlers(prepare, `throw new Error("called")`), world)
		if r.Mutate != nil || (err != nil) != (name == "failed") {
			t.Errorf("%s: %+v, %v", name, r.Mutate, err)
		}
	}
	unasked := bothHandlers(reservesOne, `throw new Error("called")`)
	unasked.ThenMutate = false
	counted := bothHandlers(reservesOne, `throw new Error("called")`)
	counted.Source.Counted = true
	for _, call := range []sandbox.Invocation{unasked, counted} {
		if r, err := e.Invoke(t.Context(), call, world); err != nil || r.Mutate != nil {
			t.Errorf("%+v, %v", r.Mutate, err)
		}
	}
}

// TestThenMutateEndsTheProcess: the failure is that of the handler that ran when the process ended.
func TestThenMutateEndsTheProcess(t *testing.T) {
	t.Parallel()
	const fill = `const all = []; for (;;) all.push(new Array(1000).fill(1))`
	p := newPool(t, Config{Size: 1, Memory: sandbox.MinMemory})
	call := bothHandlers(reservesOne, fill)
	call.Limits.CPU = sandbox.MaxCPU // which collecting garbage takes much of
	r, err := p.Invoke(t.Context(), call, world)
	if err != nil || r.Mutate == nil || r.Value == nil {
		t.Fatalf("prepare ended with %+v, %v", r, err)
	}
	e := wantFault(t, r.Mutate.Failure, sandbox.FaultScript, "limit.memory")
	if wantContains(t, e.Message, "in mutate of consumer"); e.Line != 3 {
		t.Errorf("at line %d, want that of mutate", e.Line)
	}
	call = bothHandlers(fill, `return`)
	call.Limits.CPU = sandbox.MaxCPU
	_, err = p.Invoke(t.Context(), call, world)
	e = wantFault(t, err, sandbox.FaultScript, "limit.memory")
	if wantContains(t, e.Message, "in prepare of consumer"); e.Line != 2 {
		t.Errorf("at line %d, want that of prepare", e.Line)
	}
}

// TestThenMutateEndsTheProcessAtOnce: before the worker could tell that it is at mutate, the end is mutate's all the
// same, since each handler is called by itself then.
func TestThenMutateEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, Memory: sandbox.MinMemory})
	call := bothHandlers(reservesOne, `return new ArrayBuffer(1e10)`)
	r, err := p.Invoke(t.Context(), call, world)
	if err != nil || r.Value == nil {
		t.Fatalf("prepare ended with %+v, %v", r, err)
	}
	if r.Mutate == nil {
		call.Phase, call.Prepared, call.ThenMutate = sandbox.Mutate, r.Value, false
		_, err = p.Invoke(t.Context(), call, world)
	} else {
		err = r.Mutate.Failure
	}
	wantContains(t, wantFault(t, err, sandbox.FaultScript, "limit.memory").Message, "in mutate of consumer")
}

// TestThenMutateHasMemoryOfItsOwn: what prepare used does not count against mutate.
func TestThenMutateHasMemoryOfItsOwn(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	const fill = `const all = []; for (let i = 0; i < 46; i++) all.push(new Uint8Array(1 << 20)); `
	for range 5 {
		call := bothHandlers(fill+reservesOne, fill+`return all.length`)
		call.Limits.CPU = sandbox.MaxCPU
		r, err := p.Invoke(t.Context(), call, world)
		if err != nil || r.Mutate != nil && r.Mutate.Failure != nil {
			t.Fatalf("%+v, %v", r.Mutate, err)
		}
	}
}

// TestThenMutateIsReported: the report names mutate as the handler that runs, once it takes long.
func TestThenMutateIsReported(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if w := p.Report().Workers; len(w) > 0 && w[0].Handler == `mutate of consumer "h"` {
				cancel(errors.New("seen"))
			}
			runtime.Gosched()
		}
	}()
	call := bothHandlers(reservesOne, `for (;;) Math.abs(1)`)
	call.Limits.CPU, call.Limits.Wall = sandbox.MaxCPU, sandbox.MaxCPU
	r, err := p.Invoke(ctx, call, world)
	if err != nil || r.Mutate == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if e := wantFault(t, r.Mutate.Failure, sandbox.FaultTransient, "script.cancelled"); e.Cause.Error() != "seen" {
		t.Errorf("cancelled for %v", e.Cause)
	}
}

// TestThenMutateIsRechecked: the engine refuses the answer of a worker that tells of a mutate which it was not to call,
// and an answer that mutate cannot give.
func TestThenMutateIsRechecked(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "forestaller") }})
	for says, asked := range map[string]bool{
		"ended": false, "begun": false, "ended with a value": true, "begun twice": true, "begun, and reads": true,
	} {
		call := bothHandlers(reservesOne, `return`)
		call.Workflow, call.ThenMutate = says, asked
		r, err := p.Invoke(t.Context(), call, world)
		if r.Mutate != nil && err == nil && r.Mutate.Failure != nil {
			err = r.Mutate.Failure
		}
		wantFault(t, err, sandbox.FaultInternal, "internal")
	}
}
