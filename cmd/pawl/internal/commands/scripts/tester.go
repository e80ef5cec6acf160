package scripts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/notices"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/rehearsal"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/sandbox"
)

// tester runs tests and prints their results.
type tester struct {
	screen term.Screen
	asJSON bool
	config rehearsal.Config
	// servers are the MCP servers of the configuration, whose operations are not known here.
	servers []string
}

// newTester starts the processes in which tests run. They run until done is called.
func newTester(conf config.Reader, with storage.Parts) (t *tester, done func() error, err error) {
	file, err := conf.ReadConfig()
	if err != nil {
		return nil, nil, err
	}
	known, err := file.Known()
	if err != nil {
		return nil, nil, err
	}
	scripts, err := storage.NewWorkers(config.Settings{Policies: file.Policies}, with, runtime.GOMAXPROCS(0),
		slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	registry, closeConnectors, err := builtin.Alone(known)
	if err != nil {
		return nil, nil, exit.Misconfigured("", "%v", errors.Join(err, closeConnectors(), scripts.Close()))
	}
	return &tester{config: rehearsal.Config{Scripts: scripts, Connectors: registry, Policies: file.Policies,
			Vars: file.ScriptVars()}, servers: file.MCPServers()},
		func() error { return errors.Join(closeConnectors(), scripts.Close()) }, nil
}

// tested is the result of the tests of one script.
type tested struct {
	Script string `json:"script"`
	Tests  string `json:"tests"`
	OK     bool   `json:"ok"`
	// Problems are the problems of the script or of the test file because of which no test has run.
	Problems []sandbox.Problem   `json:"problems"`
	Cases    []rehearsal.Outcome `json:"cases"`
	Coverage *coverage           `json:"coverage"`
}

// coverage is which lines have run.
type coverage struct {
	Lines  int     `json:"lines"`
	Share  float64 `json:"share"`
	Missed []int   `json:"missed"`
	Partly []int   `json:"partly"`
}

// all runs all tests once.
func (t *tester) all(ctx context.Context, pairs []pair) error {
	if len(pairs) == 0 {
		return nil
	}
	report := struct {
		OK     bool     `json:"ok"`
		Passed int      `json:"passed"`
		Failed int      `json:"failed"`
		Files  []tested `json:"files"`
	}{OK: true, Files: []tested{}}
	for _, p := range pairs {
		found, err := t.one(ctx, p)
		if err != nil {
			return err
		}
		report.OK = report.OK && found.OK
		for _, c := range found.Cases {
			if len(c.Problems) == 0 {
				report.Passed++
			} else {
				report.Failed++
			}
		}
		report.Files = append(report.Files, found)
		if !t.asJSON {
			t.print(found)
		}
	}
	if t.asJSON {
		document, err := json.Marshal(report)
		if err != nil {
			return exit.Failed("", fmt.Errorf("print the report: %w", err))
		}
		if err := t.screen.JSON(document); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(t.screen.Out, "%d passed, %d failed\n", report.Passed, report.Failed)
	}
	if !report.OK {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

// watch runs the tests of each script now and whenever one of its files has changed, until ctx ends.
func (t *tester) watch(ctx context.Context, pairs []pair) error {
	follower, done, err := notices.Open()
	if err != nil {
		return exit.Failed("", fmt.Errorf("watch files: %w", err))
	}
	read := map[pair][]byte{}
	for _, p := range pairs {
		follower.Files = append(follower.Files, p.script, p.tests)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	follower.Failed = func(err error) {
		stop(exit.Failed("run the tests without --watch", fmt.Errorf("watch files: %w", err)))
	}
	follower.Follow(ctx, func() {
		var changed []pair
		for _, p := range pairs {
			script, _ := os.ReadFile(p.script)
			tests, _ := os.ReadFile(p.tests)
			if text := slices.Concat(script, []byte{0}, tests); !bytes.Equal(read[p], text) {
				read[p] = text
				changed = append(changed, p)
			}
		}
		var quiet exit.Silent
		if err := t.all(ctx, changed); err != nil && !errors.As(err, &quiet) && ctx.Err() == nil {
			exit.Complain(ctx, t.screen.Err, err) // and go on: a file that is being replaced is there again soon
		}
	})
	if err := done(); err != nil {
		return exit.Failed("", fmt.Errorf("watch files: %w", err))
	}
	var failed *exit.Failure
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// one runs the tests of one script.
func (t *tester) one(ctx context.Context, p pair) (tested, error) {
	found := tested{Script: p.script, Tests: p.tests, Problems: []sandbox.Problem{}, Cases: []rehearsal.Outcome{}}
	script, err := source.Read(p.script)
	if err != nil {
		return found, err
	}
	tests, err := source.Read(p.tests)
	if err != nil {
		return found, err
	}
	err = t.judge(ctx, &found, script, tests, func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(p.tests), name))
		return string(text), err
	})
	return found, err
}

// judge runs the tests, and notes their results.
func (t *tester) judge(ctx context.Context, found *tested, script, tests source.Script, beside rehearsal.Beside) error {
	read := rehearsal.Read
	if rehearsal.IsYAML(tests.Path) {
		read = rehearsal.ReadYAML
	}
	suite, err := read(ctx, t.config.Scripts, sandbox.Source{Filename: tests.Name(), Code: string(tests.Text)}, beside)
	var unreadable *rehearsal.ReadError
	switch {
	case errors.As(err, &unreadable):
		var at sandbox.Place
		if unreadable.Line > 0 {
			at = sandbox.Place{Line: unreadable.Line, Column: 1}
		}
		found.Problems = append(found.Problems, sandbox.NewProblem("tests.unreadable", at, unreadable.Message, ""))
		return nil
	case err != nil:
		return exit.Failed("", err)
	}
	report, err := rehearsal.Run(ctx, t.config, sandbox.Source{Filename: script.Name(), Code: string(script.Text)}, suite)
	if err != nil {
		return exit.Failed("", fmt.Errorf("test %s: %w", term.Path(script.Path), err))
	}
	found.Cases, found.OK = report.Cases, report.OK()
	if len(report.Refused) > 0 {
		found.Problems = explain.Problems(report.Refused)
		for i, p := range found.Problems {
			if p.Code == deploy.CodeConnector && len(t.servers) > 0 {
				found.Problems[i].Message += fmt.Sprintf("; what the MCP servers of the configuration offer (%s) is not known "+
					"without an engine: name the operations that are called as tools behind the cases",
					strings.Join(t.servers, ", "))
			}
		}
		return nil
	}
	missed, partly := report.Coverage.Missed()
	found.Coverage = &coverage{Lines: len(report.Coverage.Lines), Share: report.Coverage.Share(),
		Missed: append([]int{}, missed...), Partly: append([]int{}, partly...)} // in JSON an empty list, never null
	return nil
}

// print shows a report to a person.
func (t *tester) print(found tested) {
	out := t.screen.Out
	tests, script := term.Path(found.Tests), term.Path(found.Script)
	fmt.Fprintln(out, tests)
	for _, p := range found.Problems {
		at := script
		if p.Code == "tests.unreadable" {
			at = tests
		}
		fmt.Fprintln(out, term.Problem(at, p))
	}
	for _, c := range found.Cases {
		if len(c.Problems) == 0 {
			fmt.Fprintf(out, "  ✓ %s\n", c.Name)
			continue
		}
		fmt.Fprintf(out, "  ✗ %s\n", c.Name)
		for _, p := range c.Problems {
			at := tests
			if p.Line > 0 {
				at = fmt.Sprintf("%s:%d", tests, p.Line)
			}
			fmt.Fprintf(out, "      %s: %s\n", at, p.Message)
			for _, d := range p.Differences {
				fmt.Fprintf(out, "        %s\n", term.Difference(d, "expected", "was"))
			}
		}
	}
	if found.Coverage == nil {
		return
	}
	text := fmt.Sprintf("%s: %.0f %% of %d lines have run", script, 100*found.Coverage.Share, found.Coverage.Lines)
	if lines := ranges(found.Coverage.Missed); lines != "" {
		text += "; not " + lines
	}
	if lines := ranges(found.Coverage.Partly); lines != "" {
		text += "; in part " + lines
	}
	fmt.Fprintln(out, text)
}

// ranges writes ascending numbers as ranges: 3, 5-7.
func ranges(lines []int) string {
	var parts []string
	for i := 0; i < len(lines); {
		end := i
		for end+1 < len(lines) && lines[end+1] == lines[end]+1 {
			end++
		}
		part := fmt.Sprint(lines[i])
		if end > i {
			part = fmt.Sprintf("%d-%d", lines[i], lines[end])
		}
		parts = append(parts, part)
		i = end + 1
	}
	return strings.Join(parts, ", ")
}
