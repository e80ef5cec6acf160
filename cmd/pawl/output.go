package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// output is standard output. It remembers the first write that failed: a result that nobody got is
// no success, however it was printed.
type output struct {
	to   io.Writer
	lost error
	// spare is set where what is printed is no result, and work goes on without it.
	spare bool
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err == nil || o.spare {
		return len(p), nil
	}
	err = fmt.Errorf("write to standard output: %w", err)
	if o.lost == nil {
		o.lost = err
	}
	return n, err
}

// end is run's last word: it complains about err, or else about output that was lost, and returns the
// exit code.
func (a *app) end(err error, out *output) int {
	switch {
	case out.lost == nil && err == nil:
		return exitDone
	case out.lost == nil:
		return a.complain(err)
	case errors.Is(out.lost, syscall.EPIPE):
		return exitFailed // the reader has gone on purpose
	}
	var quiet silent
	if err != nil && !errors.As(err, &quiet) && !errors.Is(err, out.lost) {
		return a.complain(err)
	}
	return a.complain(failed("what was asked for may have been done all the same; look before you repeat a command that changes something", out.lost))
}

// outliveReaders makes the process go on when nobody reads any more what it prints: an engine's
// work is not to be told, it is to be done.
func (a *app) outliveReaders() {
	if out, ok := a.stdout.(*output); ok {
		out.spare = true
	}
	// Unheard, but asked for: without this the Go runtime ends the process at such a write.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
