package main

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack is by how much the timers of an engine may be late. While an engine works, one thread of the Go runtime
// looks after the others up to every 20 microseconds, and interrupts one of them each time: that takes a fifteenth of
// the processor time. With this slack it looks about every millisecond. No timer of an engine has to be more exact.
const timerSlack = time.Millisecond

// relaxTimers starts the program again, in the same process, with timers that may be late by timerSlack. The first
// thread of a program hands its slack on to all others, and the thread of the runtime begins before any code of ours
// does, so it is too late for this start. It returns where the timers are that late already, as in the second start,
// and where the system refuses: then the engine is only slower. Call it before anything is opened or begun.
func relaxTimers() {
	runtime.LockOSThread() // the slack is that of a thread
	defer runtime.UnlockOSThread()
	if timersAreRelaxed() || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil ||
		!timersAreRelaxed() { // the system ignores it for real-time scheduling, and the second start would be as this one
		return
	}
	if self, err := os.Executable(); err == nil { // by its path, which gives the process its name
		_ = unix.Exec(self, os.Args, os.Environ())
	}
}

// timersAreRelaxed reports whether the timers of this thread may be late by timerSlack.
func timersAreRelaxed() bool {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return err == nil && time.Duration(slack) >= timerSlack
}
