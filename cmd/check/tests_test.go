package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	if testing.Short() {
		t.Skip("left out by -short: it builds programs")
	}
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"good/good_test.go": `package good
import "testing"
func TestPass(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }
func TestSkip(t *testing.T) { t.Skip("no machine for it") }
func TestShort(t *testing.T) { if testing.Short() { t.Skip("too long") } }
`,
		"cmd/pawl/internal/client/client_test.go": `package client
import "testing"
func TestQuick(t *testing.T) {}
`,
		"slow/slow_test.go": `package slow
import ("os"; "testing")
func TestAll(t *testing.T) { if os.Getenv("PAWL_TEST_ALL") == "" { t.Skip("left out without -all") } }
`,
		"slow/race_test.go": `//go:build race

package slow
import "testing"
func TestRace(t *testing.T) {}
`,
		"engine/decide/decide_test.go": "package decide\nimport \"testing\"\nfunc TestPlain(t *testing.T) {}\n",
		"engine/decide/race_test.go": `//go:build race

package decide
import "testing"
func TestRace(t *testing.T) { t.Error("nothing can be found here") }
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
		"good/lacking/lacking_test.go": `package lacking
import "testing"
func TestLack(t *testing.T) { t.Skip("no C compiler") }
`,
		"broken/broken_test.go": "package broken\nvar x int = \"text\"\n",
		"dead/dead_test.go": `package dead
import ("os"; "testing")
func TestMain(m *testing.M) { println("last words"); os.Exit(3) }
func TestNever(t *testing.T) {}
`,
	})

	var out bytes.Buffer
	all := &report{out: &out, module: "example.org/m", left: make(omissions)}
	all.tests(t.Context(), root, false, false, []string{"./..."})
	if !all.failed {
		t.Error("failing tests were reported as clean")
	}
	for _, want := range []string{
		"FAIL  tests", "it is broken", "before", "cannot use \"text\"", "last words",
		"skip  good.TestSkip: good_test.go:4: no machine for it",
		"skip  slow.TestAll: slow_test.go:3: left out without -all",
		"said line 0\n", "said line 199", "and then it broke", "lines left out",
		"  good: 3 passed, 0 failed, 1 skipped\n", "s  bad: 1 passed, 3 failed, 0 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not hold %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "said line 100\n") {
		t.Errorf("more than the end of a long output was printed:\n%s", out.String())
	}
	for _, failed := range []string{
		"bad.TestFail", "bad.TestLong/sub", "bad.TestLong", "build of example.org/m/broken", "dead",
	} {
		names := out.String()[strings.Index(out.String(), "FAIL  tests"):]
		if !strings.Contains(names, "FAIL  "+failed) {
			t.Errorf("the names of what failed at the end lack %s:\n%s", failed, names)
		}
	}
	if all.passed != 6 || all.failedTests != 3 || all.skipped != 3 {
		t.Errorf("%d passed, %d failed, %d skipped", all.passed, all.failedTests, all.skipped)
	}
	if got := all.left[missingProgram("C compiler")]; !slices.Contains(got, "good/lacking.TestLack") {
		t.Errorf("left out without a C compiler: %q", got)
	}

	out.Reset()
	one := &report{out: &out, module: "example.org/m", left: make(omissions)}
	one.tests(t.Context(), root, true, false, []string{"./good", "./cmd/..."})
	if one.failed || !strings.HasPrefix(out.String(), "ok  ") || one.passed != 2 || one.skipped != 2 {
		t.Errorf("-short of the good package: failed %v, %d passed, %d skipped\n%s",
			one.failed, one.passed, one.skipped, out.String())
	}
	if got := one.left["by -short"]; len(got) != 1 || !strings.Contains(got[0], "cmd/pawl/internal") {
		t.Errorf("left out by -short: %q", got)
	}
	if got := one.left[withoutAll]; !slices.Equal(got, []string{"the race detector"}) {
		t.Errorf("left out without -all: %q", got)
	}

	out.Reset()
	slow := &report{out: &out, module: "example.org/m", left: make(omissions)}
	slow.tests(t.Context(), root, false, true, []string{"./slow", "./engine/..."})
	want := 3 // one with the race detector
	if len(slow.left) > 0 {
		want = 2
	}
	if slow.failed || slow.passed != want || slow.skipped != 0 {
		t.Errorf("-all leaves something out: %d passed, %d skipped\n%s", slow.passed, slow.skipped, out.String())
	}

	out.Reset()
	none := &report{out: &out, module: "example.org/m", left: make(omissions)}
	none.tests(t.Context(), root, true, false, []string{"./missing"})
	if !none.failed || !strings.Contains(out.String(), "missing") {
		t.Errorf("a package that does not exist: failed %v\n%s", none.failed, out.String())
	}
}

// A package is printed when it ends, not when all have.
func TestTests_PackagesArePrintedAsTheyEnd(t *testing.T) {
	in, events := io.Pipe()
	out, printed := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- newResults(printed, "example.org/m").read(in)
	}()
	lines := bufio.NewReader(out)
	for _, name := range []string{"a", "b/c"} {
		for _, event := range []string{
			`{"Action":"start","Package":"example.org/m/%s"}`,
			`{"Action":"pass","Package":"example.org/m/%s","Test":"TestX","Elapsed":1}`,
			`{"Action":"output","Package":"example.org/m/%s","Output":"ok  \texample.org/m/a\t(cached)\n"}`,
			`{"Action":"pass","Package":"example.org/m/%s","Elapsed":0}`,
		} {
			if _, err := fmt.Fprintf(events, event+"\n", name); err != nil {
				t.Fatal(err)
			}
		}
		want := "ok     cached  " + name + ": 1 passed, 0 failed, 0 skipped\n"
		if line, err := lines.ReadString('\n'); err != nil || line != want {
			t.Errorf("%q, %v", line, err)
		}
	}
	events.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLacks(t *testing.T) {
	for text, want := range map[string]string{
		"pool_test.go:43: no C compiler":                                    "C compiler",
		"a_test.go:23: no C compiler, which the race detector needs":        "C compiler",
		"a_test.go:2: needs a C compiler: the library is written in C":      "C compiler",
		"a_test.go:2: needs Chromium: the console is used as a person does": "Chromium",
		"a_test.go:2: no pipe has a path here":                              "",
		"a_test.go:2: it needs Chromium":                                    "",
		"a_test.go:2: no Chromiumlike":                                      "",
	} {
		if got := lacks(text); got != want {
			t.Errorf("%q lacks %q, want %q", text, got, want)
		}
	}
}

// Without a C compiler there is no race detector: it is named, and with -all that is a failure.
func TestRun_WithoutACompiler(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the race detector works without C here")
	}
	t.Setenv("CGO_ENABLED", "0")
	module := map[string]string{"cmd/a/a_test.go": `package a
