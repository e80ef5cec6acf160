package files

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

type folder struct {
	*testing.T
	dir string
	c   *Connector
	r   *connector.Registry
}

func open(t *testing.T) *folder {
	t.Helper()
	dir := t.TempDir()
	c, err := New(Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return &folder{t, dir, c, r}
}

func (f *folder) put(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		f.Fatal(err)
	}
}

func (f *folder) want(name, text string) {
	f.Helper()
	if got, err := os.ReadFile(filepath.Join(f.dir, name)); err != nil || string(got) != text {
		f.Errorf("%s = %q, %v, want %q", name, got, err, text)
	}
}

func (f *folder) read(operation, params string) (json.RawMessage, *eventlog.Failure) {
	f.Helper()
	raw, err := f.r.Read(f.Context(), connector.Call{Connector: "files", Operation: operation,
		Params: json.RawMessage(params)})
	var failure *eventlog.Failure
	if err != nil && !errors.As(err, &failure) {
		f.Fatal(err)
	}
	return raw, failure
}

func write(key, path, content string) connector.Call {
	params, err := json.Marshal(map[string]string{"path": path, "content": content})
	if err != nil {
		panic(err)
	}
	return connector.Call{
		Connector: "files", Operation: "write", Key: key, Params: params,
		StartedAt: time.Now(), Deadline: time.Now().Add(time.Minute),
	}
}

func (f *folder) perform(call connector.Call, want connector.Status) connector.Outcome {
	f.Helper()
	out := f.r.Perform(f.Context(), call)
	if out.Status != want {
		f.Fatalf("write = %v %s %v, want %v", out.Status, out.Result, out.Failure, want)
	}
	return out
}

func (f *folder) reconcile(call connector.Call, want connector.Verdict) {
	f.Helper()
	if got := f.r.Reconcile(f.Context(), call); got.Verdict != want {
		f.Fatalf("reconcile = %v %s %v, want %v", got.Verdict, got.Result, got.Failure, want)
	}
}

func TestWriteReadList(t *testing.T) {
	f := open(t)
	out := f.perform(write("k1", "a/b/x.txt", "hé"), connector.Applied)
	sum := sha256.Sum256([]byte("hé"))
	if want := fmt.Sprintf(`{"path":"a/b/x.txt","sha256":"%s","size":3}`, hex.EncodeToString(sum[:])); string(
		out.Result) != want {
		t.Errorf("result = %s, want %s", out.Result, want)
	}
	f.want("a/b/x.txt", "hé")
	f.put("bin", "\xff\x00")
	f.put("z.txt", "1")
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"a", "bin", "z.txt"} {
		if err := os.Chtimes(filepath.Join(f.dir, name), modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ operation, params, want string }{
		{"list", `{"pattern":"*.txt"}`,
			`{"entries":[{"name":"z.txt","path":"z.txt","type":"file","size":1,"modified":"2026-01-02T03:04:05Z"}]}`},
		{"list", `{"path":"a","pattern":"x*"}`, `{"entries":[]}`},
		{"read", `{"path":"z.txt"}`,
			`{"content":"1","encoding":"utf8","modified":"2026-01-02T03:04:05Z","path":"z.txt","size":1}`},
		{"read", `{"path":"bin","encoding":"base64"}`, `{"content":"` +
			base64.StdEncoding.EncodeToString([]byte("\xff\x00")) +
			`","encoding":"base64","modified":"2026-01-02T03:04:05Z","path":"bin","size":2}`},
	} {
		if got, failure := f.read(c.operation, c.params); failure != nil || string(got) != c.want {
			t.Errorf("%s %s = %s, %v, want %s", c.operation, c.params, got, failure, c.want)
		}
	}
	var names []string
	raw, _ := f.read("list", `{}`)
	var all struct{ Entries []entry }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Entries {
		names = append(names, e.Name+" "+e.Type)
	}
	if got := strings.Join(names, ", "); got != "a folder, bin file, z.txt file" {
		t.Errorf("list = %s", got)
	}
}

