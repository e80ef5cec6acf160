package files

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

func moving(key, from, to string) connector.Call {
	params, err := json.Marshal(map[string]string{"from": from, "to": to})
	if err != nil {
		panic(err)
	}
	return connector.Call{
		Connector: "files", Operation: "move", Key: key, Params: params,
		StartedAt: time.Now(), Deadline: time.Now().Add(time.Minute),
	}
}

func (f *folder) wantNone(name string) {
	f.Helper()
	if _, err := os.Lstat(filepath.Join(f.dir, name)); !errors.Is(err, os.ErrNotExist) {
		f.Errorf("%s is there: %v", name, err)
	}
}

// wantNoTokens: a move that is settled leaves its file with one name.
func (f *folder) wantNoTokens() {
	f.Helper()
	if left, err := filepath.Glob(filepath.Join(f.dir, markFolder, "*"+tokenSuffix)); err != nil || len(left) > 0 {
		f.Errorf("tokens are left: %v, %v", left, err)
	}
}

func TestMove(t *testing.T) {
	f := open(t)
	f.put("in/a.txt", "one")
	out := f.perform(moving("k1", "in/a.txt", "done/2026/a.txt"), connector.Applied)
	if want := `{"from":"in/a.txt","to":"done/2026/a.txt"}`; string(out.Result) != want {
		t.Errorf("result = %s, want %s", out.Result, want)
	}
	f.want("done/2026/a.txt", "one")
	f.wantNone("in/a.txt")
	f.wantNoTokens()
	// The same key again moves nothing, also when a file is there again.
	f.put("in/a.txt", "two")
	if again := f.perform(moving("k1", "in/a.txt", "done/2026/a.txt"), connector.Applied); string(again.Result) != string(
		out.Result) {
		t.Errorf("second answer = %s", again.Result)
	}
	f.want("in/a.txt", "two")
	f.want("done/2026/a.txt", "one")
	f.reconcile(moving("k1", "in/a.txt", "done/2026/a.txt"), connector.VerdictApplied)
}

func TestWhatIsNotMoved(t *testing.T) {
	f := open(t)
	f.put("a", "one")
	f.put("there", "two")
	f.put("folder/x", "three")
	outside := t.TempDir()
	for name, to := range map[string]string{"link": filepath.Join(f.dir, "a"), "out": outside, "dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{"a", "there", "precondition files.exists"},
		{"a", "folder", "precondition files.exists"},
		{"a", "dangling", "precondition files.exists"},
		{"gone", "new", "precondition files.missing"},
		{"folder", "new", "precondition files.notRegular"},
		{"link", "new", "precondition files.notRegular"},
		{"a", "a", "logic files.path"},
		{"a", ".", "logic files.path"},
		{"a", "../new", "logic files.outside"},
		{"../a", "new", "logic files.outside"},
		{"a", "out/new", "precondition files.outside"},
		{"out/x", "new", "precondition files.outside"},
		{"a", ".pawl/x", "logic files.reserved"},
		{"a", "there/new", "precondition files.path"},
	} {
		out := f.perform(moving("k "+c.from+" "+c.to, c.from, c.to), connector.Failed)
		if got := string(out.Failure.Class) + " " + out.Failure.Code; got != c.want {
			t.Errorf("%s to %s: %+v, want %s", c.from, c.to, out.Failure, c.want)
		}
	}
	f.want("a", "one")
	f.want("there", "two")
	f.want("folder/x", "three")
	f.wantNone("new")
	f.wantNoTokens()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

// A file that appears at the new path when all has been checked is not replaced either.
func TestMoveReplacesNothingThatAppears(t *testing.T) {
	f := open(t)
	f.put("a", "one")
	call := moving("k1", "a", "b")
	call.Gate = func() *eventlog.Failure {
		f.put("b", "another's")
		return nil
	}
	out := f.perform(call, connector.Failed)
	if out.Failure.Code != "files.exists" {
		t.Errorf("%+v", out.Failure)
	}
	f.want("a", "one")
	f.want("b", "another's")
	f.wantNoTokens()
	f.reconcile(call, connector.VerdictFailed)
}

// A rename that answers an error may have happened all the same: what is said of it follows from where the file is.
func TestARenameThatFails(t *testing.T) {
	type does = func(f *folder, from, to string) error
	real := func(f *folder, from, to string) error { return f.c.dir.RenameNew(from, to) }
	for name, c := range map[string]struct {
		rename   does
		status   connector.Status
		verdict  connector.Verdict // of a reconcile afterwards
		at, none string
		token    bool // it is left
	}{
		"nothing is renamed": {func(*folder, string, string) error { return nil }, connector.Failed,
			connector.VerdictFailed, "a", "b", false},
		"it is renamed": {real, connector.Applied, connector.VerdictApplied, "b", "a", false},
		"it is renamed and taken away": {func(f *folder, from, to string) error {
			return errors.Join(real(f, from, to), f.c.dir.Root.Rename(to, "c"))
		}, connector.Uncertain, connector.VerdictRetry, "c", "b", true},
		"it is at both": {func(f *folder, from, to string) error {
			return f.c.dir.Root.Link(from, to)
		}, connector.Uncertain, connector.VerdictRetry, "b", "c", true},
		"nothing is renamed, and its key cannot be given up": {func(f *folder, _, _ string) error {
			m, failure := f.c.parseMove(moving("k1", "a", "b"))
			if failure != nil {
				return failure
			}
			return f.c.dir.Root.Mkdir(m.mark+".bar", 0o700) // a folder where rebar has to write
		}, connector.Uncertain, connector.VerdictRetry, "a", "b", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.put("a", "one")
			f.c.rename = func(from, to string) error {
				if err := c.rename(f, from, to); err != nil {
					t.Error(err)
				}
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EIO}
			}
			call := moving("k1", "a", "b")
			out := f.perform(call, c.status)
			if c.status != connector.Applied && out.Failure.Code != "files.io" {
				t.Errorf("the failure is %+v", out.Failure)
			}
			f.want(c.at, "one")
			f.wantNone(c.none)
			if tokens, err := filepath.Glob(filepath.Join(f.dir, markFolder, "*"+tokenSuffix)); err != nil ||
				(len(tokens) == 1) != c.token {
				t.Errorf("tokens: %v, %v", tokens, err)
			}
			f.reconcile(call, c.verdict)
		})
	}
}

