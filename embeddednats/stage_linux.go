package embeddednats

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharedMemory is where Linux keeps files in memory for all users.
const sharedMemory = "/dev/shm"

// memoryDir is a directory whose files are in memory.
func memoryDir() (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(sharedMemory, &fs); err != nil {
		return "", fmt.Errorf("look at %s: %w", sharedMemory, err)
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return "", fmt.Errorf("%s is not in memory: %w", sharedMemory, errors.ErrUnsupported)
	}
	return sharedMemory, nil
}

// private fails unless the directory is this user's and closed to all others.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not this user's alone", dir)
	}
	return nil
}
