package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readmeBlock is the first code block of the README that contains a text.
func readmeBlock(t *testing.T, text string) string {
	t.Helper()
	for _, found := range regexp.MustCompile("(?s)\n```[a-z]*\n(.*?)```").FindAllStringSubmatch(read(t, "../../README.md"),
		-1) {
		if strings.Contains(found[1], text) {
			return found[1]
		}
	}
	t.Fatalf("no code block of the README contains %q", text)
	return ""
}

// The first page's workflow runs as its commands say: the pushed order becomes a row.
func TestReadmeWorkflow(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "orders.ts"), []byte(readmeBlock(t, ".workflow({")), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(readmeBlock(t, "pawl push")), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "pawl up ") {
		t.Fatalf("the README starts the workflow with %q", lines)
	}
	folder, made := strings.CutPrefix(lines[0], "mkdir ")
	if err := os.Mkdir(filepath.Join(dir, folder), 0o700); !made || err != nil {
		t.Fatalf("%s: %v", lines[0], err)
	}
	start, push := lines[1], lines[2]
	d := startDaemon(t, dir, "pawl", strings.Fields(start)[1:]...)
	d.await(`^all caught up`)
	args := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(push, -1)
	for i := range args {
		args[i] = strings.Trim(args[i], "'")
	}
	mustRun(t, dir, 0, args[0], args[1:]...)
	d.await(`^book-orders .*Book Order 1 → orders\.csv row 1$`)
	d.stop()
	if rows := read(t, filepath.Join(dir, "sheets",
		"orders.csv")); !regexp.MustCompile(`(?m)^o-1,20\b`).MatchString(rows) {
		t.Errorf("orders.csv holds %q", rows)
	}
}