func TestNothingIsMovedWithoutTheRight(t *testing.T) {
	f := open(t)
	f.put("a", "one")
	late := moving("k1", "a", "b")
	late.Deadline = time.Now().Add(-time.Second)
	refused := moving("k2", "a", "b")
	refused.Gate = func() *eventlog.Failure { return connector.Failf(eventlog.Transient, "lease.lost", "no") }
	for code, call := range map[string]connector.Call{connector.CodeDeadline: late, "lease.lost": refused} {
		if out := f.c.Perform(t.Context(), call); out.Status != connector.Failed || out.Failure.Code != code {
			t.Errorf("outcome = %d %+v, want %s", out.Status, out.Failure, code)
		}
	}
	f.want("a", "one")
	f.wantNone("b")
	f.wantNoTokens()
}

// TestReconcileAMoveAfterACrash stops a move after each of its steps, as a crash would.
func TestReconcileAMoveAfterACrash(t *testing.T) {
	call := moving("k1", "a", "b")
	var linked, begun, renamed func(f *folder)
	step := func(before func(*folder), do func(f *folder, m moveCall) error) func(*folder) {
		return func(f *folder) {
			f.Helper()
			if before != nil {
				before(f)
			}
			m, failure := f.c.parseMove(call)
			if failure != nil {
				f.Fatal(failure)
			}
			if err := do(f, m); err != nil {
				f.Fatal(err)
			}
		}
	}
	linked = step(nil, func(f *folder, m moveCall) error {
		return errors.Join(f.c.marks.prepare(time.Now()), f.c.link(m))
	})
	begun = step(linked, func(f *folder, m moveCall) error { return f.c.marks.begin(m.mark) })
	renamed = step(begun, func(f *folder, m moveCall) error { return f.c.dir.RenameNew(m.from, m.to) })
	for name, c := range map[string]struct {
		crash    func(f *folder)
		want     connector.Verdict
		at, text string
	}{
		"before anything": {func(*folder) {}, connector.VerdictFailed, "a", "old"},
		"linked":          {linked, connector.VerdictFailed, "a", "old"},
		"marked":          {begun, connector.VerdictFailed, "a", "old"},
		"renamed":         {renamed, connector.VerdictApplied, "b", "old"},
		"renamed, and another file is at the old path": {step(renamed, func(f *folder, _ moveCall) error {
			f.put("a", "new")
			return nil
		}), connector.VerdictApplied, "b", "old"},
		"answer torn": {step(renamed, func(f *folder, m moveCall) error {
			f.put(m.mark, `{"fr`)
			return nil
		}), connector.VerdictApplied, "b", "old"},
		"renamed and taken away": {step(renamed, func(f *folder, _ moveCall) error {
			return os.Rename(filepath.Join(f.dir, "b"), filepath.Join(f.dir, "c"))
		}), connector.VerdictRetry, "c", "old"},
		"marked, and another file is at the new path": {step(begun, func(f *folder, _ moveCall) error {
			f.put("b", "another's")
			return nil
		}), connector.VerdictFailed, "b", "another's"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.put("a", "old")
			old := time.Now().Add(-2 * keepMarks) // a token is as old as its file: that alone must not remove it
			if err := os.Chtimes(filepath.Join(f.dir, "a"), old, old); err != nil {
				t.Fatal(err)
			}
			c.crash(f)
			f.c.marks.pruned = time.Time{}
			f.reconcile(call, c.want)
			f.want(c.at, c.text)
			f.reconcile(call, c.want)
			switch c.want {
			case connector.VerdictFailed:
				// What was answered must hold: the call can never be applied any more.
				f.perform(call, connector.Failed)
				f.want("a", "old")
				f.wantNoTokens()
			case connector.VerdictApplied:
				f.perform(call, connector.Applied)
				f.wantNoTokens()
			}
			f.want(c.at, c.text)
		})
	}
}

