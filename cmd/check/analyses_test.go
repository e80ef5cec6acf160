package main

import (
	"strings"
	"testing"
)

// With -all the analyses read what the tests with the race detector are made of, and else what is built without it.
func TestAnalyses_ReadWhatTheTestsAreMadeOf(t *testing.T) {
	if !hasRaceDetector(t.Context(), t.TempDir()) {
		t.Skip("no C compiler, which the race detector needs")
	}
	const wrong = "package eventlog\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\", \"text\") }\n"
	for constraint, found := range map[string]string{"race": "-all", "!race": "-all=false"} {
		for _, flag := range []string{"-all", "-all=false"} {
			_, out := inModule(t, map[string]string{
				"eventlog/doc.go": "// Package eventlog is an example.\npackage eventlog\n",
				"eventlog/a.go":   "//go:build " + constraint + "\n\n" + wrong,
			}, flag, "-only", "vet")
			if got := strings.Contains(out, "wrong type"); got != (flag == found) {
				t.Errorf("%s: what is built with the constraint %s was read: %t\n%s", flag, constraint, got, out)
			}
		}
	}
}
