package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// readsBy is a host that answers every read by a call of itself.
type readsBy func() error

func (r readsBy) Read(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`1`), r()
}

// TestWorkerAskedToEnd: `pawl worker` does not end as other commands do when it is asked to twice: the call
// that it works on would be lost.
func TestWorkerAskedToEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can be asked to end there")
	}
	t.Parallel()
	pool, err := worker.NewPool(worker.Config{Size: 1, Command: func() *exec.Cmd {
		return exec.Command(os.Args[0], "worker")
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	call := sandbox.Invocation{Phase: sandbox.Prepare, Handler: "c", Source: sandbox.Source{Filename: "w.ts",
		Code: `export default Pawl.workflow({ name: "w", topics: { in: {} }, consumers: { c: Pawl.consumer({
			subscribe: ["in"], async prepare(ctx) { await ctx.mail.search({}); for (;;) Math.abs(1) } }) } })`},
		Topics:     []string{"in"},
		Operations: []sandbox.Operation{{Connector: "mail", Operation: "search", Kind: sandbox.KindList}},
		Limits:     sandbox.Limits{CPU: 200 * time.Millisecond}}
	_, err = pool.Invoke(t.Context(), call, readsBy(func() error {
		asked, err := os.FindProcess(pool.Report().Workers[0].PID)
		if err != nil {
			return err
		}
		return errors.Join(asked.Signal(syscall.SIGTERM), asked.Signal(syscall.SIGTERM), asked.Signal(os.Interrupt),
			asked.Signal(os.Interrupt))
	}))
	var fault *sandbox.Error
	if !errors.As(err, &fault) || fault.Code != "limit.cpu" || pool.Report().Restarts != 0 {
		t.Errorf("%v; %+v", err, pool.Report())
	}
}
