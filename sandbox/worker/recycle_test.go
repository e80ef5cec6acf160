package worker

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
)

func init() {
	programs["recycled"] = recycled
}

// recycled is a worker that says with each answer that it is not to be used again, and does not answer twice.
func recycled([]string) error {
	in, err := handshakeUnconfined()
	if err == nil {
		_, err = in.next(1 << 20)
	}
	if err != nil {
		return err
	}
	serial, _, _ := unpackCall(&in.unpacker)
	pack := newPacker()
	packRecycle(pack, serial)
	packResult(pack, serial, &sandbox.Result{Value: json.RawMessage("1")}, nil)
	if err := pack.flush(os.Stdout); err != nil {
		return err
	}
	_, err = in.next(1 << 20)
	return err
}

// A call that went well and left too much memory behind is its process's last one; the next call notices nothing.
func TestAWorkerIsRecycled(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "recycled") }})
	const calls = 4
	for range calls {
		if _, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, "return 1"), world); err != nil {
			t.Fatal(err)
		}
	}
	if r := p.Report(); r.Restarts != calls || r.Deaths["limit.memory"] != calls {
		t.Errorf("%+v", r)
	}
}

// The start of the process that takes the place of a recycled one is counted for the workflow that used it up: it is
// not one with quick calls.
func TestARecycledWorkerIsPaidFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recycle        bool
		starting, want time.Duration
	}{
		{false, 60 * time.Millisecond, time.Millisecond},
		{true, 60 * time.Millisecond, 61 * time.Millisecond},
		{true, time.Millisecond, 2*short + time.Millisecond}, // more than a quick call counts
		{true, 9 * time.Second, heavyFrom/2 + time.Millisecond},
	} {
		x := exchange{w: &process{starting: c.starting}, recycle: c.recycle}
		if got := x.charge(time.Millisecond); got != c.want {
			t.Errorf("recycled %v, started in %v: a call is charged %v, not %v", c.recycle, c.starting, got, c.want)
		}
	}
}

// A worker that was killed while its answer came is not given to the next call, which would be told of its end: the
// call that it was killed for has failed.
func TestAKillReachesItsOwnCall(t *testing.T) {
	t.Parallel()
	own, killed := &sandbox.Error{Code: "limit.stack"}, &sandbox.Error{Code: "limit.memory"}
	for _, c := range []struct{ fault, reason, want *sandbox.Error }{
		{}, {fault: own, want: own}, {reason: killed, want: killed}, {fault: own, reason: killed, want: own},
	} {
		x := exchange{pool: &Pool{}, w: &process{reason: c.reason}}
		if got := x.withKill(c.fault); (got == nil) != (c.want == nil) || got != nil && got.Code != c.want.Code {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A worker that could not give back what a job has used says so before its answer: what it holds, or what it has
// mapped, though it holds little.
func TestAWorkerAsksToBeRecycled(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	for name, wear := range map[string]func(*watchdog){
		"":       func(*watchdog) {},
		"held":   func(w *watchdog) { w.normal = 0 },
		"mapped": func(w *watchdog) { w.room = 0 },
	} {
		var said bytes.Buffer
		w := &worker{out: &said, pack: newPacker(), around: vm.Surroundings{Closing: t.Context(),
			Scripts: vm.NewScripts(1), CPU: cputime.Own()}}
		w.watchdog = newWatchdog(math.MaxInt64/100, func() {})
		wear(w.watchdog)
		w.run(&job{serial: 1, source: sandbox.Source{Filename: "w.ts", Code: "export default Pawl.workflow({})"}})
		in := newFrameReader(&said)
		if name != "" {
			if kind, err := in.next(1 << 20); kind != frameRecycle || err != nil {
				t.Errorf("%s: it says %v, %v", name, kind, err)
			}
		}
		if kind, err := in.next(1 << 20); kind != frameDescribed || err != nil {
			t.Errorf("%s: then it says %v, %v", name, kind, err)
		}
	}
}

// What may stay mapped leaves the next call the largest piece that is its due, and a process that has just begun is far
// from it, also with the least memory.
func TestRoomForTheNextCall(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	for memory, want := range map[int64]int64{sandbox.MinMemory: 64, sandbox.DefaultMemory: 96, 1 << 30: 800} {
		w := newWatchdog(int64(float64(memory)*watchdogShare), func() {})
		w.bound(max(leastData, int64(float64(memory)*dataShare)))
		if w.room>>20 < want || w.room+w.limit*fullShare/100 > max(leastData, int64(float64(memory)*dataShare)) {
			t.Errorf("of %d MiB, %d may stay mapped", memory>>20, w.room>>20)
		}
	}
}
