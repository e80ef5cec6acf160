package auth

import (
	"fmt"
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
			Trust(ctx, fmt.Sprintf("caller %p", p))
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

// TestACallerKeepsNoOtherOut: of one caller's connections a quarter of all are kept like those of a caller with a
// token. The others leave like a stranger's, also at work, so that others come in.
func TestACallerKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	const most = 16
	c := NewConnections(most, slog.New(slog.DiscardHandler))
	enter := func(caller string) *pipe {
		p := &pipe{}
		ctx := c.Enter(t.Context(), p)
		for range 3 { // each request shows the token again
			Trust(ctx, caller)
		}
		return p
	}
	var greedy []*pipe
	for range most {
		greedy = append(greedy, enter("greedy"))
	}
	closed := func() (n int) {
		for _, p := range greedy {
			if p.closed {
				n++
			}
		}
		return n
	}
	for i := range most - most/4 {
		if other := enter(fmt.Sprint("caller ", i)); other.closed || closed() != i+1 {
			t.Fatalf("caller %d: kept out %t, %d of the greedy caller's have left", i, other.closed, closed())
		}
	}
	for _, p := range greedy[:most/4] {
		if p.closed {
			t.Error("one of the greedy caller's own share has left")
		}
	}
	if last := enter("last"); !last.closed || closed() != most-most/4 {
		t.Errorf("those at work stay: %t, %d", last.closed, closed())
	}
	// A place of the share that becomes free is taken by the caller's next connection.
	c.Changed(greedy[0], http.StateClosed)
	again, other := enter("greedy"), enter("other")
	if again.closed || !other.closed {
		t.Errorf("the share is used up: %t %t", again.closed, other.closed)
	}
}
