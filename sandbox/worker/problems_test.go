package worker

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-run/pawl/sandbox"
)

var update = flag.Bool("update", false, "write what was found into testdata/problems")

// TestProblemsOfTheText: each archive holds a script and all that is said about it.
func TestProblemsOfTheText(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil || len(archive.Files) == 0 {
				t.Fatalf("read %s: %v", path, err)
			}
			script := archive.Files[0]
			_, problems, err := newExecutor(t).Describe(t.Context(), sandbox.Source{Filename: script.Name,
				Code: string(script.Data)})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, p := range problems {
				fmt.Fprintf(&got, "%d:%d %s %s\n\t%s\n\tfix: %s\n", p.Line, p.Column, p.Severity, p.Code, p.Message,
					p.Fix)
			}
			if *update {
				archive.Files = []txtar.File{script, {Name: "problems", Data: []byte(got.String())}}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 {
				t.Fatalf("%s says nothing of problems", path)
			}
			if d := cmp.Diff(string(archive.Files[1].Data), got.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
