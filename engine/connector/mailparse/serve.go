package mailparse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

const (
	// dataLimit is the private memory that the system lets the process map. It ends what allocates much
	// between two looks of the watch.
	dataLimit = MaxMemory + 128<<20
	// thrifty is the divisor of the memory limit at which the process begins to collect its garbage all the time.
	thrifty = 4
	// keep is how much it may hold between two mails.
	keep = 64 << 20
	// maxStack bounds one goroutine's stack, which bounds how deep anything can be nested.
	maxStack = 64 << 20
)

// Serve makes this process one that takes mails apart for a Parser in its parent: it reads them from in
// and writes what they say to out. It never gives back what it takes from the process: files, sockets, other
// processes, the environment. It returns when in ends, which it does when the parent ends; the process
// should then end too.
func Serve(in io.Reader, out io.Writer) error {
	confine.IgnoreEnd()
	reexecFailed := confine.Reexec()
	time.Local = time.UTC
	os.Clearenv()
	debug.SetMaxStack(maxStack)
	if !confine.Race {
		debug.SetMemoryLimit(MaxMemory / thrifty)
	}
	// What is made on first use is made now, while files can still be opened.
	parse([]byte("Subject: x\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n<p>x"), nil, func(Head) {})
	report := confine.Apply(confine.Config{Data: dataLimit})
	if reexecFailed != nil {
		report.Missing = append(report.Missing, reexecFailed.Error())
	}
	if err := writeJSON(out, ready{report}); err != nil {
		return fmt.Errorf("tell the engine that the process is ready: %w", err)
	}
	s := server{in: bufio.NewReaderSize(in, pieceSize), out: out, watch: newWatch()}
	for {
		if err := s.answer(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// server answers one question after the other.
type server struct {
	in    *bufio.Reader
	out   io.Writer
	watch *watch
}

// answer takes one mail apart. io.EOF says that there is no other.
func (s *server) answer() error {
	var q question
	if err := readJSON(s.in, maxQuestion, &q); err != nil {
		return err
	}
	data, err := s.mail()
	if err != nil {
		return fmt.Errorf("read a mail from the engine: %w", err)
	}
	var head Head
	var failed error
	if q.Frugal && !confine.Race {
		debug.SetMemoryLimit(frugalMemory / thrifty)
		defer debug.SetMemoryLimit(MaxMemory / thrifty)
	}
	s.watch.allow(q.memory(), cpuLimit(min(len(data), MaxSize)))
	heard := func(h Head) {
		head = h
		failed = writeJSON(s.out, h)
	}
	var m Mail
	var whole bool
	if q.HeadersOnly {
		m, _ = parseHeaders(data, q.Headers, heard)
	} else {
		m, whole = parse(data, q.Headers, heard)
	}
	s.watch.Stop()
	if !q.Whole && !q.HeadersOnly {
		// What is wrong inside one part is told only when the whole mail is asked for.
		if !whole {
			head.Malformed, head.Error = m.Malformed, m.Error
		}
		m = Mail{Head: head}
	}
	data = nil
	if s.watch.Measure().Held > keep {
		debug.FreeOSMemory()
	}
	return errors.Join(failed, writeJSON(s.out, m))
}

// mail reads the pieces of a mail.
func (s *server) mail() ([]byte, error) {
	var data []byte
	for {
		piece, err := readFrame(s.in, pieceSize)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || len(piece) == 0 {
			return data, err
		}
		data = append(data, piece...)
	}
}