func TestEveryListedPathLeadsToItsFile(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the file system refuses names that are not UTF-8")
	}
	f := open(t)
	for _, name := range []string{"caf\xe9.txt", "d\xff/in.txt", "caf\uFFFD.txt", "a\nb.txt", `a\b.txt`, " .txt",
		"ok.txt"} {
		f.put(name, "in "+name)
	}
	entries := map[string]int{`{}`: 5, `{"pattern":"*.txt"}`: 5, `{"pattern":"ok*"}`: 1}
	for params, want := range map[string]string{
		`{}`:                  `{"count":2,"names":["caf\\xE9.txt","d\\xFF"]}`,
		`{"pattern":"*.txt"}`: `{"count":1,"names":["caf\\xE9.txt"]}`,
		`{"pattern":"ok*"}`:   ``,
	} {
		raw, failure := f.read("list", params)
		var got struct {
			Entries []entry
			Unnamed json.RawMessage
		}
		if err := json.Unmarshal(raw, &got); err != nil || failure != nil {
			t.Fatal(err, failure)
		}
		if string(got.Unnamed) != want {
			t.Errorf("list %s: unnamed = %s, want %s", params, got.Unnamed, want)
		}
		if len(got.Entries) != entries[params] {
			t.Errorf("list %s = %+v", params, got.Entries)
		}
		for _, e := range got.Entries {
			path, err := json.Marshal(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			raw, failure := f.read("read", `{"path":`+string(path)+`}`)
			var file struct{ Content string }
			if err := json.Unmarshal(raw, &file); err != nil || failure != nil || file.Content != "in "+e.Path {
				t.Errorf("read %q = %q, %v %v", e.Path, file.Content, failure, err)
			}
		}
	}
	for i := range 30 {
		f.put(fmt.Sprintf("many/%02d\xe9", i), "")
	}
	if raw, _ := f.read("list", `{"path":"many"}`); !strings.HasPrefix(string(raw),
		`{"entries":[],"unnamed":{"count":30,"names":["00\\xE9",`) || strings.Count(string(raw), "xE9") != 20 {
		t.Errorf("many = %s", raw)
	}
}

func TestHostilePaths(t *testing.T) {
	f := open(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": secret, "up": "../" + filepath.Base(outside) + "/secret",
		"dir": outside, "loop": "loop", "inside": "ok"} {
		if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.put("ok", "fine")
	if err := notRegular(filepath.Join(f.dir, "pipe")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"../x": "logic files.outside", "a/../../x": "logic files.outside", secret: "logic files.outside",
		"a\x00b": "logic files.path",
		"link":   "precondition files.outside", "up": "precondition files.outside",
		"dir/secret": "precondition files.outside",
		"loop":       "precondition files.path", "pipe": "precondition files.notRegular",
		".pawl/x": "logic files.reserved",
		"gone":    "precondition files.missing", "ok/x": "precondition files.path",
		".":                      "precondition files.notRegular",
		strings.Repeat("x", 300): "logic files.path",
	} {
		params, err := json.Marshal(map[string]string{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		_, failure := f.read("read", string(params))
		if failure == nil || string(failure.Class)+" "+failure.Code != want {
			t.Errorf("read %q: %+v, want %s", path, failure, want)
		}
	}
	if got, failure := f.read("read", `{"path":"inside"}`); failure != nil || !strings.Contains(string(got), "fine") {
		t.Errorf("a link that stays inside: %s, %v", got, failure)
	}
	for _, path := range []string{"../x", secret, "dir/new", "dir/sub/new", "link", "pipe", ".pawl/x", "."} {
		out := f.perform(write("k"+path, path, "evil"), connector.Failed)
		if out.Failure.Class == eventlog.Internal {
			t.Errorf("write %q: %+v", path, out.Failure)
		}
	}
	if text, _ := os.ReadFile(secret); string(text) != "s3cret" {
		t.Errorf("the file outside was changed: %q", text)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside: %v", entries)
	}
}

func TestLimits(t *testing.T) {
	f := open(t)
	f.put("big", strings.Repeat("x", maxFile+1))
	if _, failure := f.read("read", `{"path":"big"}`); failure == nil || failure.Code != "files.tooBig" {
		t.Errorf("read: %+v", failure)
	}
	out := f.perform(write("k", "x", strings.Repeat("x", maxFile+1)), connector.Failed)
	if out.Failure.Code != "files.tooBig" {
		t.Errorf("write: %+v", out.Failure)
	}
	f.put("bin", "\xff")
	if _, failure := f.read("read", `{"path":"bin"}`); failure == nil || failure.Code != "files.encoding" {
		t.Errorf("read: %+v", failure)
	}
}

func TestTheSameKeyAgainHasNoSecondEffect(t *testing.T) {
	f := open(t)
	first := f.perform(write("k1", "x", "one"), connector.Applied)
	f.put("x", "a person's")
	again := f.perform(write("k1", "x", "one"), connector.Applied)
	if string(again.Result) != string(first.Result) {
		t.Errorf("second answer = %s, want %s", again.Result, first.Result)
	}
	f.want("x", "a person's")
	f.reconcile(write("k1", "x", "one"), connector.VerdictApplied)
	f.perform(write("k2", "x", "two"), connector.Applied)
	f.want("x", "two")
}

// TestReconcileAfterACrash stops a write after each of its steps, as a crash would.
func TestReconcileAfterACrash(t *testing.T) {
	mark, content := (&marks{}).names("k1")
	call := write("k1", "x", "new")
	for name, c := range map[string]struct {
		crash func(f *folder)
		want  connector.Verdict
		file  string
	}{
		"before anything": {func(*folder) {}, connector.VerdictFailed, "old"},
		"content written": {func(f *folder) { f.put(content, "new") }, connector.VerdictFailed, "old"},
		"content torn":    {func(f *folder) { f.put(content, "n") }, connector.VerdictFailed, "old"},
		"marked":          {func(f *folder) { f.put(content, "new"); f.put(mark, "") }, connector.VerdictFailed, "old"},
		"renamed":         {func(f *folder) { f.put("x", "new"); f.put(mark, "") }, connector.VerdictApplied, "new"},
		"answer torn": {func(f *folder) { f.put("x", "new"); f.put(mark, `{"pa`) }, connector.VerdictApplied,
			"new"},
		"renamed and replaced by a person": {func(f *folder) { f.put("x", "other"); f.put(mark, "") },
			connector.VerdictRetry, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.put("x", "old")
			c.crash(f)
			f.reconcile(call, c.want)
			f.want("x", c.file)
			f.reconcile(call, c.want)
			if c.want == connector.VerdictFailed {
				// What was answered must hold: the call can never be applied any more.
				f.perform(call, connector.Failed)
				f.want("x", c.file)
			}
		})
	}
}

// TestReconcileBesideTheWriter lets the writer go on after reconcile has answered, from each step on.
func TestReconcileBesideTheWriter(t *testing.T) {
	f := open(t)
	f.put("x", "old")
	call := write("k1", "x", "new")
	mark, content := f.c.marks.names("k1")
	if err := errors.Join(f.c.marks.prepare(time.Now()), f.c.writeContent(content, []byte("new"),
		ownersAlone)); err != nil {
		t.Fatal(err)
	}
	f.reconcile(call, connector.VerdictFailed)
	if err := f.c.marks.begin(mark); !errors.Is(err, os.ErrExist) {
		t.Errorf("the writer may go on to its mark: %v", err)
	}
	mark, content = f.c.marks.names("k2")
	if err := errors.Join(f.c.writeContent(content, []byte("new"), ownersAlone), f.c.marks.begin(mark)); err != nil {
		t.Fatal(err)
	}
	f.reconcile(write("k2", "x", "new"), connector.VerdictFailed)
	if err := f.c.dir.Root.Rename(content, "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the writer may rename: %v", err)
	}
	f.want("x", "old")
}

func TestAnOldCallIsNotFailedForAMissingMark(t *testing.T) {
	f := open(t)
	f.put("x", "old")
	call := write("k1", "x", "new")
	call.StartedAt = time.Now().Add(-keepMarks)
	f.reconcile(call, connector.VerdictRetry)
	f.put("x", "new")
	f.reconcile(call, connector.VerdictApplied)
}

func TestOldMarksAreRemoved(t *testing.T) {
	f := open(t)
	f.perform(write("k1", "x", "1"), connector.Applied)
	f.perform(write("k2", "x", "2"), connector.Applied)
	old, _ := f.c.marks.names("k1")
	kept, _ := f.c.marks.names("k2")
	past := time.Now().Add(-keepMarks - time.Hour)
	if err := os.Chtimes(filepath.Join(f.dir, old), past, past); err != nil {
		t.Fatal(err)
	}
	if err := f.c.marks.prepare(time.Now().Add(2 * pruneEvery)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, old)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old mark is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, kept)); err != nil {
		t.Errorf("the young mark is gone: %v", err)
	}
}

