package confined

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

func TestFailureClassesComeFromTypes(t *testing.T) {
	d, err := Open("x", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range []struct {
		err   error
		class eventlog.Class
		code  string
	}{
		{&fs.PathError{Err: syscall.ENOENT}, eventlog.Precondition, "x.missing"},
		{&fs.PathError{Err: syscall.EACCES}, eventlog.Permission, "x.permission"},
		{&fs.PathError{Err: syscall.EROFS}, eventlog.Permission, "x.permission"},
		{&os.LinkError{Err: syscall.EEXIST}, eventlog.Precondition, "x.exists"},
		{&fs.PathError{Err: syscall.ENOSPC}, eventlog.Transient, "x.io"},
		{errors.Join(nil, &fs.PathError{Err: syscall.EIO}), eventlog.Transient, "x.io"},
		{&fs.PathError{Err: syscall.ELOOP}, eventlog.Precondition, "x.path"},
		{&fs.PathError{Err: syscall.ENAMETOOLONG}, eventlog.Logic, "x.path"},
		{errors.New("path escapes from parent"), eventlog.Internal, "x.io"}, // text alone proves nothing
	} {
		if f := d.Failure("open", "a", c.err); f.Class != c.class || f.Code != c.code {
			t.Errorf("%v: %+v, want %s %s", c.err, f, c.class, c.code)
		}
	}
}

func TestEscapesAreRecognisedForEveryOperation(t *testing.T) {
	dir := t.TempDir()
	d, err := Open("x", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	_, opened := d.Root.Open("out/a")
	_, stat := d.Root.Stat("out/a")
	_, listed := d.Root.Open("out")
	for name, err := range map[string]error{
		"open": opened, "stat": stat, "list": listed, "make": d.Root.MkdirAll("out/a/b", 0o755),
		"rename": d.Root.Rename("a", "out/a"), "remove": d.Root.Remove("out/a"),
	} {
		if f := d.Failure(name, "out/a", err); f.Code != "x.outside" || f.Class != eventlog.Precondition {
			t.Errorf("%s: %v is %+v", name, err, f)
		}
	}
}

func TestClean(t *testing.T) {
	d, err := Open("x", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, want := range map[string]string{"a": "a", "./a//b/": filepath.Join("a", "b"), "a/../b": "b", ".": ".",
		".pawlet": "", ".pawl/a": "", "..": "", "/a": "", "": ""} {
		got, failure := d.Clean(name)
		if got != want || (failure == nil) != (want != "") {
			t.Errorf("Clean(%q) = %q, %v, want %q", name, got, failure, want)
		}
	}
}

// A file gets a new name only where there is none, and a system that cannot promise that says so.
func TestRenameNew(t *testing.T) {
	root := t.TempDir()
	dir, err := Open("x", root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	err = dir.RenameNew("a", "b")
	if !errors.Is(err, fs.ErrExist) || dir.Failure("move", "b", err).Code != "x.exists" {
		t.Errorf("over another: %v", err)
	}
	if err := dir.RenameNew("gone", "c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if err := dir.RenameNew("a", "../c"); err == nil {
		t.Error("it left the folder")
	}
	if err := dir.RenameNew("a", filepath.Join("sub", "c")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"b": "b", filepath.Join("sub", "c"): "a"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	refused := &os.LinkError{Op: "rename", Old: "a", New: "b", Err: errors.ErrUnsupported}
	if failure := dir.Failure("move", "b", refused); failure.Class != eventlog.Precondition ||
		failure.Code != "x.unsupported" {
		t.Errorf("unsupported: %+v", failure)
	}
}
