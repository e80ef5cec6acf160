package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/typings"
)

// tsc compiles a folder, which has a tsconfig.json, and returns what the compiler says.
func tsc(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	arguments := append([]string{filepath.Join(packages(t, "typescript"), "typescript", "bin", "tsc"), "--project", dir,
		"--pretty", "false"}, flags...)
	compile := exec.CommandContext(t.Context(), "node", arguments...)
	compile.Dir = dir
	out, err := compile.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("compile: %v", err)
	}
	return string(out)
}

// typed makes a folder of scripts with what `pawl types` writes beside them.
func typed(t *testing.T, scripts map[string]string) string {
	t.Helper()
	packages(t, "typescript")
	dir := place(t, scripts)
	mustRun(t, dir, 0, "pawl", "types", ".")
	return dir
}

// bundledScripts are the scripts of the examples, of the README and of the authors' page.
func bundledScripts(t *testing.T) map[string]string {
	t.Helper()
	scripts := map[string]string{
		"accepted.ts": read(t, "testdata/typescript/accepted.ts"),
		"readme.ts":   readmeBlock(t, ".workflow({"),
	}
	for _, pattern := range []string{"example/*.ts", "example/*/*.ts"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			scripts[filepath.Base(path)] = read(t, path)
		}
	}
	for _, part := range pageParts(t) {
		for i, block := range part.blocks {
			if block.language == "ts" {
				name := regexp.MustCompile(`\W+`).ReplaceAllString(part.heading, "-")
				scripts[fmt.Sprintf("page-%s-%d.ts", name, i)] = block.text
			}
		}
	}
	if len(scripts) < 18 {
		t.Fatalf("only %q were found", slices.Sorted(maps.Keys(scripts)))
	}
	return scripts
}

// Every script that is shown compiles with the settings that `pawl types` writes, alone and where the types of
// Node.js or of browsers are loaded too.
func TestTypesOfWhatIsShown(t *testing.T) {
	t.Parallel()
	dir := typed(t, bundledScripts(t))
	for name, flags := range map[string][]string{
		"alone":       nil,
		"old-library": {"--lib", "es2023"},
		"node":        {"--types", "node", "--typeRoots", filepath.Join(packages(t, "typescript"), "@types")},
		"browser":     {"--lib", "esnext,dom,dom.iterable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out := tsc(t, dir, flags...); out != "" {
				t.Error(out)
			}
		})
	}
}

// What a phase does not have, an unknown topic, a wrong payload and the like do not compile.
func TestTypesRefuse(t *testing.T) {
	t.Parallel()
	script := read(t, "testdata/typescript/refused.ts")
	wantRefusals(t, typed(t, map[string]string{"refused.ts": script}), "refused.ts", script, 50)
}

// What a tool says of itself becomes types that compile, whatever it says, and that are those of its schemas.
func TestTypesOfTools(t *testing.T) {
	t.Parallel()
	packages(t, "typescript")
	tool := typings.Connector{Name: "tool"}
	if err := json.Unmarshal([]byte(read(t, "testdata/typescript/tool.json")), &tool.Operations); err != nil {
		t.Fatal(err)
	}
	script := read(t, "testdata/typescript/tool.ts")
	dir := place(t, map[string]string{"tool.ts": script})
	if _, err := typings.Write(dir, typings.Declare([]typings.Connector{tool})); err != nil {
		t.Fatal(err)
	}
	wantRefusals(t, dir, "tool.ts", script, 6)
}

// refusal is a line that the compiler refuses, and the number of its reason.
type refusal struct{ line, code string }

// said is one error of the compiler: where, its number and its words.
var said = regexp.MustCompile(`(?m)^(?:(\S+)\((\d+),\d+\): )?error (TS\d+): (.*(?:\n .*)*)`)

// wantRefusals compiles a folder with one script. Each marked line of the script is refused for what its mark says, and
// nothing else is.
func wantRefusals(t *testing.T, dir, name, script string, least int) {
	t.Helper()
	want := map[refusal]string{}
	for i, line := range strings.Split(script, "\n") {
		if mark := regexp.MustCompile(`//! (TS\d+) (.+)$`).FindStringSubmatch(line); mark != nil {
			want[refusal{fmt.Sprint(i + 1), mark[1]}] = mark[2]
		}
	}
	if len(want) < least {
		t.Fatalf("only %d lines of %s are marked", len(want), name)
	}
	out := tsc(t, dir)
	for _, one := range said.FindAllStringSubmatch(out, -1) {
		key := refusal{one[2], one[3]}
		words, expected := want[key]
		if !expected || one[1] != name || !strings.Contains(one[4], words) {
			t.Errorf("no mark says what the compiler does: %s", one[0])
		}
		delete(want, key)
	}
	for key, words := range want {
		t.Errorf("line %s of %s compiles, want %s: %s", key.line, name, key.code, words)
	}
}