func TestNothingIsWrittenAfterTheDeadline(t *testing.T) {
	f := open(t)
	late := write("k1", "x", "1")
	late.Deadline = time.Now().Add(-time.Second)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for code, out := range map[string]connector.Outcome{
		connector.CodeDeadline: f.c.Perform(t.Context(), late), connector.CodeCancelled: f.c.Perform(ended,
			write("k2", "x", "1")),
	} {
		if out.Status != connector.Failed || out.Failure.Code != code {
			t.Errorf("outcome = %+v %v", out, out.Failure)
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func TestRootMustBeAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"", file, file + ".gone"} {
		if _, err := New(Config{Root: root}); err == nil || !strings.Contains(err.Error(), "connectors.files.root") {
			t.Errorf("root %q: error %v", root, err)
		}
	}
}

// A file that is written over keeps the mode that its owner gave it; a new one is for its owner alone, as are
// the marks.
func TestWriteKeepsTheMode(t *testing.T) {
	f := open(t)
	f.perform(write("k1", "new.txt", "x"), connector.Applied)
	f.wantMode("new.txt", 0o600)
	for i, mode := range []os.FileMode{0o644, 0o755, 0o600, 0o664, 0o440} {
		name := fmt.Sprintf("%d.txt", i)
		f.put(name, "old")
		if err := os.Chmod(filepath.Join(f.dir, name), mode); err != nil {
			t.Fatal(err)
		}
		f.perform(write("over"+name, name, "new"), connector.Applied)
		f.want(name, "new")
		f.wantMode(name, mode)
	}
	marks, err := os.ReadDir(filepath.Join(f.dir, markFolder))
	if err != nil || len(marks) != 6 {
		t.Fatalf("marks = %v, %v", marks, err)
	}
	for _, mark := range marks {
		f.wantMode(filepath.Join(markFolder, mark.Name()), 0o600)
	}
}

func (f *folder) wantMode(name string, mode os.FileMode) {
	f.Helper()
	if info, err := os.Stat(filepath.Join(f.dir, name)); err != nil || info.Mode() != mode {
		f.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
	}
}
