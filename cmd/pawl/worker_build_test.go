package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestExampleInConfinedWorkers runs the example from programs as people get them: without the C
// library, as released, and with it, as `go install` links it where there is a C compiler. Both
// confine their workers fully, and run the example to its end.
func TestExampleInConfinedWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program twice")
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux confines processes fully")
	}
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := filepath.Join(dir, "pawl")
			build := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".")
			build.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			up := exec.CommandContext(t.Context(), program, "up", "--until-idle", "--require-sandbox=full")
			up.Dir, up.Env = dir, append(os.Environ(), "PAWL_HTTP=127.0.0.1:0")
			out, err := up.CombinedOutput()
			if err != nil {
				t.Fatalf("up: %v\n%s", err, out)
			}
			if rows, err := filepath.Glob(filepath.Join(dir, "pawl-example", "*", "*.csv")); err != nil || len(rows) == 0 {
				t.Errorf("no sheet was written: %v\n%s", err, out)
			}
		})
	}
}
