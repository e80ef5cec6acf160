package smtp

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// maxAnswers is the most bytes that a server may send on one connection.
const maxAnswers = 1 << 20

var (
	errSealed  = errors.New("the call on this connection is over")
	errTooLong = errors.New("the server sent more than 1 MiB on one connection")
)

// line is the connection below the protocol and its encryption. It keeps the deadlines of the call, whatever the
// layers above set, and lets nothing out once it is sealed.
type line struct {
	net.Conn
	read   int
	sealed atomic.Bool
}

// keep sets when reading and writing end.
func (l *line) keep(read, write time.Time) error {
	return errors.Join(l.Conn.SetReadDeadline(read), l.Conn.SetWriteDeadline(write))
}

// seal closes the connection. Nothing is sent after it, neither buffered bytes nor a closing message of TLS.
func (l *line) seal() {
	l.sealed.Store(true)
	_ = l.Conn.Close() // the other side sees an end without the mail's
}

// SetDeadline does nothing: keep does.
func (l *line) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing: keep does.
func (l *line) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing: keep does.
func (l *line) SetWriteDeadline(time.Time) error { return nil }

// Read counts what comes.
func (l *line) Read(p []byte) (int, error) {
	if l.read >= maxAnswers {
		return 0, errTooLong
	}
	n, err := l.Conn.Read(p)
	l.read += n
	return n, err
}

// Write writes unless the line is sealed.
func (l *line) Write(p []byte) (int, error) {
	if l.sealed.Load() {
		return 0, errSealed
	}
	return l.Conn.Write(p)
}
