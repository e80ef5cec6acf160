package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// narrow takes so many bytes and then fails.
type narrow struct {
	room  int
	cause error
}

func (n *narrow) Write(p []byte) (int, error) {
	if len(p) > n.room {
		return 0, n.cause
	}
	n.room -= len(p)
	return len(p), nil
}

func TestLostOutputDecidesTheExitCode(t *testing.T) {
	full := syscall.ENOSPC
	for name, test := range map[string]struct {
		cause error
		err   func(*term.Output) error // of the command, after it has written
		code  int
		says  string
	}{
		"all written": {nil, func(*term.Output) error { return nil }, exit.CodeDone, ""},
		"not noticed": {
			full, func(*term.Output) error { return nil }, exit.CodeFailed, "write to standard output: no space left on device",
		},
		"noticed": {
			full,
			func(o *term.Output) error { _, err := io.WriteString(o, "more"); return fmt.Errorf("print: %w", err) },
			exit.CodeFailed, "write to standard output: no space left on device",
		},
		"beside a quiet end": {
			full,
			func(*term.Output) error { return exit.Silent(exit.CodeNeedsPerson) }, exit.CodeFailed,
			"no space left on device",
		},
		"beside a failure": {
			full, func(*term.Output) error { return exit.Misconfigured("", "no such flag") }, exit.CodeUsage, "no such flag",
		},
		"the reader has gone": {syscall.EPIPE, func(*term.Output) error { return nil }, exit.CodeFailed, ""},
		"the reader has gone, and failure": {
			syscall.EPIPE, func(*term.Output) error { return errors.New("boom") }, exit.CodeFailed, "boom",
		},
		"a quiet end": {
			nil, func(*term.Output) error { return exit.Silent(exit.CodeNeedsPerson) }, exit.CodeNeedsPerson, "",
		},
	} {
		var complaints bytes.Buffer
		out := &term.Output{To: &narrow{cause: test.cause}}
		if test.cause == nil {
			out.To = io.Discard
		}
		_, _ = io.WriteString(out, "a result")
		if code := end(t.Context(), term.Screen{Err: &complaints}, test.err(out), out); code != test.code {
			t.Errorf("%s: exit code %d, want %d", name, code, test.code)
		}
		if said := complaints.String(); strings.Count(said, "pawl: ") != min(1, len(test.says)) ||
			!strings.Contains(said, test.says) {
			t.Errorf("%s: said %q, want %q", name, said, test.says)
		}
	}
}

// What an engine prints is no result: nothing that is lost of it makes it fail.
func TestEnginesOutliveTheirReaders(t *testing.T) {
	out := &term.Output{To: &narrow{cause: syscall.EPIPE}}
	term.OutliveReaders(out)
	if _, err := io.WriteString(out, "progress"); err != nil {
		t.Error(err)
	}
	if code := end(t.Context(), term.Screen{}, nil, out); code != exit.CodeDone {
		t.Errorf("exit code %d", code)
	}
}
