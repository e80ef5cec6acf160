package main

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// TestRequiredSandbox: an engine that asks for a full sandbox runs nothing on a machine that has less,
// and says what is missing. The race detector's memory cannot be limited: with it a worker is confined
// partially on every machine.
func TestRequiredSandbox(t *testing.T) {
	long(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux confines processes")
	}
	if os.Getenv(everything) == "" {
		t.Skip("builds a worker with the race detector, and all that it is made of: left out without -all")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler, which the race detector needs")
	}
	t.Parallel()
	dir := t.TempDir()
	worker := filepath.Join(dir, "worker")
	build := exec.Command("go", "build", "-race", "-buildvcs=false", "-o", worker, "../../sandbox/worker/testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a worker: %v\n%s", err, out)
	}
	up := func(level string) (string, error) {
		cmd := programCommand(t, "pawl", "up", "--until-idle", "--require-sandbox="+level)
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "PAWL_HTTP=127.0.0.1:0", "TZ=America/New_York", "GORACE=atexit_sleep_ms=0",
			plainWorker+"="+worker)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := up("full")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exit.CodeFailed {
		t.Fatalf("with less than a full sandbox: %v\n%s", err, out)
	}
	for _, want := range []string{"partial (missing: private memory: ", "full is required", "--require-sandbox=none"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "deployed") {
		t.Errorf("a script was run:\n%s", out)
	}
	// It is logged, in UTC wherever the process runs.
	logged := regexp.MustCompile(`time=\S+Z level=WARN .*sandbox="partial \(missing: private memory: `)
	if out, err := up("partial"); err != nil || !logged.MatchString(out) {
		t.Errorf("with what there is: %v\n%s", err, out)
	}
}

// TestExampleInConfinedWorkers runs the example from programs as people get them: as `go install` links it, with the C
// library where there is a C compiler, and without it, as released. Both confine their workers fully, and run
// the example to its end.
func TestExampleInConfinedWorkers(t *testing.T) {
	long(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux confines processes fully")
	}
	t.Run("as installed", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if !raced {
			program := filepath.Join(dir, "pawl")
			goBuild(t, program, ".")
			holdsNoScripts(t, program)
			runsExample(t, dir, exec.CommandContext(t.Context(), program, "up", "--until-idle", "--require-sandbox=full"))
			return
		}
		// Nothing else of these tests then needs the whole program with the C library, which takes minutes to compile:
		// the worker alone is linked with it.
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skip("no C compiler")
		}
		worker := filepath.Join(dir, "worker")
		goBuild(t, worker, "../../sandbox/worker/testdata/worker", "CGO_ENABLED=1")
		up := programCommand(t, "pawl", "up", "--until-idle", "--require-sandbox=full")
		up.Env = append(up.Env, plainWorker+"="+worker)
		runsExample(t, dir, up)
	})
	t.Run("as released", func(t *testing.T) {
		if os.Getenv(everything) == "" {
			t.Skip("builds the program and all that it is made of anew: left out without -all")
		}
		t.Parallel()
		dir := t.TempDir()
		program := filepath.Join(dir, "pawl")
		goBuild(t, program, ".", "CGO_ENABLED=0")
		holdsNoScripts(t, program)
		runsExample(t, dir, exec.CommandContext(t.Context(), program, "up", "--until-idle", "--require-sandbox=full"))
	})
}

func goBuild(t *testing.T, to, folder string, environment ...string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", to, folder)
	build.Env = append(os.Environ(), environment...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, out)
	}
}

// runsExample wants the command to run the bundled example in the folder to its end.
func runsExample(t *testing.T, dir string, up *exec.Cmd) {
	t.Helper()
	up.Dir = dir
	up.Env = append(up.Environ(), "PAWL_HTTP=127.0.0.1:0")
	out, err := up.CombinedOutput()
	if err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	if rows, err := filepath.Glob(filepath.Join(dir, "pawl-example", "*", "*.csv")); err != nil || len(rows) == 0 {
		t.Errorf("no sheet was written: %v\n%s", err, out)
	}
}

// holdsNoScripts wants that nothing in a program can run a script but its workers: the linker has left
// out the executor that runs them in the calling process.
func holdsNoScripts(t *testing.T, program string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	pool := false
	for _, s := range symbols {
		name, ours := strings.CutPrefix(s.Name, "github.com/pawl-run/pawl/sandbox/")
		pool = pool || ours && name == "worker.NewPool"
		if ours && (name == "vm.NewExecutor" || strings.HasPrefix(name, "vm.(*inProcess)")) {
			t.Errorf("the program holds %s", s.Name)
		}
	}
	if !pool {
		t.Error("the program's symbols were not read: worker.NewPool is not among them")
	}
}
