package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// testEvent is one line of `go test -json`.
type testEvent struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
}

// results collects what the tests said.
type results struct {
	passed, failed int
	skipped        []string // package, test and reason
	failures       []failure
	output         map[string]*strings.Builder
	// failedTests counts failures per package: a package that fails without one has something to
	// say itself.
	failedTests map[string]int
	stray       []string // lines that are no events
}

// failure is a failed test, package or build and what it said.
type failure struct{ name, output string }

// mostLines is how much of what a failed test said is printed: its end, which tells what was seen last.
const mostLines = 80

// tests runs the tests and prints the step, what failed, what was skipped, and the count.
func (r *report) tests(ctx context.Context, root string, short bool, packages []string) {
	start := time.Now()
	args := []string{"test", "-race", "-json"}
	if short {
		args = append(args, "-short")
	}
	command := exec.CommandContext(ctx, "go", append(args, packages...)...)
	var out, errOut bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = root, &out, &errOut
	runErr := command.Run()
	results, err := readResults(&out)
	ok := runErr == nil && err == nil && results.failed == 0
	r.line("tests", ok, time.Since(start))
	results.print(r.out)
	if !ok {
		if errOut.Len() > 0 {
			fmt.Fprintln(r.out, strings.TrimSpace(errOut.String()))
		}
		if err != nil {
			fmt.Fprintln(r.out, err)
		}
		if runErr != nil {
			fmt.Fprintf(r.out, "go %s: %v\n", strings.Join(append(args, packages...), " "), runErr)
		}
	}
	// Once more at the end: of a long output often only the end is kept.
	for _, f := range results.failures {
		fmt.Fprintln(r.out, "FAIL ", f.name)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", results.passed, results.failed, len(results.skipped))
}

// readResults reads the events. Lines that are none are kept: they come from a broken test binary
// or from the go command itself.
func readResults(in io.Reader) (*results, error) {
	r := &results{output: make(map[string]*strings.Builder), failedTests: make(map[string]int)}
	text, err := io.ReadAll(in)
	if err != nil {
		return r, fmt.Errorf("read the test output: %w", err)
	}
	for line := range bytes.Lines(text) {
		var event testEvent
		if err := json.Unmarshal(line, &event); err != nil {
			if s := strings.TrimSpace(string(line)); s != "" {
				r.stray = append(r.stray, s)
			}
			continue
		}
		r.add(event)
	}
	return r, nil
}

func (r *results) add(e testEvent) {
	name := e.Package
	if e.Test != "" {
		name += "." + e.Test
	}
	switch e.Action {
	case "output":
		r.of(name).WriteString(e.Output)
	case "build-output":
		r.of("build of " + e.ImportPath).WriteString(e.Output)
	case "build-fail":
		r.fail("build of " + e.ImportPath)
	case "pass":
		if e.Test != "" {
			r.passed++
		}
		delete(r.output, name)
	case "skip":
		if e.Test != "" { // a package without tests is no skipped test
			r.skipped = append(r.skipped, name+": "+reason(r.of(name).String()))
		}
		delete(r.output, name)
	case "fail":
		if e.Test != "" {
			r.failed++
			r.failedTests[e.Package]++
			r.fail(name)
		} else if r.failedTests[e.Package] == 0 {
			r.fail(name)
		}
	}
}

func (r *results) of(name string) *strings.Builder {
	b, ok := r.output[name]
	if !ok {
		b = &strings.Builder{}
		r.output[name] = b
	}
	return b
}

func (r *results) fail(name string) {
	r.failures = append(r.failures, failure{name, lastLines(r.of(name).String(), mostLines)})
	delete(r.output, name)
}

// crashed says that a text holds a data race or a panic: its beginning matters as much as its end.
func crashed(text string) bool {
	return strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic:")
}

// lastLines is the end of a text, with a line that says how much was left out before it.
func lastLines(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if left := len(lines) - most; left > 0 && !crashed(text) {
		lines = append([]string{fmt.Sprintf("… %d lines before", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
}

// indented is text under the heading of a step.
func indented(text string) string { return "      " + strings.ReplaceAll(text, "\n", "\n      ") }

// reason is what a skipped test said: its output without the lines of the framework.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

func (r *results) print(out io.Writer) {
	for _, f := range r.failures {
		fmt.Fprintln(out, indented(f.name+"\n"+f.output))
	}
	if len(r.failures) > 0 {
		// A data race or a panic may be reported between tests, under no failed test's name.
		for _, name := range slices.Sorted(maps.Keys(r.output)) {
			if text := r.output[name].String(); crashed(text) {
				fmt.Fprintln(out, indented(name+"\n"+strings.TrimRight(text, "\n")))
			}
		}
	}
	for _, line := range r.stray {
		fmt.Fprintln(out, "     ", line)
	}
	for _, skipped := range r.skipped {
		fmt.Fprintln(out, "skip ", skipped)
	}
}
