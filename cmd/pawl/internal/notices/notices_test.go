package notices

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// The way to a file leads over every link, and ends where something is missing.
func TestRoute(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(placeFiles(t, map[string]string{"real/a.ts": "", "data/1/a.ts": ""}))
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"absolute.ts": filepath.Join(dir, "real", "a.ts"), "twice.ts": "absolute.ts", "folder": "real/.",
		"up":       "folder/../data",
		"data/now": "1", "data/a.ts": "now/a.ts", "dangling.ts": "nowhere/a.ts", "circle.ts": "circle.ts",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"real/a.ts":         {"real/a.ts"},
		"absolute.ts":       {"absolute.ts", "real/a.ts"},
		"twice.ts":          {"twice.ts", "absolute.ts", "real/a.ts"},
		"folder/a.ts":       {"folder", "real/a.ts"},
		"data/a.ts":         {"data/a.ts", "data/now", "data/1/a.ts"},
		"up/a.ts":           {"up", "folder", "data/a.ts", "data/now", "data/1/a.ts"},
		"dangling.ts":       {"dangling.ts", "nowhere"},
		"real/b.ts":         {"real/b.ts"},
		"gone/with/all.ts":  {"gone"},
		"real/a.ts/file.ts": {"real/a.ts/file.ts"},
	} {
		for i := range want {
			want[i] = filepath.Join(dir, want[i])
		}
		if got := route(filepath.Join(dir, path)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := route(filepath.Join(dir, "circle.ts")); len(got) != maxLinks+1 {
		t.Errorf("a circle: %d places", len(got))
	}
}

// Files are read at once, and then when notices of them have come and no more for a while.
func TestNoticesSettle(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(placeFiles(t, map[string]string{"a.ts": "", "other/b.ts": ""}))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		events, failures := make(chan fsnotify.Event), make(chan error)
		var failed []error
		n := Follower{
			Files: []string{filepath.Join(dir, "a.ts"), filepath.Join(dir, "other", "b.ts")}, Folders: &recordedFolders{},
			Events: events, Errors: failures,
			Failed: func(err error) { failed = append(failed, err) },
		}
		var looks atomic.Int64
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.Follow(ctx, func() { looks.Add(1) })
		}()
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		want := func(n int64, what string) {
			t.Helper()
			if got := looks.Load(); got != n {
				t.Errorf("%s: %d looks, want %d", what, got, n)
			}
		}
		tell := func(op fsnotify.Op, name string) { events <- fsnotify.Event{Name: filepath.Join(dir, name), Op: op} }
		pass(0)
		want(1, "at the start")

		for range 5 {
			tell(fsnotify.Write, "a.ts")
			pass(QuietTime - 1)
		}
		want(1, "while notices come")
		pass(1)
		want(2, "after the last")
		pass(time.Hour)
		want(2, "without any")

		tell(fsnotify.Write, "other.log")
		tell(fsnotify.Create, "other/c.ts")
		tell(fsnotify.Write, "other")
		pass(time.Hour)
		want(2, "of other files")

		for i, name := range []string{"A.ts", "other"} {
			tell(fsnotify.Rename, name)
			pass(QuietTime)
			want(int64(3+i), name)
		}

		failures <- fsnotify.ErrEventOverflow
		pass(QuietTime)
		want(5, "after notices were dropped")
		odd := errors.New("odd")
		failures <- odd
		pass(QuietTime)
		want(6, "after an error")
		if !slices.Equal(failed, []error{odd}) {
			t.Errorf("failures %v", failed)
		}
		end()
		<-ended
	})
}

// A file that never comes to rest holds up neither itself nor the others.
func TestNoticesWithoutEnd(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(placeFiles(t, map[string]string{"a.ts": "", "b.ts": ""}))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		events := make(chan fsnotify.Event)
		n := Follower{Files: []string{filepath.Join(dir, "a.ts"), filepath.Join(dir, "b.ts")}, Folders: &recordedFolders{},
			Events: events}
		var looks atomic.Int64
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.Follow(ctx, func() { looks.Add(1) })
		}()
		synctest.Wait()
		for begun := time.Now(); time.Since(begun) < time.Minute; {
			events <- fsnotify.Event{Name: filepath.Join(dir, "a.ts"), Op: fsnotify.Write}
			<-time.After(QuietTime / 2)
		}
		if got, most := looks.Load(), int64(time.Minute/longestBurst)+1; got < most/2 || got > most {
			t.Errorf("%d looks in a minute, want about %d", got, most)
		}
		end()
		<-ended
	})
}

