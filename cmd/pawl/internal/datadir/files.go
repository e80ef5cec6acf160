package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// urlFile, in the data directory, holds the address while an engine runs there.
const URLFile = "http.url"

// WriteFile replaces a file so that a reader, or a crash, sees the old or the new content.
func WriteFile(path string, content []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	if _, err := temporary.Write(content); err != nil {
		return errors.Join(err, temporary.Close())
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// HTTPAddress is the address that an engine has written into its data directory, empty for none.
func HTTPAddress(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, URLFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", exit.Failed("", fmt.Errorf("find the engine: %w", err))
	}
	return strings.TrimSpace(string(text)), nil
}

// HoldsLog reports whether there is a log, or what says that there was one.
func HoldsLog(data string) bool {
	for _, name := range []string{"jetstream", MarkFile} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			return true
		}
	}
	return false
}

// markFile, in the data directory, says up to where the log was acknowledged.
const MarkFile = "log.mark"
