package mailparse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// startTimeout is how long a process may take from its start to its first frame.
const startTimeout = 20 * time.Second

// process is one that takes mails apart, as its engine sees it. It belongs to one caller at a time; only
// Kill may be used by others.
type process struct {
	*confine.Process
	ready ready
	// mails is how many it has taken apart.
	mails int
	// idle is since when it waits for another.
	idle time.Time
}

// start starts a process and waits until it is confined.
func start(cmd *exec.Cmd) (*process, error) {
	started, err := confine.Start(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{Process: started}
	timeout := time.AfterFunc(startTimeout, p.Kill)
	defer timeout.Stop()
	if err := readJSON(p.Out, maxAnswer, &p.ready); err != nil {
		p.End()
		return nil, fmt.Errorf("start %s: %w; it ended with %s and said: %s", cmd.Path, err, cmd.ProcessState, p.Said())
	}
	return p, nil
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
	if err := readJSON(p.Out, maxAnswer, head); err != nil {
		return nil, m, err
	}
	return head, m, readJSON(p.Out, maxAnswer, &m)
}

func (p *process) send(q question, content io.Reader) error {
	if err := writeJSON(p.In, q); err != nil {
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
			if _, err := p.In.Write(frame[:4+n]); err != nil {
				return err
			}
		}
		if err != nil {
			return writeFrame(p.In, nil)
		}
	}
}

// death says why the process came to an end over a mail of so many bytes, given the error of talking to it;
// ok is false when that says nothing about the mail, as when something else on the machine has killed it.
func (p *process) death(q question, size int64, err error) (reason string, ok bool) {
	state := p.Cmd.ProcessState
	said := p.Said()
	switch {
	case errors.Is(err, errProtocol):
		return "the process that takes it apart answered something else", true
	case state.ExitCode() == exitTime:
		return fmt.Sprintf("it takes more than %s of processor time to take it apart",
			cpuLimit(int(min(size, MaxSize)))), true
	case strings.Contains(said, "stack exceeds"):
		return "something in it is nested too deeply to take it apart", true
	case state.ExitCode() == confine.ExitMemory, strings.Contains(said, "out of memory"),
		strings.Contains(said, "cannot allocate"):
		reason = fmt.Sprintf("it takes more than %d MiB of memory to take it apart", q.memory()>>20)
		if q.Frugal {
			reason += ", and the system has ended the process that took more"
		}
		return reason, true
	}
	if status, isStatus := state.Sys().(syscall.WaitStatus); isStatus && status.Signaled() &&
		status.Signal() == syscall.SIGKILL {
		return "", false
	}
	return fmt.Sprintf("the process that takes it apart ended: %s", state), true
}
