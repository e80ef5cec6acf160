package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The parser of AsyncAPI itself finds nothing wrong with the document of the feed, not even by the recommended rules.
func TestFeedDocumentIsValid(t *testing.T) {
	t.Parallel()
	installed := packages(t, "documents")
	script, err := filepath.Abs("testdata/documents/asyncapi.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	document := mustRun(t, dir, 0, "pawl", "asyncapi")
	found := func(document string) string {
		t.Helper()
		write(t, filepath.Join(dir, "asyncapi.json"), document)
		parse := exec.CommandContext(t.Context(), "node", script, filepath.Join(dir, "asyncapi.json"))
		parse.Dir = filepath.Dir(installed)
		out, err := parse.CombinedOutput()
		if err != nil {
			t.Fatalf("parse the document: %v\n%s", err, out)
		}
		return string(out)
	}
	if said := found(document); said != "" {
		t.Errorf("the parser says:\n%s", said)
	}
	broken := strings.Replace(document, `"action": "send"`, `"action": "shout"`, 1)
	if said := found(broken); broken == document || !strings.Contains(said, "action") {
		t.Errorf("the parser says of an unknown action:\n%s", said)
	}
}

// The linter of Redocly finds nothing wrong with the document of the operations, not even by the recommended rules.
func TestOpenAPIDocumentIsValid(t *testing.T) {
	t.Parallel()
	linter := filepath.Join(packages(t, "documents"), "@redocly", "cli", "bin", "cli.js")
	dir := t.TempDir()
	engine := startDaemon(t, dir, "pawl", "serve", "--data", "data")
	document := string(engine.call(http.StatusOK, http.MethodGet, "/v1/openapi.json", nil))
	engine.stop()
	found := func(document string) (string, error) {
		write(t, filepath.Join(dir, "openapi.json"), document)
		lint := exec.CommandContext(t.Context(), "node", linter, "lint", "openapi.json", "--max-problems=20")
		lint.Dir = dir
		lint.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "CI=true")
		out, err := lint.CombinedOutput()
		return string(out), err
	}
	said, err := found(document)
	if err != nil || !strings.Contains(said, "is valid") || strings.Contains(said, "You have") { // so many warnings
		t.Errorf("the linter (%v) says:\n%s", err, said)
	}
	broken := strings.Replace(document, `"operationId": "readLog"`, `"operationId": "pushEvents"`, 1)
	if said, err := found(broken); broken == document || err == nil {
		t.Errorf("the linter says of an operation's second id:\n%s", said)
	}
}

// Prometheus finds nothing wrong with the figures, those of the feed and of work that is done among them.
func TestMetricsAreValid(t *testing.T) {
	t.Parallel()
	program := installed(t, "promtool")
	dir := placeMailToSheet(t)
	engine := startDaemon(t, dir, "pawl", "up", "mail-to-sheet.ts", "--data", "data")
	engine.await("^all caught up")
	figures := string(engine.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	engine.stop()
	found := func(figures string) (string, error) {
		check := exec.CommandContext(t.Context(), program, "check", "metrics")
		check.Stdin = strings.NewReader(figures)
		out, err := check.CombinedOutput()
		return string(out), err
	}
	if said, err := found(figures); err != nil || said != "" {
		t.Errorf("promtool (%v) says:\n%s", err, said)
	}
	for _, name := range []string{"pawl_feed_messages_total", "pawl_runs_total", "pawl_mutations_total"} {
		if !strings.Contains(figures, "\n"+name) {
			t.Errorf("there is no %s", name)
		}
	}
	if said, err := found(figures + "pawl_unexplained 1\n"); err == nil {
		t.Errorf("promtool says of a figure without help:\n%s", said)
	}
}
