package jslog

import (
	"fmt"
	"os"
)

// MarkedInstallation is the id of the log that the high-water mark at path belongs to. It may be read
// beside an engine that runs, and changes nothing.
func MarkedInstallation(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the high-water mark: %w", err)
	}
	defer func() { _ = f.Close() }()
	m := mark{file: f}
	if err := m.read(); err != nil {
		return "", fmt.Errorf("read the high-water mark %s: %w", path, err)
	}
	return m.installation, nil
}
