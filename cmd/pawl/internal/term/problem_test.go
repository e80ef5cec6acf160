package term

import (
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

func TestFormatProblem(t *testing.T) {
	got := Problem("a.ts", sandbox.Problem{Severity: "error", Code: "topic.unknown", Line: 3, Column: 7,
		Message: "no\ntopic x", Fix: "declare it"})
	if want := "a.ts:3:7: error: no topic x [topic.unknown]\n  fix: declare it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = Problem("a.ts", sandbox.Problem{Severity: "warning", Code: "x", Message: "m"})
	if want := "a.ts: warning: m [x]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
