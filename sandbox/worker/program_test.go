package worker

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// playing stands before the name of the program that this test program is to be. It is an argument,
// since a pool gives its workers an environment of its own.
const playing = "playing"

// programs are what tests start beside themselves: TestMain becomes one of them instead of testing.
var programs = map[string]func(arguments []string) error{"unconfined": unconfined}

// itself is this test program as a command that is one of the programs.
func itself(t testing.TB, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	if programs[program] == nil {
		t.Fatalf("there is no program %q", program)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, append([]string{playing, program}, arguments...)...)
}

// play is the whole life of a program; it answers its exit code.
func play(program string, arguments []string) int {
	run := programs[program]
	if run == nil {
		fmt.Fprintf(os.Stderr, "there is no program %q\n", program)
		return 2
	}
	if err := run(arguments); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		return 1
	}
	return 0
}

// unconfined is a worker that could take nothing from itself, until the pool ends it.
func unconfined([]string) error {
	in, err := handshakeUnconfined()
	if err == nil {
		_, _ = in.next(1 << 20)
	}
	return err
}

// handshakeUnconfined answers the engine like a worker that could take nothing from itself.
func handshakeUnconfined() (*frameReader, error) {
	in, pack := newFrameReader(os.Stdin), newPacker()
	if kind, err := in.next(1 << 20); err != nil || kind != frameHello {
		return nil, fmt.Errorf("greeted with frame %v, %v", kind, err)
	}
	ready{version: frameVersion, report: confine.Report{Level: confine.None, Missing: []string{"all of it"}}}.pack(pack)
	return in, pack.flush(os.Stdout)
}
