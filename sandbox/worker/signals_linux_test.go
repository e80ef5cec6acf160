package worker

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/sandbox"
)

// TestSignalsToEndAreIgnored: a worker lives on when all processes of a service are asked to end, however often: its
// engine lets the runs end first.
func TestSignalsToEndAreIgnored(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Size: 1})
	asked := fakeHost{"mail.search": func(context.Context, json.RawMessage) (json.RawMessage, error) {
		var errs []error
		for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
			for range 2 {
				errs = append(errs, unix.Kill(p.Report().Workers[0].PID, signal))
			}
		}
		return json.RawMessage(`1`), errors.Join(errs...)
	}}
	call := invocationOf(sandbox.Prepare, `await ctx.mail.search({}); for (;;) Math.abs(1)`)
	call.Limits.CPU = 200 * time.Millisecond
	_, err := p.Invoke(t.Context(), call, asked)
	wantFault(t, err, sandbox.FaultScript, "limit.cpu")
	if r := p.Report(); r.Restarts != 0 {
		t.Errorf("%+v", r)
	}
}
