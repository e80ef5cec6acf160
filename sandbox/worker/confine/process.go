package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// Process is a process that this one has started to be confined. It speaks to it through two pipes.
type Process struct {
	// Cmd is what was started; its ProcessState is set once Exited is closed.
	Cmd *exec.Cmd
	// In is written to, Out is read from.
	In, Out *os.File
	// Exited is closed when the process is gone.
	Exited chan struct{}

	said tail
}

// Start starts a program that calls Apply. Its streams and its environment are overwritten; its attributes are the
// caller's to choose. It fails when the system starts no process.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{Cmd: cmd, Exited: make(chan struct{})}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), childIn.Close(), in.Close())
	}
	p.In, p.Out = in, out
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, &p.said
	// What the Go runtime must know before the first line of code, and nothing else: the process clears it. Two
	// threads, so that its watch looks while it works.
	cmd.Env = []string{"GOTRACEBACK=none", "GOMAXPROCS=2", "TZ=UTC", "GODEBUG=" + Debug, "GORACE=atexit_sleep_ms=0"}
	err = cmd.Start()
	closed := errors.Join(childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", cmd.Path, err), closed, in.Close(), out.Close())
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.Exited)
	}()
	return p, nil
}

// Kill ends the process now.
func (p *Process) Kill() {
	// An error says that it has ended by itself.
	_ = p.Cmd.Process.Kill()
}

// Stop kills the process if it still runs and waits until it is gone.
func (p *Process) Stop() {
	p.Kill()
	<-p.Exited
}

// End stops the process and closes the pipes.
func (p *Process) End() {
	p.Stop()
	// Errors of closing pipes without another end mean nothing.
	_ = p.In.Close()
	_ = p.Out.Close()
}

// Said is how what the process wrote to standard error begins and ends, at most 4 KiB of it.
func (p *Process) Said() string { return p.said.String() }

// tail keeps the first and the last of what a process writes to standard error: a crash of the Go
// runtime begins with its reason.
type tail struct {
	mu   sync.Mutex
	head []byte
	last []byte
}

const maxTail = 2 << 10

var _ io.Writer = (*tail)(nil)

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := b
	if room := maxTail - len(t.head); room > 0 {
		n := min(room, len(rest))
		t.head = append(t.head, rest[:n]...)
		rest = rest[n:]
	}
	t.last = append(t.last, rest...)
	if over := len(t.last) - maxTail; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == 0 {
		return string(t.head)
	}
	return string(t.head) + "…" + string(t.last)
}
