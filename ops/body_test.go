package ops

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/ops/rpc"
)

// zeros yields so many bytes and counts those that were asked for.
type zeros struct{ left, read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	for i := range n {
		p[i] = '0'
	}
	z.left -= int64(n)
	z.read += int64(n)
	return n, nil
}

// writeAllThenRead sends a whole request before it reads anything, as many clients do.
func writeAllThenRead(t *testing.T, address, method, path string, chunked bool, size int64,
	body io.Reader) (*http.Response, map[string]any) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	out := bufio.NewWriter(conn)
	_, _ = fmt.Fprintf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n",
		method, path, address, testToken)
	if chunked {
		_, _ = fmt.Fprint(out, "Transfer-Encoding: chunked\r\n\r\n")
		for part := make([]byte, 64<<10); err == nil; {
			var n int
			n, err = body.Read(part)
			if n > 0 {
				_, _ = fmt.Fprintf(out, "%x\r\n%s\r\n", n, part[:n])
			}
		}
		_, _ = fmt.Fprint(out, "0\r\n\r\n")
	} else {
		_, _ = fmt.Fprintf(out, "Content-Length: %d\r\n\r\n", size)
		_, _ = io.Copy(out, body)
	}
	if err := out.Flush(); err != nil { // the first error of all that was written
		t.Errorf("%s %s: the request could not be sent whole: %v", method, path, err)
		return nil, nil
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%s %s: no answer: %v", method, path, err)
		return nil, nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: the answer breaks off: %v", method, path, err)
		return nil, nil
	}
	return res, mustJSON(t, text)
}

// TestRefusedBody: a client that sends everything before reading anything is told why it was refused, whatever
// the reason and however long the body.
func TestRefusedBody(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it sends large bodies")
	}
	t.Parallel()
	b := setup(t)
	guarded := setup(t, func(c *Config, _ *enginetest.Harness) { c.Token = "secret" })
	address := func(b *bundle) string { return b.http.Listener.Addr().String() }
	push := "/v1/workflows/shop/topics/order.in/events"
	for _, size := range []int64{9_000_000, 20_000_000, 30_000_000} {
		for _, c := range []struct {
			to           *bundle
			method, path string
			status       int
			code         string
		}{
			{b, "POST", push, 413, "body.tooLarge"},
			{b, "POST", "/v1/workflows", 413, "body.tooLarge"},
			{b, "POST", "/v1/workflows/shop/events/skip", 413, "body.tooLarge"},
			{b, "PUT", "/v1/workflows/shop/grants", 413, "body.tooLarge"},
			{b, "POST", "/v1/nothing", 404, "path.unknown"},
			{b, "POST", "/v1//workflows", 404, "path.unknown"},
			{b, "DELETE", "/v1/workflows", 405, "method.notAllowed"},
			{guarded, "POST", push, 401, "token.required"},
		} {
			for _, chunked := range []bool{false, true} {
				res, problem := writeAllThenRead(t, address(c.to), c.method, c.path, chunked, size, &zeros{left: size})
				if res != nil && (res.StatusCode != c.status || problem["code"] != c.code ||
					res.Header.Get("Content-Type") != rpc.ProblemType) {
					t.Errorf("%s %s with %d bytes (chunked: %t): %d %v", c.method, c.path, size, chunked, res.StatusCode, problem)
				}
			}
		}
	}
	var many bytes.Buffer
	many.WriteByte('[')
	for i := range 200_000 {
		_, _ = fmt.Fprintf(&many, `{"messageId":"m-%06d","title":"Event number %06d"},`, i, i)
	}
	many.Truncate(many.Len() - 1)
	many.WriteByte(']')
	for _, chunked := range []bool{false, true} {
		res, problem := writeAllThenRead(t, address(b), "POST", push, chunked, int64(many.Len()),
			bytes.NewReader(many.Bytes()))
		if res != nil && (res.StatusCode != 413 || problem["code"] != "body.tooLarge") {
			t.Errorf("200,000 events in %d bytes (chunked: %t): %d %v", many.Len(), chunked, res.StatusCode, problem)
		}
	}
	if last := b.last(); last != 0 {
		t.Errorf("the log went to %d", last)
	}
}

// TestSmallRefusedBody: a connection whose small body was not wanted serves the next request.
func TestSmallRefusedBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for range 3 {
		body := strings.Repeat("x", 1000)
		if _, err := fmt.Fprintf(conn,
			"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			testToken, len(body), body); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 404 || res.Close {
			t.Errorf("%d %s (close: %t) %v", res.StatusCode, text, res.Close, err)
		}
	}
}

// TestDiscardIsBounded: a body that does not end is not read for ever, and one that is declared too
// large is not kept at all.
func TestDiscardIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, most := range map[string]int64{
		"/v1/workflows": rpc.MaxBody + rpc.MaxDiscard, // what is kept, then what is thrown away
		"/v1/nothing":   rpc.MaxDiscard,
	} {
		endless := &zeros{left: 1 << 40}
		req := httptest.NewRequestWithContext(t.Context(), "POST", path, endless)
		req.Host = "localhost"
		req.ContentLength = -1
		authorize(req)
		rec := httptest.NewRecorder()
		b.server.Handler().ServeHTTP(rec, req)
		const ahead = 64 << 10 // what a buffer may hold
		if rec.Code < 400 || endless.read > most+ahead || endless.read < rpc.MaxDiscard {
			t.Errorf("%s: %d after %d bytes, want at most %d", path, rec.Code, endless.read, most)
		}
	}
	// Over HTTP/2 an answer ends with its handler, and needs no reading on.
	unread := &zeros{left: 1 << 40}
	second := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/nothing", unread)
	authorize(second)
	second.Host, second.ContentLength, second.ProtoMajor = "localhost", -1, 2
	if b.server.Handler().ServeHTTP(httptest.NewRecorder(), second); unread.read > 0 {
		t.Errorf("%d bytes of a refused stream were read", unread.read)
	}
	o, _ := Lookup("pushEvents")
	declared := &zeros{left: rpc.MaxBody + 1}
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/", declared)
	req.ContentLength = declared.left
	var kept bytes.Buffer
	if p := rpc.ReadBody(&o.Operation, httptest.NewRecorder(), req, &kept, nil); p == nil || p.Code != "body.tooLarge" ||
		kept.Cap() > 0 || declared.read > 0 {
		t.Errorf("%+v, with %d bytes kept and %d read", p, kept.Cap(), declared.read)
	}
}

// TestStopDoesNotWaitForARefusedBody: a client that still sends what was refused does not hold up the end.
func TestStopDoesNotWaitForARefusedBody(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
		testToken+"\r\nContent-Length: 1000000\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusNotFound {
		t.Fatalf("%v, %v", res, err)
	}
	stop()
	if err := <-served; err != nil || said.Len() > 0 {
		t.Errorf("the end: %v, %s", err, said.String())
	}
}