// Nothing stays watched that no longer leads to a file.
func TestNoticesWatchTheWay(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(placeFiles(t, map[string]string{"one/a.ts": "", "two/a.ts": ""}))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	relink := func(target string) {
		t.Helper()
		if err := os.Symlink(target, at("next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at("next"), at("now")); err != nil {
			t.Fatal(err)
		}
	}
	watched := &recordedFolders{}
	n := Follower{Files: []string{at("now/a.ts")}, Folders: watched}
	for target, want := range map[string][]string{"one": {dir, at("one")}, "two": {dir, at("two")}, "three": {dir}} {
		relink(target)
		n.watch()
		slices.Sort(watched.list)
		if !slices.Equal(watched.list, want) {
			t.Errorf("to %s: %q, want %q", target, watched.list, want)
		}
	}
}

// The system tells of every way in which a file's bytes can change, and nothing goes on after the end.
func TestNoticesOfTheSystem(t *testing.T) {
	before := goleak.IgnoreCurrent()
	dir := placeFiles(t, map[string]string{"plain.ts": "1", "real/linked.ts": "1", "folder/inside.ts": "1"})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	if err := os.Symlink(at("real/linked.ts"), at("linked.ts")); err != nil {
		t.Fatal(err)
	}
	n, done, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	n.Files = []string{at("plain.ts"), at("linked.ts"), at("folder/inside.ts")}
	n.Failed = func(err error) { t.Error(err) }
	ctx, end := context.WithCancel(t.Context())
	ended, looks := make(chan struct{}), make(chan map[string]string)
	go func() {
		defer close(ended)
		n.Follow(ctx, func() {
			found := map[string]string{}
			for _, file := range n.Files {
				if text, err := os.ReadFile(file); err == nil {
					found[file] = string(text)
				}
			}
			select {
			case looks <- found:
			case <-ctx.Done():
			}
		})
	}()
	content := map[string]string{at("plain.ts"): "1", at("linked.ts"): "1", at("folder/inside.ts"): "1"}
	seen := func() {
		t.Helper()
		limit := time.NewTimer(time.Minute) // only a failing test waits so long
		defer limit.Stop()
		for {
			select {
			case found := <-looks:
				if maps.Equal(found, content) {
					return
				}
			case <-limit.C:
				t.Fatalf("%q is not noticed", content)
			}
		}
	}
	sees := func(name, text string) {
		t.Helper()
		content[at(name)] = text
		seen()
	}
	seen()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	writeText(t, at("plain.ts"), "written")
	sees("plain.ts", "written")
	must(durable.WriteFile(at("plain.ts"), []byte("replaced")))
	sees("plain.ts", "replaced")
	must(durable.WriteFile(at("real/linked.ts"), []byte("behind the link")))
	sees("linked.ts", "behind the link")
	must(os.Symlink(at("plain.ts"), at("next")))
	must(os.Rename(at("next"), at("linked.ts")))
	sees("linked.ts", "replaced")
	must(os.RemoveAll(at("folder")))
	delete(content, at("folder/inside.ts"))
	seen()
	must(os.Mkdir(at("folder"), 0o700))
	writeText(t, at("folder/inside.ts"), "again")
	sees("folder/inside.ts", "again")
	writeText(t, at("folder/inside.ts"), "and again")
	sees("folder/inside.ts", "and again")
	must(os.Rename(at("folder"), at("away")))
	must(os.Mkdir(at("folder"), 0o700))
	writeText(t, at("folder/inside.ts"), "another folder")
	sees("folder/inside.ts", "another folder")

	end()
	<-ended
	must(done())
	goleak.VerifyNone(t, before)
}

// recordedFolders are recorded and not watched.
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
