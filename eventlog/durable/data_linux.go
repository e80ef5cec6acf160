package durable

import (
	"os"
	"syscall"
)

// SyncData syncs the content without the modification time: where the file keeps its size, the journal of the file
// system need not be written.
func SyncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
