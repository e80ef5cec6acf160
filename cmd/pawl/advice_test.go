package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every command that an explanation or the operator's table of failures offers is one: it parses.
func TestAdviceIsCommands(t *testing.T) {
	script := filepath.Join(t.TempDir(), "FILE")
	if err := os.WriteFile(script, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	quoted := regexp.MustCompile(`"(pawl [^"]+)"`)
	for _, path := range []string{"../../ops/explain/why.go", "../../ops/explain/wait.go",
		"../../ops/explain/held_events.go",
		"../../ops/explain/concurrent.go", "../../ops/explain/resolution.go"} {
		for _, found := range quoted.FindAllStringSubmatch(read(t, path), -1) {
			commands[found[1]] = true
		}
	}
	_, table, _ := strings.Cut(read(t, "../../ops/OPERATIONS.md"), "## When something fails")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, found := range regexp.MustCompile("`(pawl [^`]+)`").FindAllStringSubmatch(table, -1) {
		commands[strings.TrimSuffix(strings.ReplaceAll(found[1], "ID…", "ID"), "…")+" "] = true
	}
	if len(commands) < 25 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for command := range commands {
		line := strings.NewReplacer("%s", "x", "FILE", script).Replace(strings.TrimSpace(command))
		args := strings.Fields(line)[1:]
		if args[0] == "why" || args[0] == "skip" && len(args) == 1 {
			continue // a name in running text
		}
		grammar := testGrammar(t, &commandLine{}, nil)
		if _, err := grammar.Parse(args); err != nil {
			t.Errorf("%q is no command: %v", command, err)
		}
	}
}

// Every command of the examples in README and manual is one: it parses.
func TestExamplesAreCommands(t *testing.T) {
	known := 0
	pages := read(t, "../../README.md") + "\n" + read(t, "../../ops/OPERATIONS.md")
	for _, block := range regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$").FindAllStringSubmatch(pages, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			line, _, _ = strings.Cut(line, " > ")
			if !strings.HasPrefix(line, "pawl ") {
				continue
			}
			known++
			args := regexp.MustCompile(`'[^']*'|[^ ']+`).FindAllString(line, -1)[1:]
			for i := range args {
				args[i] = strings.Trim(args[i], "'")
			}
			grammar := testGrammar(t, &commandLine{}, nil)
			if _, err := grammar.Parse(args); err != nil {
				t.Errorf("%q is no command: %v", line, err)
			}
		}
	}
	if known < 7 {
		t.Fatalf("only %d commands were found", known)
	}
}
