package mcpserver

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Each tool stands on operations that there are, its parameters are fields of theirs, and a role that does not cover
// one of them is not offered it.
func TestTools(t *testing.T) {
	t.Parallel()
	readers := map[string]bool{"validate": true, "list": true, "show": true, "why": true, "evidence": true}
	for _, tool := range tools {
		described, err := tool.describe()
		if err != nil {
			t.Fatal(err)
		}
		if len(described.Description) < 60 {
			t.Errorf("%s: %q tells a model too little", tool.name, described.Description)
		}
		if described.Annotations.ReadOnlyHint != readers[tool.name] || tool.covered(rpc.Viewer) != readers[tool.name] {
			t.Errorf("%s: read only %t", tool.name, described.Annotations.ReadOnlyHint)
		}
		if !tool.covered(rpc.Operator) || tool.covered("") || tool.covered(rpc.Ingest) != (tool.name == "push") {
			t.Errorf("%s is offered to the wrong roles", tool.name)
		}
		schema := described.InputSchema.(map[string]any)
		for name := range tool.fixed {
			if schema["properties"].(map[string]any)[name] != nil {
				t.Errorf("%s offers %s, which a model is not to choose", tool.name, name)
			}
		}
		for _, name := range schema["required"].([]string) {
			if schema["properties"].(map[string]any)[name] == nil {
				t.Errorf("%s requires %s and does not describe it", tool.name, name)
			}
		}
		for _, k := range tool.kinds {
			for _, id := range k.all() {
				if o, ok := ops.Lookup(id); !ok || o.Private || o.Role == rpc.Admin {
					t.Errorf("%s offers %s, which no model is to have", tool.name, id)
				}
			}
		}
	}
}

// The steps that are told for a problem name tools that there are.
func TestStepsNameTools(t *testing.T) {
	t.Parallel()
	for code, step := range steps {
		for _, after := range strings.Split(step, "call ")[1:] {
			name, _, _ := strings.Cut(after, " ")
			if name != "again" && !slices.ContainsFunc(tools, func(t *tool) bool { return t.name == name }) {
				t.Errorf("%s: %q names no tool", code, step)
			}
		}
	}
}

// What an answer says twice is left out of it and of its items, and of no other answer.
func TestShortened(t *testing.T) {
	t.Parallel()
	why := &tool{without: "parts"}
	for answer, want := range map[string]string{
		`{"message":"m","parts":[1]}`:                               `{"message":"m"}`,
		`{"items":[{"message":"m","parts":[1]},{}],"next":"after"}`: `{"items":[{"message":"m"},{}],"next":"after"}`,
		`["parts"]`: `["parts"]`,
	} {
		if got := string(why.shortened([]byte(answer))); got != want {
			t.Errorf("%s becomes %s, want %s", answer, got, want)
		}
		if got := string(new(tool).shortened([]byte(answer))); got != answer {
			t.Errorf("%s becomes %s with a tool that leaves nothing out", answer, got)
		}
	}
}
