package httpcall

import (
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/pawl-run/pawl/eventlog"
)

// errSealed ends a write on a connection whose call has been answered already, or whose call
// had another connection before.
var errSealed = errors.New("the call on this connection is over")

// conn counts whether any byte of the current call was handed to the network, and can be closed
// to writes. HTTP/1.1 gives a connection to one call at a time.
type conn struct {
	net.Conn
	secure bool

	mu     sync.Mutex
	sealed bool
	left   bool                     // a byte of the current call may have left
	gate   func() *eventlog.Failure // why the current call must not leave any more; may be nil
	closed *eventlog.Failure        // what the gate said
}

// begin starts the count of a new call.
func (c *conn) begin(gate func() *eventlog.Failure) {
	c.mu.Lock()
	c.left, c.gate, c.closed = false, gate, nil
	c.mu.Unlock()
}

// seal forbids further writes and says whether a byte may have left. A write that has begun
// counts, whatever becomes of it.
func (c *conn) seal() (left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = true
	return c.left
}

// Write asks the gate before the first byte, and marks the call as having left before it writes.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.sealed {
		c.mu.Unlock()
		return 0, errSealed
	}
	before := c.left
	if !before && c.gate != nil {
		if c.closed = c.gate(); c.closed != nil {
			c.sealed = true
			c.mu.Unlock()
			return 0, errSealed
		}
	}
	c.left = true
	c.mu.Unlock()

	n, err := c.Conn.Write(p)
	if n == 0 && err != nil && !before && !c.secure {
		// The kernel took not one byte: the connection was dead before the request. TLS
		// cannot say so: a record may have left although it reports nothing written.
		c.mu.Lock()
		c.left = false
		c.mu.Unlock()
	}
	return n, err
}

// flight follows one mutation call through net/http.
type flight struct {
	gate    func() *eventlog.Failure
	conn    atomic.Pointer[conn]
	foreign atomic.Bool // a connection that does not count
	wrote   atomic.Bool // the whole request is out
}

func (f *flight) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			c, ok := info.Conn.(*conn)
			if !ok {
				f.foreign.Store(true)
				return
			}
			if !f.conn.CompareAndSwap(nil, c) {
				// net/http wants to send the request again. It must not (R4, F5).
				c.seal()
				return
			}
			c.begin(f.gate)
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				f.wrote.Store(true)
			}
		},
	}
}

// refused is why the call was not let out at its first byte; nil when it was, or never came so far.
func (f *flight) refused() *eventlog.Failure {
	c := f.conn.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// neverLeft says whether not one byte of the call was handed to the network, and makes sure that
// none follows.
func (f *flight) neverLeft() bool {
	if f.foreign.Load() {
		return false
	}
	c := f.conn.Load()
	return c == nil || !c.seal()
}
