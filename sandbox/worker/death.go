package worker

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// Signatures of the Go runtime in what a dying worker writes.
var (
	saysMemory = regexp.MustCompile(`out of memory|cannot allocate|pthread_create failed|failed to create new OS ` +
		`thread|SIGSEGV|unexpected fault address`)
	saysStack = regexp.MustCompile(`stack exceeds|stack overflow`)
)

// exitCrash is the exit code with which the Go runtime ends a program that it cannot go on with.
const exitCrash = 2

// faultSignals are those that a process gets for what it does itself. All others come from outside.
var faultSignals = []string{syscall.SIGABRT.String(), syscall.SIGBUS.String(), syscall.SIGFPE.String(),
	syscall.SIGILL.String(), syscall.SIGSEGV.String(), syscall.SIGTRAP.String()}

// deathOf says why a worker died in the middle of a call. Killed by this engine: for that reason.
// Killed from outside: the script is not to blame, and nothing was sent, since a call that mutate names
// travels in the result that never came. A crash, or too much memory, is the script's doing: the worker runs nothing
// but that script. A script can do no more than that, so it is not to blame where the worker has given up by itself.
func deathOf(p *process, memory int64) *sandbox.Error {
	if reason := p.killedFor(); reason != nil {
		copied := *reason
		return &copied
	}
	said := p.Said()
	code, signal := exitOf(p.Cmd.ProcessState)
	switch {
	case signal == "killed":
		return sandbox.WorkerLost("the worker process was killed from outside while the script ran; " +
			"nothing was sent, " +
			"and it can run again")
	case signal != "" && !slices.Contains(faultSignals, signal):
		return sandbox.WorkerLost("the worker process was ended from outside (%s) while the script ran; nothing was "+
			"sent, and it can run again", signal)
	case code == confine.ExitMemory, saysMemory.MatchString(said), signal == syscall.SIGSEGV.String() &&
		!saysStack.MatchString(said):
		// The runtime often cannot even say that its memory was refused before it faults.
		return tooMuchMemory(memory)
	case saysStack.MatchString(said):
		return sandbox.ScriptFault("limit.stack",
			"the script nests deeper than the interpreter's stack of %d MiB allows", maxWorkerStack>>20)
	case code == exitNoEngine:
		return sandbox.WorkerLost("the worker process lost its engine")
	}
	why := p.Cmd.ProcessState.String()
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		why += ", " + sandbox.Clip(line, 300)
	}
	if signal == "" && code != exitCrash {
		return sandbox.WorkerLost("the worker process gave up while the script ran (%s); nothing was sent, and it can "+
			"run again", why)
	}
	return sandbox.ScriptFault("script.crashed", "the interpreter crashed while it ran the script (%s)", why)
}

func tooMuchMemory(limit int64) *sandbox.Error {
	return sandbox.LimitFault("limit.memory", "the script needs more memory than the %d MiB its worker process may use",
		limit>>20)
}

// exitOf is the exit code of a process, or the name of the signal that ended it.
func exitOf(s *os.ProcessState) (code int, signal string) {
	if s == nil {
		return -1, ""
	}
	if name, ok := strings.CutPrefix(s.String(), "signal: "); ok {
		name, _, _ = strings.Cut(name, " (core dumped)")
		return -1, name
	}
	return s.ExitCode(), ""
}

// malformed is the fault of a worker that does not keep to the protocol. Scripts cannot make it do
// that unless they have broken out of the interpreter: an operator should look.
func malformed(err error) *sandbox.Error {
	return sandbox.InternalFault("the worker process answered what no script can say (%v); it was ended. Look at the "+
		"script before it runs again", err)
}
