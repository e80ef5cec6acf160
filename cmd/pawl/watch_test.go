package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/fsnotify/fsnotify"

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
	deployer{}.watch([]source{{path: pipe}})(t.Context(), nil) // has nothing to wait for
}

// An engine runs without notices, and says once what that means.
func TestWatchWithoutNotices(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (notices, func() error, error){
		"no watcher": func() (notices, func() error, error) { return notices{}, nil, syscall.EMFILE },
		"no folders": func() (notices, func() error, error) {
			return notices{folders: &fullFolders{}}, func() error { return nil }, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := place(t, map[string]string{"a/a.ts": "one", "b/b.ts": "two"})
			synctest.Test(t, func(t *testing.T) {
				var stderr bytes.Buffer
				w := watcher{deployer: deployer{screen: term.Screen{Err: &stderr}}}
				for name, text := range map[string]string{"a/a.ts": "one", "b/b.ts": "two"} {
					w.files = append(w.files, &watched{path: filepath.Join(dir, name), hash: hashOf([]byte(text))})
				}
				ctx, end := context.WithTimeout(t.Context(), settle)
				defer end()
				w.run(ctx, open)
				if n := strings.Count(stderr.String(), "warning: a file that changes while this runs may not be deployed"); n != 1 {
					t.Errorf("%d warnings:\n%s", n, &stderr)
				}
				mustSay(t, stderr.String(), `^  start again after a change`)
			})
		})
	}
}

// fullFolders has no room for any.
type fullFolders struct{ recordedFolders }

func (*fullFolders) Add(string) error { return syscall.ENOSPC }

// recordedFolders are watched by nobody.
type recordedFolders struct{ list []string }

func (f *recordedFolders) Add(folder string) error {
	if !slices.Contains(f.list, folder) {
		f.list = append(f.list, folder)
	}
	return nil
}

func (f *recordedFolders) Remove(folder string) error {
	i := slices.Index(f.list, folder)
	if i < 0 {
		return fsnotify.ErrNonExistentWatch
	}
	f.list = slices.Delete(f.list, i, i+1)
	return nil
}

func (f *recordedFolders) WatchList() []string { return slices.Clone(f.list) }

// A changed file waits for the tools that it needs; changed once more, it does not.
func TestWatchWaitsForTools(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(smallScript, "NAME", "idle")
	calling := func(operation string) string {
		return strings.Replace(script, "(ctx) {}", "(ctx) { await ctx."+operation+"({}); }", 1)
	}
	dir := place(t, map[string]string{"idle.ts": script})
	w := &toolWorld{t: t, dir: dir, book: book{filepath.Join(dir, "sheet")}}
	w.engine = w.spawn("pawl", "up", "idle.ts", "--nats-listen", ":0")
	w.await(w.engine, `^pawl: answering`)
	save := func(text string) {
		t.Helper()
		if err := writeFile(filepath.Join(dir, "idle.ts"), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	save(calling("nobody.list"))
	w.await(w.engine, `^pawl: \./idle\.ts waits for nobody\.list: start the tools that serve them$`)
	save(script + "\n// mended")
	w.await(w.engine, `^pawl: idle is now 2\.0, from \./idle\.ts$`)
	save(calling("gmail.search"))
	w.await(w.engine, `^pawl: \./idle\.ts waits for gmail\.search: start the tools that serve them$`)
	w.tool(w.address(), "-serve", "search")
	w.await(w.engine, `^pawl: idle is now 3\.0, from \./idle\.ts$`)

	// An interrupt does not wait for tools.
	save(calling("nobody.get"))
	w.await(w.engine, `^pawl: \./idle\.ts waits for nobody\.get`)
	answering(t, w.engine).stop()
	if strings.Contains(w.engine.text(), "not deployed") {
		t.Errorf("something was refused:\n%s", w.engine.text())
	}
}
