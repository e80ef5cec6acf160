package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile replaces a file, or makes it, for its owner alone. The directory must be there.
func WriteFile(path string, content []byte) error { return write(path, content, SyncDir) }

func write(path string, content []byte, syncDir func(string) error) (err error) {
	dir := filepath.Dir(path)
	// A name of its own for each writer: two of one file do not mix what they write. The mode is 0600.
	f, err := os.CreateTemp(dir, Temporary(path)+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// Temporary is how the names of the files begin that WriteFile writes beside path and then renames. A process that is
// killed may leave one.
func Temporary(path string) string { return "." + filepath.Base(path) + "." }

// SyncDir makes the names in a directory survive the loss of power, where the system can do that: files that were
// made, renamed or removed.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
