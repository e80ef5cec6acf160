package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
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
	short := flags.Bool("short", false, "a quick look: leave out long tests")
	all := flags.Bool("all", false, "leave nothing out: test with the race detector, "+
		"and fail if a part is left out because a program outside of Go is not installed")
	runTests := flags.Bool("run-tests", true, "run the tests, not only the static checks")
	only := flags.String("only", "", "run only the step of this `name`, e.g. layout")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *short && *all {
		fmt.Fprintln(stderr, "check: -short leaves tests out and -all leaves nothing out; give one of them")
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

	report := &report{out: stdout, module: module, left: make(omissions)}
	steps := []step{
		{"gofmt", tree.format},
		{"imports", tree.imports},
		{"layout", tree.layout},
		{"lines", tree.lines},
		{"rules", tree.rules},
		{"links", tree.links},
		{"comments", tree.comments},
	}
	steps = append(steps, analyses(ctx, root, *all, packages)...)
	if elsewhere := platforms(ctx, root, module, packages); *short {
		report.left.add("by -short", "types on other platforms")
	} else {
		steps = append(steps, elsewhere...)
	}
	if *only != "" {
		steps = slices.DeleteFunc(steps, func(s step) bool { return s.name != *only })
		if len(steps) == 0 {
			fmt.Fprintf(stderr, "check: there is no step %q\n", *only)
			return 2
		}
	}
	for _, s := range steps {
		report.step(s)
	}
	if *only == "" {
		if *runTests {
			report.tests(ctx, root, *short, *all, packages)
		}
		report.end(*all)
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
	// Outside of a module the command succeeds and prints an empty folder.
	root, module, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if !ok || root == "" {
		return "", "", errors.New("find the module: there is none here; run the command inside the repository")
	}
	return filepath.Clean(root), module, nil
}
