package run

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/fsnotify/fsnotify"

	"github.com/pawl-run/pawl/cmd/pawl/internal/notices"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// A file is tried when its bytes are others than those last tried, and its loss is told once.
func TestWatchTriesOtherBytesOnly(t *testing.T) {
	t.Parallel()
	f := &watched{hash: hashOf([]byte("one"))}
	gone := fs.ErrNotExist
	for i, step := range []struct {
		text string
		err  error
		want finding
	}{
		{"one", nil, foundSame},
		{"two", nil, foundChanged},
		{"two", nil, foundSame},
		{"", nil, foundChanged},
		{"one", nil, foundChanged},
		{"", gone, foundLost},
		{"", gone, foundSame},
		{"", fs.ErrPermission, foundSame},
		{"one", nil, foundSame},
		{"", gone, foundLost},
		{"two", nil, foundChanged},
	} {
		if got := f.find([]byte(step.text), step.err); got != step.want {
			t.Errorf("step %d, %q, %v: %d, want %d", i, step.text, step.err, got, step.want)
		}
	}
	f.hash = "" // a try failed for another reason
	if got := f.find([]byte("two"), nil); got != foundChanged {
		t.Errorf("the same bytes are not tried again: %d", got)
	}
}

// A pipe has been read at the start; to read it again could wait forever.
func TestWatchLeavesPipes(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("no pipe has a path here")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	pipe := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := readRegular(pipe); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("read: %v", err)
	}
	deployer{}.watching([]source.Script{{Path: pipe}})(t.Context(), nil) // has nothing to wait for
}

// An engine runs without notices, and says once what that means.
func TestWatchWithoutNotices(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (notices.Follower, func() error, error){
		"no watcher": func() (notices.Follower, func() error, error) { return notices.Follower{}, nil, syscall.EMFILE },
		"no folders": func() (notices.Follower, func() error, error) {
			return notices.Follower{Folders: &fullFolders{}}, func() error { return nil }, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := placeFiles(t, map[string]string{"a/a.ts": "one", "b/b.ts": "two"})
			synctest.Test(t, func(t *testing.T) {
				var stderr bytes.Buffer
				w := watcher{deployer: deployer{screen: term.Screen{Err: &stderr}}}
				for name, text := range map[string]string{"a/a.ts": "one", "b/b.ts": "two"} {
					w.files = append(w.files, &watched{path: filepath.Join(dir, name), hash: hashOf([]byte(text))})
				}
				ctx, end := context.WithTimeout(t.Context(), notices.QuietTime)
				defer end()
				w.run(ctx, open)
				if n := strings.Count(stderr.String(), "warning: a file that changes while this runs may not be deployed"); n != 1 {
					t.Errorf("%d warnings:\n%s", n, &stderr)
				}
				if !strings.Contains(stderr.String(), "\n  start again after a change") {
					t.Errorf("no way out is named:\n%s", &stderr)
				}
			})
		})
	}
}

// fullFolders has no room for any.
type fullFolders struct{}

func (*fullFolders) Add(string) error { return syscall.ENOSPC }

func (*fullFolders) Remove(string) error { return fsnotify.ErrNonExistentWatch }

func (*fullFolders) WatchList() []string { return nil }

// placeFiles writes files into a folder of the test.
func placeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, path, text)
	}
	return dir
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
