package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// analyses are the steps that need the imports of a package in compiled form. With all, the imports are compiled as
// they are for the tests, with the race detector where there is one, so that nothing is compiled for the analyses
// alone. Files with the constraint !race are read only without all.
func analyses(ctx context.Context, root string, all bool, packages []string) []step {
	named := func(name string, command func() ([]string, error)) step {
		return step{name, func() []string {
			words, err := command()
			if err != nil {
				return []string{err.Error()}
			}
			var environment []string
			if all && hasRaceDetector(ctx, root) {
				set, err := says(ctx, root, "env", "GOFLAGS")
				if err != nil {
					return []string{err.Error()}
				}
				flags := strings.TrimSpace(set + " " + strings.Join(raceFlags, " "))
				environment = append(rareCollections(), "GOFLAGS="+flags)
			}
			return findings(exec.CommandContext(ctx, words[0], append(words[1:], packages...)...), root, environment)
		}}
	}
	return []step{
		named("vet", func() ([]string, error) { return []string{"go", "vet"}, nil }),
		named("staticcheck", func() ([]string, error) {
			path, err := says(ctx, root, "tool", "-n", "staticcheck") // it is built without the flags of the tests
			return []string{path}, err
		}),
	}
}

// rareCollections lets the compiler and the analyses collect their garbage more rarely, which saves a sixth of their
// processor time. Above 3 GB each collects more often again. Settings that are there already stay.
func rareCollections() []string {
	return []string{"GOGC=" + cmp.Or(os.Getenv("GOGC"), "400"), "GOMEMLIMIT=" + cmp.Or(os.Getenv("GOMEMLIMIT"), "3GiB")}
}

// says is what a go command prints, without the end of its line.
func says(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
