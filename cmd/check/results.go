package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// testEvent is one line of `go test -json`.
type testEvent struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// results collects the results of the tests, and prints a package when it ends.
type results struct {
	out            io.Writer
	module         string
	passed, failed int
	skipped        []skip
	failures       []string
	packages       map[string]*packageResults
}

// skip is a skipped test and the reason that it gave.
type skip struct{ name, reason string }

// packageResults are the results of a package that has not ended yet.
type packageResults struct {
	passed, failed, skipped int
	output                  map[string]*strings.Builder // by test; "" is the package itself
	failures                []failure
	cached                  bool
}

// failure is a failed test, package or build and its output.
type failure struct{ name, output string }

// maxPrinted is how many lines are printed of the output of a failed test: its beginning, which says how to repeat the
// test, and its end, which says what was seen last.
const (
	maxPrinted = 80
	firstLines = 10 // of these
)

func newResults(out io.Writer, module string) *results {
	return &results{out: out, module: module, packages: make(map[string]*packageResults)}
}

func (r *results) add(e testEvent) {
	name := e.Package
	if name == "" {
		name = "build of " + e.ImportPath
	}
	p, ok := r.packages[name]
	if !ok {
		p = &packageResults{output: make(map[string]*strings.Builder)}
		r.packages[name] = p
	}
	switch e.Action {
	case "output", "build-output":
		p.write(e.Test, e.Output)
	case "build-fail":
		p.fail(name, "")
		r.end(name, p, e)
	case "pass":
		if e.Test == "" {
			r.end(name, p, e)
			return
		}
		p.passed++
		delete(p.output, e.Test)
	case "skip":
		if e.Test == "" { // a package without tests does not count as a skipped test
			delete(r.packages, name)
			return
		}
		p.skipped++
		r.skipped = append(r.skipped, skip{r.short(name) + "." + e.Test, reasonOf(p.said(e.Test))})
		delete(p.output, e.Test)
	case "fail":
		if e.Test != "" {
			p.failed++
			p.fail(r.short(name)+"."+e.Test, e.Test)
			return
		}
		if p.failed == 0 { // the package failed by itself, and its own output says why
			p.fail(r.short(name), "")
		}
		r.end(name, p, e)
	}
}

// end prints a package that has ended.
func (r *results) end(name string, p *packageResults, e testEvent) {
	delete(r.packages, name)
	r.passed, r.failed = r.passed+p.passed, r.failed+p.failed
	verdict, took := "ok  ", fmt.Sprintf("%6.1fs", e.Elapsed)
	if len(p.failures) > 0 {
		verdict = "FAIL"
	}
	if p.cached {
		took = " cached"
	}
	fmt.Fprintf(r.out, "%s  %s  %s: %d passed, %d failed, %d skipped\n",
		verdict, took, r.short(name), p.passed, p.failed, p.skipped)
	for _, f := range p.failures {
		r.failures = append(r.failures, f.name)
		fmt.Fprintln(r.out, indented(f.name+"\n"+f.output))
	}
	if len(p.failures) > 0 {
		// A data race or a panic may be reported between tests, under no failed test's name.
		for _, test := range slices.Sorted(maps.Keys(p.output)) {
			if text := p.said(test); crashed(text) {
				fmt.Fprintln(r.out, indented(r.short(name)+" "+test+"\n"+strings.TrimRight(text, "\n")))
			}
		}
	}
}

// short is the name of a package without that of the module.
func (r *results) short(name string) string {
	return strings.TrimPrefix(name, r.module+"/")
}

// printSkipped names the skipped tests and their reasons. Tests that lack a program count as left out.
func (r *results) printSkipped(left omissions) {
	for _, s := range r.skipped {
		if program := lacks(s.reason); program != "" {
			left.add(missingProgram(program), s.name)
			continue
		}
		fmt.Fprintf(r.out, "skip  %s: %s\n", s.name, s.reason)
	}
}

func (p *packageResults) write(test, text string) {
	b, ok := p.output[test]
	if !ok {
		b = &strings.Builder{}
		p.output[test] = b
	}
	b.WriteString(text)
	p.cached = p.cached || test == "" && strings.HasPrefix(text, "ok ") && strings.Contains(text, "(cached)")
}

func (p *packageResults) said(test string) string {
	if b, ok := p.output[test]; ok {
		return b.String()
	}
	return ""
}

func (p *packageResults) fail(name, test string) {
	p.failures = append(p.failures, failure{name, outerLines(p.said(test), firstLines, maxPrinted)})
	delete(p.output, test)
}

// crashed says that a text holds a data race or a panic: its beginning matters as much as its end.
func crashed(text string) bool {
	return strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic:")
}

// outerLines are the beginning and the end of a text, with a line between them that says how much was left out.
func outerLines(text string, first, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if left := len(lines) - most; left > 0 && !crashed(text) {
		lines = slices.Replace(lines, first, first+left, fmt.Sprintf("… %d lines left out", left))
	}
	return strings.Join(lines, "\n")
}

// indented is text under the heading of a step.
func indented(text string) string { return "      " + strings.ReplaceAll(text, "\n", "\n      ") }

// reasonOf is the reason that a skipped test gave: its output without the lines of the framework.
func reasonOf(output string) string {
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