// Another process asks while a move holds the lock, before or after its rename: it must not say failed.
func TestReconcileBesideAMove(t *testing.T) {
	f := open(t)
	f.put("a", "old")
	call := moving("k1", "a", "b")
	m, failure := f.c.parseMove(call)
	if failure != nil {
		t.Fatal(failure)
	}
	lock, failure := f.c.lockMoves(t.Context(), call, m)
	if failure != nil {
		t.Fatal(failure)
	}
	// A move that does not get the lock is held back by this engine alone.
	over, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	if out := f.c.Perform(over, call); out.Status != connector.Failed || out.Failure.Code != eventlog.CodeHeldBack ||
		out.Failure.Class != eventlog.Transient || out.Failure.RetryAfter < time.Second {
		t.Errorf("a move without the lock: %v %+v", out.Status, out.Failure)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if out := f.c.Perform(ended, call); out.Status != connector.Failed || out.Failure.Code != connector.CodeCancelled {
		t.Errorf("a move that was given up: %v %+v", out.Status, out.Failure)
	}
	if got := f.c.Reconcile(ended, call); got.Verdict != connector.VerdictRetry {
		t.Errorf("reconcile = %v %v, want retry", got.Verdict, got.Failure)
	}
	lock.Close()
	f.reconcile(call, connector.VerdictFailed)
	if err := f.c.marks.begin(m.mark); !errors.Is(err, os.ErrExist) {
		t.Errorf("the move may go on to its mark: %v", err)
	}
}

func TestAnOldMoveIsNotFailedForAMissingMark(t *testing.T) {
	f := open(t)
	f.put("a", "old")
	call := moving("k1", "a", "b")
	call.StartedAt = time.Now().Add(-keepMarks)
	f.reconcile(call, connector.VerdictRetry)
}

// A mark that is removed takes its token along.
func TestOldTokensAreRemoved(t *testing.T) {
	f := open(t)
	f.put("a", "old")
	m, failure := f.c.parseMove(moving("k1", "a", "b"))
	if failure != nil {
		t.Fatal(failure)
	}
	if err := errors.Join(f.c.marks.prepare(time.Now()), f.c.link(m), f.c.marks.begin(m.mark)); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-keepMarks - time.Hour)
	if err := os.Chtimes(filepath.Join(f.dir, m.mark), past, past); err != nil {
		t.Fatal(err)
	}
	if err := f.c.marks.prepare(time.Now().Add(2 * pruneEvery)); err != nil {
		t.Fatal(err)
	}
	f.wantNone(m.mark)
	f.wantNoTokens()
	f.want("a", "old")
}