import "testing"
func TestX(t *testing.T) {}
func TestY(t *testing.T) { t.Skip("needs PostgreSQL: it is the other side") }
`}
	const compiler = "left out (not installed: C compiler): the race detector\n"
	const database = "left out (not installed: PostgreSQL): cmd/a.TestY\n"
	var out bytes.Buffer
	root := t.TempDir()
	module["go.mod"] = "module example.org/m\n\ngo 1.26\n"
	write(t, root, module)
	r := &report{out: &out, module: "example.org/m", left: make(omissions)}
	r.tests(t.Context(), root, false, true, []string{"./..."})
	r.end(false)
	if r.failed || !strings.HasSuffix(out.String(), compiler+database+"1 passed, 0 failed, 1 skipped\n") {
		t.Errorf("failed %v\n%s", r.failed, out.String())
	}
	out.Reset()
	r.end(true)
	if !r.failed || !strings.Contains(out.String(), "FAIL  -all: install C compiler, PostgreSQL\n") {
		t.Errorf("with -all: failed %v\n%s", r.failed, out.String())
	}
}

// What has its types here and not elsewhere is found, in tests too.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it compiles for other platforms")
	}
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod":        "module example.org/m\n\ngo 1.26\n",
		"a/a.go":        "package a\n\nvar _ = here\n",
		"a/here.go":     "package a\n\nconst here = 1\n",
		"a/a_plan9.go":  "package a\n\nvar x int = \"no platform of ours\"\n",
		"a/a_test.go":   "package a\n\nvar _ = tested\n",
		"a/has_test.go": "package a\n\nconst tested = 1\n",
	})
	see := func() string {
		var out bytes.Buffer
		r := &report{out: &out}
		for _, s := range platforms(t.Context(), root, "example.org/m", []string{"./..."}) {
			r.step(s)
		}
		return out.String()
	}
	rename := func(from, to string) {
		if err := os.Rename(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	if out := see(); strings.Count(out, "ok  ") < 2 || strings.Contains(out, "FAIL") {
		t.Errorf("in order:\n%s", out)
	}
	rename("a/here.go", "a/here_"+runtime.GOOS+".go")
	rename("a/has_test.go", "a/has_"+runtime.GOOS+"_test.go")
	for _, name := range []string{"here", "tested"} {
		if out := see(); strings.Count(out, "undefined: "+name) < 2 || strings.Contains(out, "ok  ") {
			t.Errorf("missing elsewhere:\n%s", out)
		}
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
	for _, want := range []string{
		"ok    gofmt", "ok    imports", "ok    layout", "ok    rules", "ok    links", "FAIL  vet", "wrong type",
	} {
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
	if code := run(t.Context(), []string{"-short", "-all"}, &out, &out); code != 2 {
		t.Errorf("two flags that contradict each other: exit code %d, want 2", code)
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
