package files

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	f.age("in/sub", now.Add(-time.Hour))
	if err := os.Symlink("old.csv", filepath.Join(f.dir, "in/link.csv")); err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{
		`{"path": "in", "pattern": "*.csv"}`:                  "[in/older.csv in/old.csv in/ten.csv in/ahead.csv]",
		`{"path": "in", "pattern": "*.csv", "settled": 60}`:   "[in/older.csv in/old.csv in/ahead.csv]",
		`{"path": "in", "pattern": "*.csv", "settled": 5400}`: "[in/older.csv]",
		`{"path": "in", "pattern": "n*", "settled": 0}`:       "[in/new.csv]",
		`{}`: "[]",
	} {
		answer, failure := f.c.watch(json.RawMessage(params), now) // the test itself may take longer than a file to rest
		page, _ := answer.(watchResult)
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
