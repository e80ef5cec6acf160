package confined

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func renameNew(fromDir *os.File, from string, toDir *os.File, to string) error {
	err := unix.Renameat2(int(fromDir.Fd()), from, int(toDir.Fd()), to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported // the file system does not know the flag
	}
	return err
}
