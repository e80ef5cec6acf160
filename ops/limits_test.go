package ops

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// fill takes all places that are left, as many callers would, and returns what gives them back.
func fill(p *places) (empty func()) {
	var leaves []func()
	for n := 0; ; n++ {
		leave, problem := p.take(&rpc.Caller{Key: fmt.Sprintf("filler %d", n)})
		if problem != nil {
			break
		}
		leaves = append(leaves, leave)
	}
	return func() {
		for _, leave := range leaves {
			leave()
		}
	}
}

// TestPlaces: one caller has its share, all together have theirs, and a place that is left is free.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := newPlaces("things", "thing.many", 3, 2)
	ann, ben := &rpc.Caller{Key: "ann"}, &rpc.Caller{Key: "ben"}
	first, _ := p.take(ann)
	_, _ = p.take(ann)
	if _, problem := p.take(ann); problem == nil || problem.Status != http.StatusTooManyRequests || problem.Code != "thing.many" {
		t.Errorf("a third of one caller: %+v", problem)
	}
	if _, problem := p.take(ben); problem != nil {
		t.Errorf("the first of another: %+v", problem)
	}
	if _, problem := p.take(ben); problem == nil || problem.Status != http.StatusServiceUnavailable {
		t.Errorf("a fourth in all: %+v", problem)
	}
	first()
	first() // once is enough
	if p.open() != 2 {
		t.Errorf("%d are open", p.open())
	}
	if _, problem := p.take(ben); problem != nil {
		t.Errorf("when one has left: %+v", problem)
	}
}

// TestFollowersAreBounded: one caller opens so many streams of the log and no more; one that is closed
// makes room. A page that waits is one of them.
func TestFollowersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.server.followers.each = 3
	open := func() (int, func()) {
		ctx, cancel := context.WithCancel(await(t))
		req, err := http.NewRequestWithContext(ctx, "GET", b.http.URL+"/v1/log?follow=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		authorize(req)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, func() { cancel(); _ = res.Body.Close() }
	}
	var last func()
	for range 3 {
		status, closed := open()
		if status != 200 {
			t.Fatalf("a stream: %d", status)
		}
		defer closed()
		last = closed
	}
	res, _ := b.request("HEAD", "/v1/log?follow=true", "") // asks for no stream
	if res.StatusCode != 200 {
		t.Errorf("HEAD: %d", res.StatusCode)
	}
	if status, closed := open(); status == 200 {
		closed()
		t.Fatal("one too many is let in")
	}
	res, body := b.request("GET", "/v1/log?follow=true", "")
	if res.StatusCode != 429 || mustJSON(t, body)["code"] != "log.followers" || res.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", res.StatusCode, body)
	}
	if res, body := b.request("GET", "/v1/log", ""); res.StatusCode != 429 {
		t.Errorf("a stream of the past holds a place too: %d %.80s", res.StatusCode, body)
	}
	if res, body := b.request("GET", "/v1/log", "", "Accept", "application/json"); res.StatusCode != 200 {
		t.Errorf("a page does not: %d %s", res.StatusCode, body)
	}
	last()
	for b.server.followers.open() > 2 { // until the server sees that it is gone
		if _, err := http.Get(b.http.URL + "/healthz"); err != nil {
			t.Fatal(err)
		}
	}
	status, closed := open()
	if closed(); status != 200 {
		t.Errorf("when one has left: %d", status)
	}
}

