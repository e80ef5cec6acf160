package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// age sets when a file was changed last.
func (f *folder) age(name string, modified time.Time) {
	f.Helper()
	if err := os.Chtimes(filepath.Join(f.dir, name), modified, modified); err != nil {
		f.Fatal(err)
	}
}

func (f *folder) watch(params string) (page watchResult, failure *eventlog.Failure) {
	f.Helper()
	raw, failure := f.read("watch", params)
	if failure == nil {
		if err := json.Unmarshal(raw, &page); err != nil {
			f.Fatal(err)
		}
	}
	return page, failure
}

func paths(files []watched) (all []string) {
	for _, w := range files {
		all = append(all, w.Path)
	}
	return all
}

func TestWatchShowsWhatHasComeToRest(t *testing.T) {
	f := open(t)
	now := time.Now()
	for name, age := range map[string]time.Duration{"in/new.csv": 0, "in/old.csv": time.Hour,
		"in/older.csv": 2 * time.Hour, "in/ahead.csv": -time.Hour, "in/ten.csv": 10 * time.Second,
		"in/other.txt": time.Hour, "in/sub/x.csv": time.Hour} {
		f.put(name, name)
		f.age(name, now.Add(-age))
	}
	f.put(".pawl-x", "")
	f.put(".pawl", "no folder: the time is that of this machine")
	f.c.now = func() time.Time { return now } // the test itself may take longer than a file to rest
	f.age("in/sub", now.Add(-time.Hour))
	if err := os.Symlink("old.csv", filepath.Join(f.dir, "in/link.csv")); err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{
		`{"path": "in", "pattern": "*.csv"}`:                  "[in/older.csv in/old.csv in/ten.csv]",
		`{"path": "in", "pattern": "*.csv", "settled": 60}`:   "[in/older.csv in/old.csv]",
		`{"path": "in", "pattern": "*.csv", "settled": 5400}`: "[in/older.csv]",
		`{"path": "in", "pattern": "n*", "settled": 0}`:       "[in/new.csv]",
		`{}`: "[]",
	} {
		page, failure := f.watch(params)
		if failure != nil || fmt.Sprint(paths(page.Files)) != want || page.Next != nil {
			t.Errorf("watch %s = %v, %v, %v, want %s", params, paths(page.Files), page.Next, failure, want)
		}
	}
	for params, code := range map[string]string{`{"path": "gone"}`: "files.missing", `{"path": ".."}`: "files.outside",
		`{"pattern": "["}`: "files.pattern", `{"after": "x"}`: "files.after", `{"after": "5"}`: "files.after"} {
		if _, failure := f.watch(params); failure == nil || failure.Code != code {
			t.Errorf("watch %s: %+v, want %s", params, failure, code)
		}
	}
}

// What has come to rest is seen by the file system's own clock, however far that of this machine is from it.
func TestWatchAsksTheFileSystemForTheTime(t *testing.T) {
	for name, skew := range map[string]time.Duration{"one time": 0, "this machine is behind": -24 * time.Hour,
		"this machine is ahead": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.c.now = func() time.Time { return time.Now().Add(skew) }
			f.put("a", "written hours ago")
			f.age("a", time.Now().Add(-2*time.Hour))
			f.put("b", "half writ")
			page, failure := f.watch(`{"settled": 3600}`)
			if failure != nil || fmt.Sprint(paths(page.Files)) != "[a]" {
				t.Errorf("watch = %v, %v, want a alone", paths(page.Files), failure)
			}
		})
	}
}

