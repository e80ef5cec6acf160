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
	path := filepath.Join(data, URLFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", exit.Failed("let this user read "+path+", or say where the engine is: --url URL or PAWL_URL",
			fmt.Errorf("find the engine: %w", err))
	}
	return strings.TrimSpace(string(text)), nil
}

// LetWrite is what a person does where a file in the folder could not be written.
func LetWrite(dir string) string {
	return "let this user write in " + dir + ", and free space if its disk is full; then start again"
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
