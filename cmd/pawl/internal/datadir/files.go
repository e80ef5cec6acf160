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

// URLFile, in the data directory, holds the address while an engine runs there.
const URLFile = "http.url"

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

// Past is the folder, in the data directory, where a running engine keeps the states that it folds to show the past.
func Past(data string) string { return filepath.Join(data, "past") }

// HoldsLog reports whether there is a log, or a mark that there was one.
func HoldsLog(data string) bool {
	for _, name := range []string{"jetstream", MarkFile} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			return true
		}
	}
	return false
}

// MarkFile, in the data directory, says up to where the log was acknowledged.
const MarkFile = "log.mark"
