package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestDirectoryIsSynced: the directory is synced once the new content has its name, and a failure of that is told.
func TestDirectoryIsSynced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mark")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("the disk is gone")
	var synced []string
	err := write(path, []byte("new"), func(dir string) error {
		synced = append(synced, dir+" with "+read(t, path))
		return failure
	})
	if !errors.Is(err, failure) || len(synced) != 1 || synced[0] != dir+" with new" {
		t.Errorf("%v, synced %q", err, synced)
	}
}

// TestOnlyTheFileIsLeft: whether it works or not, nothing stays beside it, and a failure leaves the old content.
func TestOnlyTheFileIsLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mark")
	for _, content := range []string{"old", "new"} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "new" {
		t.Errorf("it holds %q", got)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(folder, []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
