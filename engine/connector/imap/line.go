package imap

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

var (
	errSealed   = errors.New("the call on this connection is over")
	errTooMuch  = errors.New("the server sent much more than it was asked for")
	errTooLists = errors.New("the server sent many more lists than it was asked for")
)

// spareLists is how many lists may come besides those that were asked for. lookahead is how many bytes the library
// reads before they are needed, and content is read at a time: all of them may be brackets.
const (
	spareLists = 1 << 10
	lookahead  = 4 << 10
)

// line is the connection below the library, above its encryption. It lets through as many bytes as a command has room
// for, so that no answer can fill the memory, whatever length the server announces. It also bounds the opening
// brackets: the library reads nested lists by nested calls without a bound, and a full stack would end the engine. It
// lets nothing through once it is sealed.
type line struct {
	net.Conn
	// raw is the connection below the encryption.
	raw net.Conn
	// first is read before what comes.
	first io.Reader

	allowed, lists atomic.Int64
	sealed         atomic.Bool
}

// allow lets so many bytes, and so many lists in them, come from now on.
func (l *line) allow(bytes, lists int64) {
	l.lists.Store(lists + spareLists + lookahead)
	l.allowed.Store(bytes)
}

// content says that these bytes were the content of a mail, in which brackets are no lists.
func (l *line) content(bytes []byte) { l.lists.Add(brackets(bytes)) }

func brackets(text []byte) int64 { return int64(bytes.Count(text, []byte("("))) }

// seal closes the connection.
func (l *line) seal() {
	l.sealed.Store(true)
	_ = l.raw.Close() // nothing is left to be said
}

// SetDeadline does nothing, as do the two below: the context of a call seals the line when it ends. The deadlines that
// the library sets are longer than a call or shorter than a connection's rest between two.
func (l *line) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (l *line) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (l *line) SetWriteDeadline(time.Time) error { return nil }

// Close closes the connection.
func (l *line) Close() error {
	l.seal()
	return nil
}

// Read counts what comes.
func (l *line) Read(p []byte) (int, error) {
	if l.sealed.Load() {
		return 0, errSealed
	}
	if l.first != nil {
		n, err := l.first.Read(p)
		if err == nil {
			return n, nil
		}
		l.first = nil
	}
	n, err := l.Conn.Read(p)
	if l.allowed.Add(-int64(n)) < 0 {
		l.seal()
		return 0, errTooMuch
	}
	if l.lists.Add(-brackets(p[:n])) < 0 {
		l.seal()
		return 0, errTooLists
	}
	return n, err
}

// ended is why the line was sealed by itself, nil if it was not.
func (l *line) ended() error {
	switch {
	case l.allowed.Load() < 0:
		return errTooMuch
	case l.lists.Load() < 0:
		return errTooLists
	}
	return nil
}
