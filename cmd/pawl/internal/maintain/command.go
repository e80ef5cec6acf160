package maintain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Command is a maintainer that is a command of the shell: it reads the evidence from standard input and writes the
// script to standard output. Of the variables that begin with PAWL_ it gets PAWL_WORKFLOW alone. The others hold
// secrets such as PAWL_TOKEN, and the command reads texts that hostile people may have written.
type Command struct {
	Line string
	// Err gets what it writes to standard error.
	Err io.Writer
}

// endDelay is how long a command may go on after it was asked to end.
const endDelay = 5 * time.Second

// Maintain implements Maintainer.
func (c Command) Maintain(ctx context.Context, workflow string, evidence json.RawMessage) ([]byte, error) {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], c.Line)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(evidence), c.Err
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PAWL_") }),
		"PAWL_WORKFLOW="+workflow)
	cmd.WaitDelay = endDelay
	out := &bounded{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("run %s: %w", firstWord(c.Line), err)
	}
	if out.over {
		return nil, fmt.Errorf("run %s: it wrote more than %d bytes", firstWord(c.Line), maxAnswer)
	}
	return out.kept, nil
}

// firstWord is the name by which errors call a command line: the rest may hold a secret.
func firstWord(line string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return word
}

// bounded keeps as many bytes as an answer may have, and notes whether there were more.
type bounded struct {
	kept []byte // not an embedded buffer: its ReadFrom would be called instead of Write
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || len(b.kept)+len(p) > maxAnswer; !b.over {
		b.kept = append(b.kept, p...)
	}
	return len(p), nil
}
