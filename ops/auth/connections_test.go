package auth

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// pipe is a connection by its name alone.
type pipe struct {
	net.Conn
	closed bool
}

func (p *pipe) Close() error { p.closed = true; return nil }

// TestConnectionsGiveWay: strangers leave before those with a token, the idle before those at work, the
// oldest first; when all are at work the newest does not come in.
func TestConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	c := NewConnections(3, slog.New(slog.DiscardHandler))
	enter := func(trusted bool) *pipe {
		p := &pipe{}
		ctx := c.Enter(t.Context(), p)
		if trusted {
			Trust(ctx)
		}
		return p
	}
	old, stranger, young := enter(true), enter(false), enter(true)
	c.Changed(young, http.StateIdle)
	c.Changed(old, http.StateIdle)
	fourth := enter(true)
	if !stranger.closed || old.closed || young.closed {
		t.Errorf("a stranger leaves first: %t %t %t", old.closed, stranger.closed, young.closed)
	}
	fifth := enter(true)
	if !young.closed || old.closed {
		t.Errorf("the one that has been idle for longest leaves: %t %t", old.closed, young.closed)
	}
	c.Changed(old, http.StateActive)
	sixth := enter(true)
	if !sixth.closed || old.closed || fourth.closed || fifth.closed {
		t.Error("those at work stay")
	}
	c.Changed(fourth, http.StateClosed)
	if seventh := enter(true); seventh.closed || len(c.open) != 3 {
		t.Errorf("there is room for one: %d are open", len(c.open))
	}
}
