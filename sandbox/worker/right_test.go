package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestNothingIsSaidOfRightScripts: each of these is right, in a style of its own, and a warning on it costs an author's
// trust.
func TestNothingIsSaidOfRightScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/right/*")
	if err != nil || len(paths) < 41 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	e := newExecutor(t)
	for _, path := range paths {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, problems, err := e.Describe(t.Context(), sandbox.Source{Filename: filepath.Base(path), Code: string(code)})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, p := range problems {
			t.Errorf("%s:%d:%d: %s [%s]", path, p.Line, p.Column, p.Message, p.Code)
		}
	}
}
