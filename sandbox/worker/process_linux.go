package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// selfPath is this program, also after its file was replaced or deleted.
const selfPath = "/proc/self/exe"

// attributes make a worker die with the thread that started it, and keep signals of a terminal from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// timerSlack is by how much the timers of a worker may be late. The Go runtime has a thread that looks after the other
// threads, up to every 20 microseconds while calls run. In a worker it finds nothing to do, since one goroutine does
// nearly all the work, but it interrupts another thread each time. With this slack it looks about every millisecond.
// A longer slack would save more. But the runtime also sleeps for a few microseconds before one thread takes a
// goroutine that another thread has just made ready. This happens with answers to reads: with 10 ms, a handler with ten
// reads took ten times as long. The limits of a call are far longer.
const timerSlack = time.Millisecond

// relaxTimers lets the timers of the calling thread be late by timerSlack, and those of all threads of the processes
// that it starts. A worker could do so for its other threads only with the rights of root. Where the system refuses
// that, workers are only slower.
func relaxTimers() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) }

// memoryOf tells the resident memory that belongs to one process alone, in bytes; ok is false where
// it is not known. The program's own code, which all workers share, is no script's doing.
func memoryOf(pid int) (bytesHeld int64, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0, false
	}
	resident, err := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, errShared := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize()), err == nil && errShared == nil
}

// ended reports whether a child of this process has ended. It takes no note of that: the child can still be waited for.
func ended(pid int) bool {
	for {
		var how unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &how, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == unix.ECHILD || err == nil && how.Signo != 0
		}
	}
}

// threadsOf is how many threads a process has, 0 where it is not known.
func threadsOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name of the program stands in parentheses and may hold anything; the number is the 18th field behind it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 18 {
		return 0
	}
	n, err := strconv.Atoi(string(fields[17]))
	if err != nil {
		return 0
	}
	return n
}

// unread is how many bytes of a pipe, given by its writing end, have not been read. They are kept when
// the reader is gone.
func unread(in *os.File) (n int) {
	connection, err := in.SyscallConn()
	if err != nil {
		return 0
	}
	_ = connection.Control(func(fd uintptr) { // fails for a closed file, which holds nothing
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	})
	if err != nil {
		return 0
	}
	return n
}
