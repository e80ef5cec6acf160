package main

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// report prints one line per step as it ends.
type report struct {
	out    io.Writer
	module string
	failed bool
	left   omissions
	tested bool
	// passed, failedTests and skipped count tests.
	passed, failedTests, skipped int
}

// end names what was left out, which fails the check if all was asked for, and counts the tests.
func (r *report) end(all bool) {
	r.left.print(r.out)
	if missing := r.left.missingPrograms(); all && len(missing) > 0 {
		r.failed = true
		fmt.Fprintf(r.out, "FAIL  -all: install %s\n", strings.Join(missing, ", "))
	}
	if r.tested {
		fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failedTests, r.skipped)
	}
}

// step is a check of the whole module; what it returns are its findings.
type step struct {
	name  string
	check func() []string
}

// step runs a check and prints what it found.
func (r *report) step(s step) {
	start := time.Now()
	found := s.check()
	r.line(s.name, len(found) == 0, time.Since(start))
	for _, finding := range found {
		fmt.Fprintln(r.out, "     ", strings.ReplaceAll(finding, "\n", "\n      "))
	}
}

func (r *report) line(name string, ok bool, took time.Duration) {
	verdict := "ok  "
	if !ok {
		verdict, r.failed = "FAIL", true
	}
	fmt.Fprintf(r.out, "%s  %-12s %6.1fs\n", verdict, name, took.Seconds())
}

// findings are the whole output of a command that fails, and how it failed.
func findings(command *exec.Cmd, root string, environment []string) []string {
	var out bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = root, &out, &out
	command.Env = append(command.Environ(), environment...)
	if err := command.Run(); err != nil {
		return []string{strings.TrimSpace(out.String()), fmt.Sprintf("%s: %v", strings.Join(command.Args, " "), err)}
	}
	return nil
}