// A folder is looked at for as long as the call may take, in batches, and a page of it is kept.
func TestAnEndedCallLooksNoFurther(t *testing.T) {
	f := open(t)
	for i := range 2*batch + 1 {
		f.put(fmt.Sprint(i), "")
	}
	for _, operation := range []string{"list", "watch"} {
		t.Run(operation, func(t *testing.T) {
			call := connector.Call{Connector: "files", Operation: operation, Params: json.RawMessage(`{"settled": 0}`)}
			if operation == "list" {
				call.Params = json.RawMessage(`{}`)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			var failure *eventlog.Failure
			if _, err := f.c.Read(ended, call); !errors.As(err, &failure) || failure.Code != connector.CodeCancelled {
				t.Errorf("with an ended context: %v, want %s", err, connector.CodeCancelled)
			}
			if _, err := f.c.Read(t.Context(), call); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, failure := f.c.scan(ctx, connector.Call{}, ".", "", func(string, fs.FileInfo) *eventlog.Failure {
		seen++
		cancel()
		return nil
	})
	if failure == nil || failure.Code != connector.CodeCancelled || seen != 1 {
		t.Errorf("%d entries were seen after the call was given up, %v", seen-1, failure)
	}
}

// The first files of a page are kept, and no more of them than the page has.
func TestEarliest(t *testing.T) {
	for _, all := range []int{0, 3, 4, 5, 100} {
		first := earliest{}
		for i := range all {
			first.keep(watched{at: int64(i * 37 % 101)}, 4)
			if len(first) > 4 {
				t.Fatalf("%d files are kept", len(first))
			}
		}
		var want, got []int64
		for i := range all {
			want = append(want, int64(i*37%101))
		}
		for _, w := range first {
			got = append(got, w.at)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want[:min(4, all)]) {
			t.Errorf("of %d: %v are kept, want %v", all, got, want[:min(4, all)])
		}
	}
}

// A file has the same id as long as it is the same, and another one when it has changed.
func TestWatchGivesEachStateOneID(t *testing.T) {
	f := open(t)
	then := time.Date(2026, 3, 2, 10, 0, 0, 123456789, time.UTC)
	put := func(text string, at time.Time) string {
		f.put("a", text)
		f.age("a", at)
		page, failure := f.watch(`{}`)
		if failure != nil || len(page.Files) != 1 {
			t.Fatalf("%v %+v", page, failure)
		}
		return page.Files[0].ID
	}
	first := put("one", then)
	if first != "1772445600123456789.3.a" {
		t.Errorf("id = %s", first)
	}
	if again := put("one", then); again != first {
		t.Errorf("the id of the same file is %s, then %s", first, again)
	}
	for _, other := range []string{put("one", then.Add(time.Nanosecond)), put("four", then)} {
		if other == first {
			t.Errorf("the changed file has the same id %s", first)
		}
	}
}

// Page by page, each file is shown once, whatever its name is and also where files have one time.
func TestWatchPages(t *testing.T) {
	f := open(t)
	then := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	want := map[string]bool{}
	long := strings.Repeat(strings.Repeat("d", 200)+"/", 2)
	for i := range 25 {
		name := fmt.Sprintf("%slong %d", long, i)
		if i%2 == 0 {
			name = fmt.Sprintf("%sbroken\n%d", long, i)
		}
		f.put(name, "x")
		f.age(name, then.Add(time.Duration(i/5)*time.Second))
		want[name] = true
	}
	after, pages := "null", 0
	ids := map[string]bool{}
	for last := ""; ; pages++ {
		params := fmt.Sprintf(`{"path": %q, "limit": 4, "after": %s}`, strings.TrimSuffix(long, "/"), after)
		page, failure := f.watch(params)
		if failure != nil {
			t.Fatal(failure)
		}
		for _, w := range page.Files {
			if ids[w.ID] || !want[w.Path] || len(w.ID) > 512 || strings.Contains(w.ID, "\n") {
				t.Errorf("%q has the id %q", w.Path, w.ID)
			}
			if w.Modified < last {
				t.Errorf("%s comes after %s", w.Modified, last)
			}
			last, ids[w.ID] = w.Modified, true
		}
		if page.Next == nil {
			break
		}
		text, err := json.Marshal(*page.Next)
		if err != nil {
			t.Fatal(err)
		}
		after = string(text)
	}
	if len(ids) != 25 || pages != 6 {
		t.Errorf("%d files on %d pages, want 25 on 7", len(ids), pages+1)
	}
}
