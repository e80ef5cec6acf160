package term

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Output is standard output. It remembers the first write that failed: a result that no reader got is
// no success, however it was printed.
type Output struct {
	To io.Writer
	// Lost is the first write that failed, nil for none.
	Lost error
	// spare is set where the output is no result, and the work goes on without it.
	spare bool
}

// NewOutput makes an output that writes to to.
func NewOutput(to io.Writer) *Output { return &Output{To: to} }

// Write writes to To. After a failed write it writes nothing more and returns the first error.
func (o *Output) Write(p []byte) (int, error) {
	if o.Lost != nil {
		return 0, o.Lost
	}
	n, err := o.To.Write(p)
	if err == nil || o.spare {
		return len(p), nil
	}
	o.Lost = fmt.Errorf("write to standard output: %w", err)
	return n, o.Lost
}

// OutliveReaders makes the process go on when its output is not read any more: an engine does its work whether or not
// it is read.
func OutliveReaders(to io.Writer) {
	if out, ok := to.(*Output); ok {
		out.spare = true
	}
	// Nothing reads the channel, but without a registration the Go runtime ends the process at such a write.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
