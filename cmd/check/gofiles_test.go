package main

import "testing"

func TestGoFiles(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // parts of the one finding; none: in order
	}{
		{"from the module", "engine/decide/run.go starts it", nil},
		{"from a folder below", "see decide/run.go.", nil},
		{"from another page", "see [run](../engine/decide/run.go)", nil},
		{"a file of tests", "(engine/decide/run_test.go)", nil},
		{"a file that is gone", "decide/needs.go says so", []string{"a.", "decide/needs.go"}},
		{"in a folder that is gone", "engine/rules/run.go", []string{"engine/rules/run.go"}},
		{"no folder", "run.go and needs.go", nil},
		{"another module", "net/http/server.go, github.com/x/engine/needs.go", nil},
		{"an address", "https://example.com/engine/needs.go", nil},
		{"several files", "engine/table_*.go", nil},
		{"no Go", "engine/needs.md, engine/needs.golden", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{
				"engine/decide/run.go":      "package decide\n",
				"engine/decide/run_test.go": "package decide\n",
				"a.go":                      "package p\n\n// " + tt.text + "\n",
			}
			one(t, treeOf(t, files).comments(), tt.want...)
			delete(files, "a.go")
			files["a.md"] = "# A\n\n```\ndecide/needs.go\n```\n\n" + tt.text + "\n"
			if tt.name == "from another page" {
				files["x/a.md"] = files["a.md"]
				delete(files, "a.md")
			}
			one(t, treeOf(t, files).links(), tt.want...)
		})
	}
}
