package jslog

import (
	"os"
	"syscall"
)

// datasync syncs the content without the modification time: the file's size never changes, so
// the journal of the file system need not be written.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
