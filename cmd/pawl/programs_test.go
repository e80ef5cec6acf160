package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// mains are the programs that these tests start, by name. Each of them is the test binary itself.
var mains = map[string]func(){
	"pawl":           underTest().main,
	"pawl-killed":    killedMain,
	"pawl-cramped":   crampedMain,
	"pawl-storeless": storelessMain,
	"pawl-tools":     toolsMain,
}

// everything says, in the environment, that nothing is left out to save time.
const everything = "PAWL_TEST_ALL"

// plain has the programs without the race detector, or is empty where the tests have none. The programs of TestScripts
// have it, which are every command, and engines at every kind of work: the other tests start hundreds of engines, for
// what a process does to the next one, each of which costs four times as much with it.
var plain struct {
	sync.Once
	folder string
	err    error
}

// plainPrograms is the folder of the programs without the race detector. It is empty if a test is to start those that
// stand in its PATH.
func plainPrograms(t *testing.T) string {
	t.Helper()
	plain.Do(func() {
		if raced {
			plain.folder, plain.err = buildPlain(context.Background())
		}
	})
	if plain.err != nil {
		t.Fatal(plain.err)
	}
	return plain.folder
}

// buildPlain builds this test binary without the race detector, and gives it the names of the programs.
func buildPlain(ctx context.Context) (string, error) {
	folder, err := os.MkdirTemp("", "pawl-plain")
	if err != nil {
		return "", fmt.Errorf("make a folder for the programs: %w", err)
	}
	binary := filepath.Join(folder, "plain.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return folder, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	for name := range mains {
		if err := os.Link(binary, filepath.Join(folder, name)); err != nil {
			return folder, fmt.Errorf("name a program: %w", err)
		}
	}
	return folder, nil
}

// long leaves a test out of a quick look: it builds the program, starts it again and again, or waits in earnest.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds or starts the program many times, or waits for real: left out by -short")
	}
}

// suite runs the tests and then removes the programs that were built for them.
type suite struct{ *testing.M }

func (s suite) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		// Most of the time a test waits for the disk, or for the end of a pause: others compute meanwhile.
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, "set how many tests run at once:", err)
			return 1
		}
	}
	code := s.M.Run()
	if plain.folder != "" {
		if err := os.RemoveAll(plain.folder); err != nil {
			fmt.Fprintln(os.Stderr, "remove the programs of the tests:", err)
		}
	}
	return code
}

// programCommand is a program as a test starts it. What the program starts by name is of the same kind.
func programCommand(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	folder := plainPrograms(t)
	if _, ours := mains[name]; !ours || folder == "" {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = os.Environ()
		return cmd
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, name), args...)
	cmd.Env = append(os.Environ(), "PATH="+strings.Join([]string{folder, os.Getenv("PATH")}, string(os.PathListSeparator)))
	return cmd
}