// TestStateHasALimit: rebuilding a state ends in time, and so many at once are enough.
func TestStateHasALimit(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Bench) { c.HistoryTimeout = time.Nanosecond })
	b.deploy("shop", "send", eventlog.GrantAllow)
	if p := b.refused("getState", map[string]any{"workflow": "shop"}); p.Status != 503 || p.Code != "history.long" {
		t.Errorf("%+v", p)
	}
	b.server.cfg.HistoryTimeout = time.Minute
	b.do("getState", map[string]any{"workflow": "shop"}, nil)
	empty := fill(b.server.heavy)
	for _, id := range []string{"getState", "verifyLog"} {
		params := map[string]any{"workflow": "shop"}
		if id == "verifyLog" {
			params = nil
		}
		if p := b.refused(id, params); p.Status != 503 || p.Code != "history.busy" {
			t.Errorf("%s: %+v", id, p)
		}
	}
	b.do("getWorkflow", map[string]any{"workflow": "shop"}, nil)
	empty()
	b.do("verifyLog", nil, nil)
}

// TestConnectionsAreBounded: connections without a token, however many, keep out nobody who has it.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Bench) { c.MaxConnections = 4 })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, ln) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	dial := func() (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return conn, bufio.NewReader(conn)
	}
	ask := func(conn net.Conn, r *bufio.Reader, header string) error {
		if _, err := fmt.Fprintf(conn, "GET /v1/workflows HTTP/1.1\r\nHost: localhost\r\n%s\r\n", header); err != nil {
			return err
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	token := "Authorization: Bearer " + testToken + "\r\n"
	mine, r := dial()
	defer func() { _ = mine.Close() }()
	if err := ask(mine, r, token); err != nil {
		t.Fatal(err)
	}
	var first net.Conn
	var firstReader *bufio.Reader
	for n := range 20 { // some are refused and stay, some say nothing
		conn, r := dial()
		defer func() { _ = conn.Close() }()
		if n == 0 {
			first, firstReader = conn, r
		}
		if n%2 == 0 {
			_ = ask(conn, r, "") // it may have had to leave already
		}
	}
	if _, err := firstReader.ReadByte(); err == nil {
		t.Errorf("the oldest stranger at %s has not been sent away", first.LocalAddr())
	}
	if err := ask(mine, r, token); err != nil {
		t.Errorf("a caller with a token was sent away: %v", err)
	}
	other, otherReader := dial()
	defer func() { _ = other.Close() }()
	if err := ask(other, otherReader, token); err != nil {
		t.Errorf("another caller with a token does not come in: %v", err)
	}
}

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
	b := setup(t)
	c := newConnections(3, b.bench.Logger)
	enter := func(trusted bool) *pipe {
		p := &pipe{}
		ctx := c.enter(t.Context(), p)
		if trusted {
			trust(ctx)
		}
		return p
	}
	old, stranger, young := enter(true), enter(false), enter(true)
	c.changed(young, http.StateIdle)
	c.changed(old, http.StateIdle)
	fourth := enter(true)
	if !stranger.closed || old.closed || young.closed {
		t.Errorf("a stranger leaves first: %t %t %t", old.closed, stranger.closed, young.closed)
	}
	fifth := enter(true)
	if !young.closed || old.closed {
		t.Errorf("the one that has been idle for longest leaves: %t %t", old.closed, young.closed)
	}
	c.changed(old, http.StateActive)
	sixth := enter(true)
	if !sixth.closed || old.closed || fourth.closed || fifth.closed {
		t.Error("those at work stay")
	}
	c.changed(fourth, http.StateClosed)
	if seventh := enter(true); seventh.closed || len(c.open) != 3 {
		t.Errorf("there is room for one: %d are open", len(c.open))
	}
}

// TestSlowReader: a reader that takes nothing is dropped, also of a small answer.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe() // holds nothing back: an answer waits for its reader
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, []byte("{}\n")) })
		ended := make(chan struct{})
		web := &http.Server{Handler: h, ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed {
				close(ended)
			}
		}}
		ln := &oneConn{conn: server, done: make(chan struct{})}
		go func() { _ = web.Serve(ln) }()
		began := time.Now()
		if _, err := fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-ended
		if waited := time.Since(began); waited < writeTimeout || waited > 2*writeTimeout {
			t.Errorf("it was dropped after %s", waited)
		}
		_ = web.Close()
		_ = client.Close()
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
