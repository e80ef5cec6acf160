package worker

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
)

func init() {
	programs["worn"] = worn
}

// worn is a worker that says with each answer that it is not to be used again, and does not answer twice.
func worn([]string) error {
	in, err := handshakeUnconfined()
	if err == nil {
		_, err = in.next(1 << 20)
	}
	if err != nil {
		return err
	}
	serial, _, _ := unpackCall(&in.unpacker)
	pack := newPacker()
	packWorn(pack, serial)
	packResult(pack, serial, &sandbox.Result{Value: json.RawMessage("1")}, nil)
	if err := pack.flush(os.Stdout); err != nil {
		return err
	}
	_, err = in.next(1 << 20)
	return err
}

// A call that went well and left too much memory behind is its process's last one; the next call notices nothing.
func TestAWornWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "worn") }})
	const calls = 3
	for range calls {
		if _, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, "return 1"), world); err != nil {
			t.Fatal(err)
		}
	}
	if r := p.Report(); r.Restarts != calls || r.Deaths["limit.memory"] != calls {
		t.Errorf("%+v", r)
	}
}

// A worker that was killed while its answer came is not given to the next call, which would be told of its end.
func TestAKilledWorkerIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want   string
		killed *sandbox.Error
		worn   bool
		fault  *sandbox.Error
	}{
		{want: ""},
		{want: "limit.memory", worn: true},
		{want: "limit.cpu", killed: &sandbox.Error{Code: "limit.cpu"}},
		{want: "limit.stack", fault: &sandbox.Error{Code: "limit.stack"}, worn: true},
	} {
		x := exchange{w: &process{reason: c.killed}, worn: c.worn}
		if got := x.ending(c.fault); got != c.want {
			t.Errorf("%+v: the worker ends for %q, want %q", c, got, c.want)
		}
	}
}

// A worker that could not give back what a job has used says so before its answer.
func TestAWorkerSaysThatItIsWorn(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	for _, isWorn := range []bool{false, true} {
		var said bytes.Buffer
		w := &worker{out: &said, pack: newPacker(), around: vm.Surroundings{Closing: t.Context(),
			Scripts: vm.NewScripts(1), CPU: cputime.Own()}}
		w.watchdog = newWatchdog(math.MaxInt64/100, func() {})
		if isWorn {
			w.watchdog.normal = 0 // no process holds so little
		}
		w.run(&job{serial: 1, source: sandbox.Source{Filename: "w.ts", Code: "export default Pawl.workflow({})"}})
		in := newFrameReader(&said)
		if isWorn {
			if kind, err := in.next(1 << 20); kind != frameWorn || err != nil {
				t.Errorf("it says %v, %v", kind, err)
			}
		}
		if kind, err := in.next(1 << 20); kind != frameDescribed || err != nil {
			t.Errorf("then it says %v, %v", kind, err)
		}
	}
}
