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
	if o.lost != nil {
		return 0, o.lost
	}
	n, err := o.to.Write(p)
	if err == nil || o.spare {
		return len(p), nil
	}
	o.lost = fmt.Errorf("write to standard output: %w", err)
	return n, o.lost
}

// end complains about err, or else about output that was lost, and returns the exit code.
func (a *app) end(err error, out *output) int {
	var quiet silent
	said := err == nil || errors.As(err, &quiet) || out.lost != nil && errors.Is(err, out.lost)
	switch {
	case !said, err != nil && out.lost == nil:
		return a.complain(err)
	case out.lost == nil:
		return exitDone
	case errors.Is(out.lost, syscall.EPIPE):
		return exitFailed // the reader has gone on purpose
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
