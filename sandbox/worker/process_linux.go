package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfPath is this program, also after its file was replaced or deleted.
const selfPath = "/proc/self/exe"

// attributes make a worker die with the thread that started it, and keep signals of a terminal from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

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
