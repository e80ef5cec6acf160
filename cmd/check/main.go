package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	short := flags.Bool("short", false, "pass -short to the tests")
	runTests := flags.Bool("run-tests", true, "run the tests, not only the static checks")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	packages := flags.Args()
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	root, module, err := moduleRoot(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "check:", err)
		return 1
	}
	tree, err := load(root, module)
	if err != nil {
		fmt.Fprintln(stderr, "check:", err)
		return 1
	}

	report := &report{out: stdout}
	report.step("gofmt", tree.format)
	report.step("imports", tree.imports)
	report.step("layout", tree.layout)
	report.step("rules", tree.rules)
	report.step("links", tree.links)
	report.step("vet", tool(ctx, root, append([]string{"vet"}, packages...)))
	report.step("staticcheck", tool(ctx, root, append([]string{"tool", "staticcheck"}, packages...)))
	if *runTests {
		report.tests(ctx, root, *short, packages)
	}
	if report.failed {
		return 1
	}
	return 0
}

// moduleRoot finds the module that the command is run in.
func moduleRoot(ctx context.Context) (root, module string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}\n{{.Path}}").Output()
	if err != nil {
		return "", "", fmt.Errorf("find the module: %w; run the command inside the repository", err)
	}
	// Outside of a module it succeeds with an empty folder.
	root, module, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if !ok || root == "" {
		return "", "", errors.New("find the module: there is none here; run the command inside the repository")
	}
	return filepath.Clean(root), module, nil
}

// report prints one line per step as it ends.
type report struct {
	out    io.Writer
	failed bool
}

// step runs a check and prints what it found.
func (r *report) step(name string, check func() []string) {
	start := time.Now()
	found := check()
	r.line(name, len(found) == 0, time.Since(start))
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

// tool runs a go command whose whole output is its findings.
func tool(ctx context.Context, root string, args []string) func() []string {
	return func() []string {
		var out bytes.Buffer
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir, command.Stdout, command.Stderr = root, &out, &out
		if err := command.Run(); err != nil {
			return []string{strings.TrimSpace(out.String()), fmt.Sprintf("go %s: %v", strings.Join(args, " "), err)}
		}
		return nil
	}
}
