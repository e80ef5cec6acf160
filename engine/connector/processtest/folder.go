package processtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Folder is what a server has for its files.
type Folder struct {
	Path string
	user string
}

// NewFolder makes a folder for a server; it goes with the test. Where the test is root, the server runs as the user of
// that name, or as nobody.
func NewFolder(t testing.TB, user string) *Folder {
	t.Helper()
	dir, err := os.MkdirTemp("", "pawl-") // a test's own folder can only be entered by the test's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil { // what is in it has names that are known
		t.Fatal(err)
	}
	owned := filepath.Join(dir, "server")
	if err := os.Mkdir(owned, 0o700); err != nil {
		t.Fatal(err)
	}
	return &Folder{Path: owned, user: user}
}
