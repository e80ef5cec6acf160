package mailparse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout is how long a process may take from its start to its first frame.
const startTimeout = 20 * time.Second

// process is one that takes mails apart, as its engine sees it. It belongs to one caller at a time; only
// kill may be used by others.
type process struct {
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	said   *stderr
	exited chan struct{} // closed when the process is gone and cmd.ProcessState is set
	ready  ready
	// mails is how many it has taken apart.
	mails int
	// idle is since when it waits for another.
	idle time.Time
}

// start starts a process and waits until it is confined.
func start(cmd *exec.Cmd) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), childIn.Close(), in.Close())
	}
	p := &process{cmd: cmd, in: in, out: out, said: &stderr{}, exited: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, p.said
	err = cmd.Start()
	closed := errors.Join(childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", cmd.Path, err), closed, in.Close(), out.Close())
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.exited)
	}()
	timeout := time.AfterFunc(startTimeout, p.kill)
	defer timeout.Stop()
	if err := readJSON(p.out, maxAnswer, &p.ready); err != nil {
		p.end()
		return nil, fmt.Errorf("start %s: %w; it ended with %s and said: %s", cmd.Path, err, cmd.ProcessState, p.said)
	}
	return p, nil
}

func (p *process) kill() {
	// An error says that it has ended by itself.
	_ = p.cmd.Process.Kill()
}

// end kills the process if it still runs, waits until it is gone and closes the pipes.
func (p *process) end() {
	p.kill()
	<-p.exited
	_ = p.in.Close()
	_ = p.out.Close()
}

// errContent says that a mail's bytes could not be read where it lies.
var errContent = errors.New("read the mail")

// parse has one mail taken apart. After an error the process is of no use any more; head is then what
// was heard before.
func (p *process) parse(q question, content io.Reader) (head *Head, m Mail, err error) {
	p.mails++
	if err := p.send(q, content); err != nil {
		return nil, m, err
	}
	head = &Head{}
	if err := readJSON(p.out, maxAnswer, head); err != nil {
		return nil, m, err
	}
	return head, m, readJSON(p.out, maxAnswer, &m)
}

func (p *process) send(q question, content io.Reader) error {
	if err := writeJSON(p.in, q); err != nil {
		return err
	}
	frame := make([]byte, 4+pieceSize)
	for {
		n, err := io.ReadFull(content, frame[4:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: %w", errContent, err)
		}
		if n > 0 {
			binary.LittleEndian.PutUint32(frame, uint32(n))
			if _, err := p.in.Write(frame[:4+n]); err != nil {
				return err
			}
		}
		if err != nil {
			return writeFrame(p.in, nil)
		}
	}
}

// death says why the process came to an end over a mail of so many bytes, given the error of talking to it;
// ok is false when that says nothing about the mail, as when something else on the machine has killed it.
func (p *process) death(size int64, err error) (reason string, ok bool) {
	state := p.cmd.ProcessState
	said := p.said.String()
	switch {
	case errors.Is(err, errProtocol):
		return "the process that takes it apart answered something else", true
	case state.ExitCode() == exitTime:
		return fmt.Sprintf("it takes more than %s of processor time to take it apart", cpuLimit(int(min(size, MaxSize)))), true
	case strings.Contains(said, "stack exceeds"):
		return "something in it is nested too deeply to take it apart", true
	case state.ExitCode() == exitMemory, strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate"):
		return fmt.Sprintf("it takes more than %d MiB of memory to take it apart", MaxMemory>>20), true
	}
	if status, isStatus := state.Sys().(syscall.WaitStatus); isStatus && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return "", false
	}
	return fmt.Sprintf("the process that takes it apart ended: %s", state), true
}

// stderr keeps how what a process writes to standard error begins: a crash of the Go runtime begins with
// its reason.
type stderr struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxStderr = 2 << 10

func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b[:min(len(b), maxStderr-s.text.Len())])
	return len(b), nil
}

func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
