package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	mains["timers"] = func() {
		fmt.Println("start")
		relaxTimers()
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		name, _ := os.ReadFile("/proc/self/comm")
		fmt.Println(slack, err, string(name))
	}
}

// TestTimersMayBeLate: a program with exact timers is started once more, and then its timers may be late. The process
// keeps its name, of which the system keeps 15 bytes.
func TestTimersMayBeLate(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Args = []string{"timers"}
	name := filepath.Base(os.Args[0])
	out, err := cmd.CombinedOutput()
	if want := "start\nstart\n1000000 <nil> " + name[:min(len(name), 15)] + "\n\n"; err != nil || string(out) != want {
		t.Errorf("it printed %q (%v), want %q", out, err, want)
	}
}

// TestRealTimeTimersStayExact: a program with a real-time policy, for which the system ignores the slack, is started
// once.
func TestRealTimeTimersStayExact(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test, and nothing else gets its policy
	policy := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := unix.SchedSetAttr(0, &policy, 0); err != nil {
		t.Skipf("this process may not have a real-time policy: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Args = []string{"timers"}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "start") != 1 {
		t.Errorf("it printed %q (%v), want one start", out, err)
	}
}

func TestWhichCommandsRunAnEngine(t *testing.T) {
	for line, want := range map[string]bool{"up": true, "--data": false, "serve": true, "bench": true, "worker": false,
		"push": false, "": false} {
		if got := runsEngine([]string{"--data", "folder", line}); got != want {
			t.Errorf("pawl --data folder %s: %t, want %t", line, got, want)
		}
	}
}
