package httpcall

import (
	"errors"
	"net"
	"net/http/httptrace"
	"testing"
	"time"
)

// brokenConn takes n bytes and then fails.
type brokenConn struct {
	net.Conn
	n int
}

func (b brokenConn) Write([]byte) (int, error) { return b.n, errors.New("broken pipe") }

func TestConnSaysWhetherAByteMayHaveLeft(t *testing.T) {
	for name, c := range map[string]struct {
		conn  *conn
		write bool
		left  bool
	}{
		"nothing written":          {&conn{Conn: brokenConn{}}, false, false},
		"the kernel took nothing":  {&conn{Conn: brokenConn{}}, true, false},
		"the kernel took one byte": {&conn{Conn: brokenConn{n: 1}}, true, true},
		"TLS does not know":        {&conn{Conn: brokenConn{}, secure: true}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f flight
			f.trace().GotConn(httptrace.GotConnInfo{Conn: c.conn})
			if c.write {
				if _, err := c.conn.Write([]byte("POST")); err == nil {
					t.Fatal("the write did not fail")
				}
			}
			if got := !f.neverLeft(); got != c.left {
				t.Errorf("left = %v, want %v", got, c.left)
			}
			if _, err := c.conn.Write([]byte("x")); !errors.Is(err, errSealed) {
				t.Errorf("a write after the answer: %v", err)
			}
		})
	}
}

func TestASecondConnectionOfACallCannotBeWrittenTo(t *testing.T) {
	var f flight
	first, second := &conn{Conn: brokenConn{n: 4}}, &conn{Conn: brokenConn{n: 4}}
	f.trace().GotConn(httptrace.GotConnInfo{Conn: first})
	first.Write([]byte("POST"))
	f.trace().GotConn(httptrace.GotConnInfo{Conn: second})
	if _, err := second.Write([]byte("POST")); !errors.Is(err, errSealed) {
		t.Errorf("the second connection took the request: %v", err)
	}
	if f.neverLeft() {
		t.Error("a call that was written counts as never sent")
	}
}

func TestAConnectionThatDoesNotCountIsNeverProof(t *testing.T) {
	var f flight
	f.trace().GotConn(httptrace.GotConnInfo{Conn: brokenConn{}})
	if f.neverLeft() {
		t.Error("a connection that does not count proved that nothing left")
	}
}

// A mutation uses no connection that a server may be about to close: Gunicorn closes idle ones after 2 s, Node and
// Apache after 5 s.
func TestMutationsUseNoConnectionThatWasIdleForLong(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Hosts: map[string]HostConfig{"api.example.com": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if idle := c.mutations.IdleConnTimeout; idle <= 0 || idle >= 2*time.Second {
		t.Errorf("a connection may be unused for %s", idle)
	}
}
