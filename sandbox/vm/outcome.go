package vm

import (
	"sync"

	"github.com/pawl-run/pawl/sandbox"
)

// outcome is how an invocation ends. The first end wins and stays: a fault that comes after a taken
// call, a call after a fault, or a timer that fires late changes nothing (R4, R7). It is written by
// the script's goroutine, by timers and by cancellation.
type outcome struct {
	mu    sync.Mutex
	ended bool
	err   *sandbox.Error
	call  *sandbox.MutationCall
	done  chan struct{} // closed at the end; made for the first that waits
}

// over is closed at the end.
func (o *outcome) over() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		o.done = make(chan struct{})
		if o.ended {
			close(o.done)
		}
	}
	return o.done
}

// end records the first end and reports whether this was it.
func (o *outcome) end(err *sandbox.Error, call *sandbox.MutationCall) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	o.ended, o.err, o.call = true, err, call
	if o.done != nil {
		close(o.done)
	}
	return true
}

func (o *outcome) isOver() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

func (o *outcome) fault() *sandbox.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outcome) taken() *sandbox.MutationCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.call
}
