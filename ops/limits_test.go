package ops

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

// fill takes all places that are left, as many callers would, and returns what gives them back.
func fill(p *auth.Quota) (empty func()) {
	var leaves []func()
	for n := 0; ; n++ {
		leave, problem := p.Take(&rpc.Caller{Key: fmt.Sprintf("filler %d", n)})
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

// TestFollowersAreBounded: one caller opens so many streams of the log and no more; one that is closed
// makes room. A page that waits is one of them.
func TestFollowersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.server.followers = auth.NewQuota("readers of the log", "log.followers", maxFollowers, 3)
	b.server.log.Followers = b.server.followers
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
	for b.server.followers.Taken() > 2 { // until the server sees that it is gone
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
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.HistoryTimeout = time.Nanosecond })
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

// A state that is made of much of the log would take the engine's memory with it: what it was before there was so much
// can be had, and a verification reads the workflow without folding it.
func TestStateOfMuchHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.server.cfg.HistoryBytes = 64 << 10
	b.do("getState", map[string]any{"workflow": "shop"}, nil)
	body := fmt.Sprintf(`{"messageId":"big","title":"Big","payload":"%s"}`, strings.Repeat("x", 64<<10))
	if res, answer := b.request("POST", "/v1/workflows/shop/topics/order.in/events", body); res.StatusCode != 200 {
		t.Fatalf("push: %d %s", res.StatusCode, answer)
	}
	if p := b.refused("getState", map[string]any{"workflow": "shop"}); p.Status != 503 || p.Code != "history.large" {
		t.Errorf("%+v", p)
	}
	b.do("getState", map[string]any{"workflow": "shop", "at": 1}, nil)
	b.deploy("small", "send", eventlog.GrantAllow)
	b.engine.ReportDamage("a finding about shop")
	var found replay.Verification
	if b.do("verifyLog", nil, &found); !found.OK || found.Workflows != 2 || !slices.Equal(found.NotFolded,
		[]eventlog.WorkflowName{"shop"}) {
		t.Errorf("verified: %+v", found)
	}
	if known := b.engine.Damage().Problems; len(known) != 1 {
		t.Errorf("a verification that did not fold shop leaves the findings %q", known)
	}
	b.server.cfg.HistoryBytes = 1 << 20
	var all replay.Verification
	if b.do("verifyLog", nil, &all); !all.OK || all.Transitions != found.Transitions || len(all.NotFolded) > 0 {
		t.Errorf("verified with room: %+v", all)
	}
	if known := b.engine.Damage().Problems; len(known) != 0 {
		t.Errorf("a whole verification leaves the findings %q", known)
	}
}

// TestConnectionsAreBounded: connections without a token, however many, keep out no caller with one.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.MaxConnections = 4 })
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

// TestSlowReader: a reader that takes nothing is dropped, also of a small answer.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe() // holds nothing back: an answer waits for its reader
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { rpc.WriteJSON(w, 200, []byte("{}\n")) })
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
		if waited := time.Since(began); waited < rpc.WriteTimeout || waited > 2*rpc.WriteTimeout {
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

// TestSmallChunkedBodiesTakeNothing: a body whose length is not known counts as a large one only once it is.
func TestSmallChunkedBodiesTakeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	const open = 4 * (maxBodiesEach << 10) / rpc.MaxBody
	var bodies [open]*io.PipeWriter
	statuses := make(chan int, open)
	for i := range bodies {
		body, send := io.Pipe()
		bodies[i] = send
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			b.http.URL+"/v1/workflows/shop/topics/order.sent/events", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		go func() {
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				statuses <- 0
				return
			}
			_ = res.Body.Close()
			statuses <- res.StatusCode
		}()
	}
	for i, send := range bodies { // all are open before the first one ends
		_, _ = fmt.Fprintf(send, `{"messageId":"m%d",`, i)
	}
	for _, send := range bodies {
		_, _ = io.WriteString(send, `"title":"M"}`)
		_ = send.Close()
	}
	for range bodies {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("a small chunked body: %d", status)
		}
	}
	if n := b.server.bodies.Taken(); n != 0 {
		t.Errorf("%d KiB are taken", n)
	}
}

// TestLargeBodiesAreBounded: what one caller sends and does not end takes so much memory and no more. Small requests
// of the caller are answered all the same, and so are large ones of others.
func TestLargeBodiesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	const path = "/v1/workflows/shop/topics/order.sent/events"
	large := `{"messageId":"a","title":"A","payload":"` + strings.Repeat("x", 1<<20) + `"}`
	var open []net.Conn
	for i := range maxBodiesEach << 10 / rpc.MaxBody {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.http.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		length, sent := fmt.Sprint("Content-Length: ", rpc.MaxBody), ""
		if i%2 == 0 {
			length, sent = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s", rpc.SmallBody, large[:rpc.SmallBody])
		}
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\n%s\r\n\r\n%s", path, testToken, length, sent); err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	taken := func(want int) { // once the server has seen it
		t.Helper()
		for range 10_000 {
			if b.server.bodies.Taken() == want {
				return
			}
			b.request("GET", "/healthz", "")
		}
		t.Fatalf("%d KiB are taken, want %d", b.server.bodies.Taken(), want)
	}
	taken(maxBodiesEach)
	res, body := b.request("POST", path, large)
	if res.StatusCode != 429 || mustJSON(t, body)["code"] != "bodies.busy" || res.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", res.StatusCode, body)
	}
	if res, body := b.request("POST", path, `{"messageId":"b","title":"B"}`); res.StatusCode != 200 {
		t.Errorf("a small one: %d %s", res.StatusCode, body)
	}
	var made createTokenAnswer
	b.do("createToken", map[string]any{"name": "other", "role": "ingest"}, &made)
	res, body = b.request("POST", path, large, "Authorization", "Bearer "+made.Token)
	if res.StatusCode != 200 {
		t.Errorf("another caller's: %d %s", res.StatusCode, body)
	}
	_ = open[0].Close()
	taken(maxBodiesEach - rpc.MaxBody>>10)
	if res, body := b.request("POST", path, large); res.StatusCode != 200 {
		t.Errorf("when one has ended: %d %s", res.StatusCode, body)
	}
	taken(maxBodiesEach - rpc.MaxBody>>10)
}
