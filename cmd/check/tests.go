package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sequential are packages in whose tests no two things happen at once, or only in programs that the tests themselves
// build without the race detector. It could find nothing there, and would take minutes.
var sequential = []string{"cmd/screenshots", "engine/decide", "engine/simulation"}

// leftOutByShort are folders of packages that a quick look leaves out: their test programs hold nearly all of Pawl, so
// that to link one takes longer than its tests do, or their tests are of several engines or of many random histories.
var leftOutByShort = []string{"cmd/pawl/internal", "cmd/screenshots", "engine/cluster", "engine/process",
	"engine/simulation", "ops/alert", "ops/backup", "ops/feed", "ops/hooks", "ops/replay", "ops/trace"}

func isLeftOutByShort(name string) bool {
	return slices.ContainsFunc(leftOutByShort, func(folder string) bool {
		return name == folder || strings.HasPrefix(name, folder+"/")
	})
}

// tests runs the tests and prints each package as it ends, with what failed in it. At the end it prints the step and
// the names of all tests that failed or were skipped.
func (r *report) tests(ctx context.Context, root string, short, all bool, packages []string) {
	start := time.Now()
	// Vet has its own step. The default of 10 minutes for a package is short for a busy machine.
	args := []string{"test", "-json", "-vet=off", "-timeout=20m"}
	var said string
	packages, err := list(ctx, root, packages)
	if err == nil && short {
		args = append(args, "-short")
		if kept := slices.DeleteFunc(slices.Clone(packages), func(name string) bool {
			return isLeftOutByShort(strings.TrimPrefix(name, r.module+"/"))
		}); len(kept) > 0 && len(kept) < len(packages) { // those that were asked for by name stay
			packages = kept
			r.left.add("by -short", "tests of "+strings.Join(leftOutByShort, ", "))
		}
	}
	if !all {
		// The tests of many packages wait most of their time. With the race detector they compute, and take memory.
		args = append(args, "-p="+strconv.Itoa(runtime.GOMAXPROCS(0)+2))
	}
	results := newResults(r.out, r.module)
	environment := []string{"PAWL_TEST_ALL="} // tests that leave something out to save time look for it
	if all {
		environment = []string{"PAWL_TEST_ALL=1"}
	}
	switch {
	case err != nil:
		packages = nil
	case !all:
		r.left.add(withoutAll, "the race detector")
	case !hasRaceDetector(ctx, root):
		r.left.add(missingProgram("C compiler"), "the race detector")
	default:
		var raced []string
		if raced, packages = r.split(packages); len(raced) > 0 {
			said, err = results.of(ctx, root, append(environment, noRaceSleep()), slices.Concat(args, raceFlags, raced))
		}
		// The programs that tests start are built in this way too, so common packages are compiled once.
		environment = append(environment, "CGO_ENABLED=0")
	}
	if len(packages) > 0 {
		more, failed := results.of(ctx, root, environment, append(args, packages...))
		said, err = strings.TrimSpace(said+"\n"+more), errors.Join(err, failed)
	}
	ok := err == nil && results.failed == 0
	r.line("tests", ok, time.Since(start))
	if !ok {
		if said != "" {
			fmt.Fprintln(r.out, said)
		}
		if err != nil {
			fmt.Fprintln(r.out, err)
		}
	}
	results.printSkipped(r.left)
	// The failures are repeated at the end: often only the end of a long output is kept.
	for _, name := range results.failures {
		fmt.Fprintln(r.out, "FAIL ", name)
	}
	r.tested = true
	r.passed, r.failedTests, r.skipped = results.passed, results.failed, len(results.skipped)
}

// list returns the paths of the packages that the patterns name.
func list(ctx context.Context, root string, patterns []string) ([]string, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-e"}, patterns...)...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// split tells the packages whose tests have the race detector from the sequential ones.
func (r *report) split(packages []string) (raced, rest []string) {
	for _, name := range packages {
		if slices.Contains(sequential, strings.TrimPrefix(name, r.module+"/")) {
			rest = append(rest, name)
		} else {
			raced = append(raced, name)
		}
	}
	return raced, rest
}

// of runs the go command with these additions to its environment, and adds its events to the results as they come. It
// returns what the command itself printed as errors.
func (r *results) of(ctx context.Context, root string, environment, args []string) (said string, err error) {
	var errOut bytes.Buffer
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Stderr = root, &errOut
	command.Env = append(command.Environ(), environment...)
	out, err := command.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("open the test output: %w", err)
	}
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("start the tests: %w", err)
	}
	readErr := r.read(out)
	if readErr != nil {
		command.Process.Kill() // the rest of its output cannot be read any more
	}
	if err = errors.Join(readErr, command.Wait()); err != nil { // after Wait nothing writes to errOut any more
		err = fmt.Errorf("go %s: %w", strings.Join(args[:min(4, len(args))], " "), err) // what follows names 100 packages
	}
	return strings.TrimSpace(errOut.String()), err
}

// read reads events to the end. A line that is no event is printed: it comes from a broken test binary or from the go
// command itself.
func (r *results) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var event testEvent
		if json.Unmarshal(line, &event) == nil {
			r.add(event)
		} else if s := strings.TrimSpace(string(line)); s != "" {
			fmt.Fprintln(r.out, "     ", s)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the test output: %w", err)
		}
	}
}

// raceFlags are the build flags of the tests with the race detector, and of the analyses before them. That needs cgo.
// With cgo and without the tag, Pebble would use a zstd written in C, which takes as long to compile as fifty packages
// of Go. Pawl's store compresses with Snappy, and a release contains none of that C either.
var raceFlags = []string{"-race", "-tags=pebblegozstd"}

// noRaceSleep is a setting of the race detector. Without it each program that has goroutines left sleeps for a second
// before it ends: the tests of each package, and each program that they start. Options that are set already stay.
func noRaceSleep() string {
	return strings.TrimSpace("GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"))
}

// hasRaceDetector builds a package that uses C with the race detector, as its tests would be.
func hasRaceDetector(ctx context.Context, root string) bool {
	return findings(exec.CommandContext(ctx, "go", "build", "-race", "net"), root, nil) == nil
}
