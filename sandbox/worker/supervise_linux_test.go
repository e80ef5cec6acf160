package worker

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// A process that is gone is not killed for its time: an engine that was stopped for a while finds that much has passed,
// and would say so of a script whose process was killed from outside meanwhile.
func TestAProcessThatIsGoneIsNotLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gone, waitedFor bool
		code            string
	}{
		"it lives":                         {false, false, "limit.cpu"},
		"it has ended":                     {true, false, ""},
		"it has ended, and was waited for": {true, true, ""},
	} {
		cmd := itself(t, "unconfined")
		in, err := cmd.StdinPipe() // keeps it waiting
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if c.gone {
			killAndWatch(t, cmd)
		}
		if c.waitedFor {
			_ = cmd.Wait() // killed, as it should be
		}
		x := &exchange{pool: &Pool{config: Config{Memory: 1 << 40}}, caller: t.Context(), running: true,
			since: time.Now().Add(-time.Hour), cpuBegan: -time.Hour, cpuKnown: true, timer: time.AfterFunc(time.Hour, func() {}),
			request: request{limits: sandbox.DefaultLimits},
			w:       &process{Process: &confine.Process{Cmd: cmd, Exited: make(chan struct{})}}}
		x.supervise()
		x.timer.Stop()
		code := ""
		if reason := x.w.killedFor(); reason != nil {
			code = reason.Code
		}
		if code != c.code {
			t.Errorf("%s: killed for %q, want %q", name, code, c.code)
		}
		if !c.waitedFor {
			_ = cmd.Wait()
		}
		_ = in.Close()
	}
}

// killAndWatch kills a process from outside and returns once it has ended. Its parent has not waited for it then.
func killAndWatch(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := unix.Kill(cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}
