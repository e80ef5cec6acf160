package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write puts files under a folder.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inModule runs the command in a module made of these files and returns what it printed.
func inModule(t *testing.T, files map[string]string, args ...string) (code int, out string) {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module example.org/m\n\ngo 1.26\n"
	write(t, root, files)
	t.Chdir(root)
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

func TestTests_RealRun(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"good/good_test.go": `package good
import "testing"
func TestPass(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }
func TestSkip(t *testing.T) { t.Skip("no machine for it") }
func TestShort(t *testing.T) { if testing.Short() { t.Skip("too long") } }
`,
		"bad/bad_test.go": `package bad
import "testing"
func TestPass(t *testing.T) {}
func TestFail(t *testing.T) { t.Log("before"); t.Fatal("it is broken") }
func TestLong(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		for i := range 200 { t.Logf("said line %d", i) }
		t.Fatal("and then it broke")
	})
}
`,
		"broken/broken_test.go": "package broken\nvar x int = \"text\"\n",
		"dead/dead_test.go": `package dead
import ("os"; "testing")
func TestMain(m *testing.M) { println("last words"); os.Exit(3) }
func TestNever(t *testing.T) {}
`,
	})

	var out bytes.Buffer
	all := &report{out: &out}
	all.tests(t.Context(), root, false, []string{"./..."})
	if !all.failed {
		t.Error("failing tests were reported as clean")
	}
	for _, want := range []string{
		"FAIL  tests", "it is broken", "before", "cannot use \"text\"", "last words",
		"skip  example.org/m/good.TestSkip: good_test.go:4: no machine for it",
		"said line 199", "and then it broke", "lines before",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not hold %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "said line 100\n") {
		t.Errorf("more than the end of a long output was printed:\n%s", out.String())
	}
	for _, failed := range []string{"bad.TestFail", "bad.TestLong/sub", "bad.TestLong", "build of example.org/m/broken", "dead"} {
		names := out.String()[strings.LastIndex(out.String(), "      "):]
		if !strings.Contains(names, failed) {
			t.Errorf("the names of what failed at the end lack %s:\n%s", failed, names)
		}
	}
	if !strings.HasSuffix(out.String(), "\n4 passed, 3 failed, 1 skipped\n") {
		t.Errorf("the count is not the last line:\n%s", out.String())
	}

	out.Reset()
	one := &report{out: &out}
	one.tests(t.Context(), root, true, []string{"./good"})
	if one.failed || !strings.HasPrefix(out.String(), "ok    tests") || !strings.HasSuffix(out.String(), "2 passed, 0 failed, 2 skipped\n") {
		t.Errorf("-short of the good package: failed %v\n%s", one.failed, out.String())
	}

	out.Reset()
	none := &report{out: &out}
	none.tests(t.Context(), root, false, []string{"./missing"})
	if !none.failed || !strings.Contains(out.String(), "missing") {
		t.Errorf("a package that does not exist: failed %v\n%s", none.failed, out.String())
	}
}

func TestRun_ReportsEveryStepAndFails(t *testing.T) {
	code, out := inModule(t, map[string]string{
		"eventlog/doc.go": "// Package eventlog is an example.\npackage eventlog\n",
		"eventlog/a.go":   "package eventlog\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\", \"text\") }\n",
	}, "-run-tests=false")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{"ok    gofmt", "ok    imports", "ok    layout", "FAIL  vet", "wrong type"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not hold %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "tests ") || strings.Contains(out, "passed") {
		t.Errorf("tests were run:\n%s", out)
	}
}

func TestRun_Usage(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"-unknown"}, &out, &out); code != 2 {
		t.Errorf("an unknown flag: exit code %d, want 2", code)
	}
	if code := run(t.Context(), []string{"-h"}, &out, &out); code != 0 {
		t.Errorf("-h: exit code %d, want 0", code)
	}
	t.Chdir(t.TempDir())
	out.Reset()
	if code := run(t.Context(), nil, &out, &out); code != 1 || !strings.Contains(out.String(), "inside the repository") {
		t.Errorf("outside a module: exit code %d, %s", code, out.String())
	}
}
