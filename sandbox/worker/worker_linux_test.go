package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// TestWorkerFromOutside: the kernel says of a worker that its system calls are filtered, that it can
// gain no privileges, that it has no environment beside what the Go runtime needs, and nothing open
// but its pipes.
func TestWorkerFromOutside(t *testing.T) {
	t.Setenv("PAWL_TOKEN", "a secret of the engine")
	p := newPool(t, Config{Size: 1, Require: confine.Full})
	proc := filepath.Join("/proc", strconv.Itoa(p.Report().Workers[0].PID))

	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n", "\nSeccomp_filters:\t2\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("the status lacks %q:\n%s", want, status)
		}
	}
	// Where memory ends, the system is to end a script and not the engine.
	if adjusted, err := os.ReadFile(filepath.Join(proc, "oom_score_adj")); err != nil || string(adjusted) != "1000\n" {
		t.Errorf("oom_score_adj is %q, %v", adjusted, err)
	}
	limits, err := os.ReadFile(filepath.Join(proc, "limits"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(strings.Split(string(limits), "\n"), func(line string) bool {
		return slices.Equal(strings.Fields(line), []string{"Max", "data", "size", "167772160", "167772160", "bytes"})
	}) {
		t.Errorf("the private memory is not limited:\n%s", limits)
	}

	if os.Getuid() != 0 {
		return // a process that cannot be dumped shows the rest to root alone
	}
	threads, err := os.ReadDir(filepath.Join(proc, "task"))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads { // without the slack, the runtime's monitor thread takes a share of every call
		slack, err := os.ReadFile(filepath.Join("/proc", thread.Name(), "timerslack_ns"))
		if err != nil || string(slack) != "1000000\n" {
			t.Errorf("timers of thread %s may be late by %q ns, %v", thread.Name(), slack, err)
		}
	}
	environment, err := os.ReadFile(filepath.Join(proc, "environ"))
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range strings.Split(strings.Trim(string(environment), "\x00"), "\x00") {
		if name, _, _ := strings.Cut(variable, "="); !slices.Contains([]string{"GOTRACEBACK", "GOMAXPROCS", "TZ",
			"GODEBUG", "GORACE"}, name) {
			t.Errorf("the worker was started with %s", variable)
		}
	}
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		target, err := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(target, "pipe:[") && target != "anon_inode:[eventpoll]" &&
			target != "anon_inode:[eventfd]" {
			t.Errorf("descriptor %s of the worker is %s", fd.Name(), target)
		}
	}
}

// TestWorkerOfAnotherUser: confinement needs no rights. A worker of a user without any is confined
// as fully, and works.
func TestWorkerOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; all other tests of workers run as one already")
	}
	path := plainWorker(t)
	p := newPool(t, Config{Size: 1, Require: confine.Full, Command: func() *exec.Cmd {
		return itself(t, "nobody", path)
	}})
	if _, err := callCanary(t.Context(), p); err != nil {
		t.Error(err)
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Report().Workers[0].PID), "status"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(status), "\nUid:\t65534\t65534\t65534\t65534\n") {
		t.Errorf("the worker is of another user:\n%s", status)
	}
	wantMemoryLimited(t, p)
}

func init() { programs["nobody"], programs["engine"] = becomeNobody, engineWithWorker }

// becomeNobody is the program of the test above: it gives its rights up and becomes the worker.
func becomeNobody(arguments []string) error {
	path := arguments[0]
	return errors.Join(unix.Setgroups(nil), unix.Setgid(65534), unix.Setuid(65534), unix.Exec(path, []string{path},
		os.Environ()))
}

// TestWorkerDiesWithItsEngine: an engine that is killed leaves no worker behind, not even one that a
// native function holds.
func TestWorkerDiesWithItsEngine(t *testing.T) {
	t.Parallel()
	engine := itself(t, "engine", plainWorker(t))
	engine.Stderr = os.Stderr
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the engine said %q: %v", said, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(said))
	if err != nil {
		t.Fatalf("the engine said %q", said)
	}
	worker, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("watch worker %d: %v", pid, err)
	}
	defer func() { _ = unix.Close(worker) }()
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait() // killed, as it should be
	watched := []unix.PollFd{{Fd: int32(worker), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(watched, int((30 * time.Second).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != 1 {
			t.Fatalf("worker %d outlives its engine: %d, %v", pid, n, err)
		}
		return
	}
}

// engineWithWorker is the program of the test above: an engine whose worker is held by a native
// function, and which waits to be killed.
func engineWithWorker(arguments []string) error {
	p, err := NewPool(Config{Size: 1, Command: func() *exec.Cmd { return exec.Command(arguments[0]) }})
	if err != nil {
		return err
	}
	call := invocationOf(sandbox.Prepare, `Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)`)
	call.Limits.CPU, call.Limits.Wall = sandbox.MaxCPU, time.Hour
	go func() { _, _ = p.Invoke(context.Background(), call, world) }()
	for {
		if w := p.Report().Workers[0]; w.State == "busy" {
			fmt.Println(w.PID)
			select {}
		}
	}
}
