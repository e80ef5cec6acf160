package embeddednats

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// ErrInUse: another process uses the data directory.
var ErrInUse = errors.New("in use by another pawl")

// lockDir makes sure that no other process uses the directory: two servers on one store would
// destroy it. The operating system frees the lock when the process dies.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	path := filepath.Join(dir, "LOCK")
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if !ok {
		pid, err := os.ReadFile(path)
		if owner := strings.TrimSpace(string(pid)); err == nil && owner != "" {
			return nil, fmt.Errorf("data directory %s is %w (pid %s)", dir, ErrInUse, owner)
		}
		return nil, fmt.Errorf("data directory %s is %w", dir, ErrInUse)
	}
	// Written in place: a rename would leave the lock on a file that has no name any more.
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("write pid into %s: %w", path, err)
	}
	return lock, nil
}

// Lock takes the lock of a data directory that no server of this process uses: one whose log is kept elsewhere. It
// fails with ErrInUse where another process has it. The returned function frees it.
func Lock(dir string) (unlock func() error, err error) {
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	return lock.Unlock, nil
}

// InUse reports whether a process on this machine uses the data directory now. A directory that does not exist is not
// in use. It fails where the lock cannot be tried.
func InUse(dir string) (bool, error) {
	path := filepath.Join(dir, "LOCK")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return false, fmt.Errorf("try the lock of data directory %s: %w", dir, err)
	}
	if locked {
		err = lock.Unlock()
	}
	return !locked, err
}
