package httpcall_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// wire is a server on the bare connection: it counts every request that arrives, from any client.
type wire struct {
	address string
	mu      sync.Mutex
	lines   []string
	dials   int
}

// newWire answers requests with handle, which gets the connection and the number of the request on
// it, from 1. handle returning false closes the connection.
func newWire(t *testing.T, handle func(c net.Conn, n int, r *http.Request) bool) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: listener.Addr().String()}
	var serving sync.WaitGroup
	open := make(map[net.Conn]bool)
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.dials++
			open[c] = true
			w.mu.Unlock()
			serving.Go(func() { w.serve(c, handle) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		w.mu.Lock()
		for c := range open {
			c.Close()
		}
		w.mu.Unlock()
		serving.Wait()
	})
	return w
}

func (w *wire) serve(c net.Conn, handle func(c net.Conn, n int, r *http.Request) bool) {
	defer c.Close()
	in := bufio.NewReader(c)
	for n := 1; ; n++ {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		w.mu.Lock()
		w.lines = append(w.lines, request.Method+" "+request.URL.Path)
		w.mu.Unlock()
		if !handle(c, n, request) {
			return
		}
	}
}

func (w *wire) count(line string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, l := range w.lines {
		if l == line {
			n++
		}
	}
	return n
}

func (w *wire) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials
}

func reply(c net.Conn, status int, body string) bool {
	_, err := fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status,
		len(body), body)
	return err == nil
}

// client makes the connector for one private host, behind a registry.
func client(t *testing.T, address string, change func(*httpcall.Config, *httpcall.HostConfig)) *connector.Registry {
	t.Helper()
	config := httpcall.Config{Listen: -1}
	host := httpcall.HostConfig{Private: true, Timeout: 10 * time.Second}
	if change != nil {
		change(&config, &host)
	}
	if config.Hosts == nil {
		config.Hosts = map[string]httpcall.HostConfig{address: host}
	}
	c, err := httpcall.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mutation(operation string, params map[string]any) connector.Call {
	encoded, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return connector.Call{
		Workflow: "w", Run: "r1", Connector: "http", Operation: operation, Params: encoded, Key: "key 1/ä",
		Deadline: time.Now().Add(20 * time.Second),
	}
}

func wantOutcome(t *testing.T, out connector.Outcome, status connector.Status, class eventlog.Class, code string) {
	t.Helper()
	if out.Status != status {
		t.Fatalf("status = %v (%v), want %v", out.Status, out.Failure, status)
	}
	if status != connector.Applied && (out.Failure.Class != class || (code != "" && out.Failure.Code != code)) {
		t.Fatalf("failure = %+v, want %s %s", out.Failure, class, code)
	}
}

var mutations = []struct{ operation, method string }{
	{"post", "POST"}, {"put", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"},
}

var bodies = map[string]map[string]any{
	"json body": {"body": map[string]any{"n": 1}},
	"text body": {"text": "hello"},
	"form":      {"form": map[string]any{"n": 1}},
	"parts":     {"multipart": []map[string]any{{"name": "n", "content": "1"}}},
	"bytes":     {"base64": "AP8="},
	"no body":   {},
}

// TestADroppedConnectionIsOneRequest is the trap: a kept-alive connection takes the request and
// breaks. net/http would send a request with an Idempotency-Key again, by itself.
func TestADroppedConnectionIsOneRequest(t *testing.T) {
	for _, m := range mutations {
		for name, body := range bodies {
			t.Run(m.operation+" "+name, func(t *testing.T) {
				w := newWire(t, func(c net.Conn, n int, r *http.Request) bool {
					return r.URL.Path == "/warm" && reply(c, 200, `{}`)
				})
				r := client(t, w.address, nil)
				// The first call leaves a kept-alive connection behind.
				warm := mutation(m.operation, map[string]any{"url": "http://" + w.address + "/warm", "body": 1})
				wantOutcome(t, r.Perform(t.Context(), warm), connector.Applied, "", "")

				params := map[string]any{"url": "http://" + w.address + "/drop"}
				for k, v := range body {
					params[k] = v
				}
				out := r.Perform(t.Context(), mutation(m.operation, params))
				wantOutcome(t, out, connector.Uncertain, eventlog.Transient, "http.answer")
				if got := w.count(m.method + " /drop"); got != 1 {
					t.Errorf("the server got %d requests, want exactly 1", got)
				}
				// The kept-alive connection was the one that broke, and no other was even opened for
				// a resend. Only a request that has no body, where its method expects one, has a
				// connection of its own.
				want := 1
				if name == "no body" && m.operation != "delete" {
					want = 2
				}
				if got := w.connections(); got != want {
					t.Errorf("%d connections, want %d", got, want)
				}
			})
		}
	}
}

// TestAConnectionDeadBeforeTheRequest races calls with a server that closes each connection right
// after an answer that promised to keep it. Whichever side wins, a call is never sent twice, and a
// call said to have failed was never sent.
func TestAConnectionDeadBeforeTheRequest(t *testing.T) {
	w := newWire(t, func(c net.Conn, n int, r *http.Request) bool {
		reply(c, 200, `{}`)
		return false
	})
	r := client(t, w.address, nil)
	for i := range 100 {
		path := fmt.Sprintf("/%d", i)
		out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + w.address + path, "body": 1}))
		most := 1
		if out.Status == connector.Failed {
			most = 0
		}
		if got := w.count("POST " + path); got > most {
			t.Fatalf("%d requests for a call that ended as %v", got, out.Status)
		}
	}
}

func TestAConnectionThatCannotBeMadeIsDefinite(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	r := client(t, address, nil)
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + address + "/", "body": 1}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "http.connect")
}

func TestAFailedHandshakeIsDefinite(t *testing.T) {
	w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool { return false })
	r := client(t, w.address, nil)
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "https://" + w.address + "/", "body": 1}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "http.connect")
}

func TestStatusesOfAMutation(t *testing.T) {
	w := newWire(t, func(c net.Conn, _ int, r *http.Request) bool {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		return reply(c, status, `{"why":"because"}`)
	})
	r := client(t, w.address, nil)
	for _, c := range []struct {
		status int
		want   connector.Status
		class  eventlog.Class
	}{
		{200, connector.Applied, ""}, {201, connector.Applied, ""}, {202, connector.Applied, ""},
		{300, connector.Uncertain, eventlog.Logic}, {302, connector.Uncertain, eventlog.Logic},
		{308, connector.Uncertain, eventlog.Logic},
		{400, connector.Failed, eventlog.Logic}, {401, connector.Failed, eventlog.Auth},
		{402, connector.Failed, eventlog.Logic},
		{403, connector.Failed, eventlog.Auth}, {404, connector.Failed, eventlog.Precondition},
		{405, connector.Failed, eventlog.Logic},
		{408, connector.Uncertain, eventlog.Transient}, {409, connector.Failed, eventlog.Logic},
		{410, connector.Failed, eventlog.Precondition},
		{412, connector.Failed, eventlog.Precondition}, {422, connector.Failed, eventlog.Logic},
		{429, connector.Failed, eventlog.Transient},
		{500, connector.Uncertain, eventlog.Transient}, {501, connector.Uncertain, eventlog.Transient},
		{502, connector.Uncertain, eventlog.Transient},
		{503, connector.Uncertain, eventlog.Transient}, {504, connector.Uncertain, eventlog.Transient},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			path := fmt.Sprintf("/%d", c.status)
			out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + w.address + path,
				"body": 1}))
			wantOutcome(t, out, c.want, c.class, "")
			// A proxy that has stopped waiting says nothing about the server that does the work.
			if answered := out.Status == connector.Uncertain && c.status != 408 &&
				c.status < 502; out.Answered != answered {
				t.Errorf("answered: %v, want %v", out.Answered, answered)
			}
			if relayed := c.status == 408 || c.status >= 502; out.Relayed != relayed {
				t.Errorf("relayed: %v, want %v", out.Relayed, relayed)
			}
			if got := w.count("POST " + path); got != 1 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

func TestAnswersThatBreakOff(t *testing.T) {
	for name, raw := range map[string]string{
		"in the status line": "HTTP/1.1 20",
		"in the headers":     "HTTP/1.1 200 OK\r\nContent-Type: app",
		"in the body":        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"a\":",
		"not the JSON":       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{\"a\":",
		"no HTTP":            "SSH-2.0-OpenSSH\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool {
				io.WriteString(c, raw)
				return false
			})
			r := client(t, w.address, nil)
			out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + w.address + "/",
				"body": 1}))
			if out.Status != connector.Uncertain || out.Answered != (name == "not the JSON") {
				t.Errorf("status = %v, answered %v, want Uncertain", out.Status, out.Answered)
			}
			if got := w.count("POST /"); got != 1 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

func TestATimeoutIsUncertainAndALateAnswerSettles(t *testing.T) {
	answer := make(chan struct{})
	w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool {
		<-answer
		return reply(c, 201, `{"id":7}`)
	})
	r := client(t, w.address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		// Another host's longer timeout does not hold for this one.
		c.Listen, h.Timeout = time.Minute, 2*time.Second
		c.Hosts = map[string]httpcall.HostConfig{w.address: *h, "slow.example": {Timeout: time.Hour}}
	})
	late := make(chan connector.Outcome, 1)
	r.OnLate(func(_ connector.Call, out connector.Outcome) { late <- out })
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "http://" + w.address + "/", "body": 1}))
	wantOutcome(t, out, connector.Uncertain, eventlog.Transient, "call.timeout")
	if !out.Open {
		t.Error("the call is not said to be open")
	}
	close(answer)
	wantOutcome(t, <-late, connector.Applied, "", "")
	if got := w.count("POST /"); got != 1 {
		t.Errorf("%d requests", got)
	}
}

func TestATimeoutWhileConnectingIsDefinite(t *testing.T) {
	// It takes connections and never says a word: the handshake does not end.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	r := client(t, address, func(_ *httpcall.Config, h *httpcall.HostConfig) { h.Timeout = time.Second })
	out := r.Perform(t.Context(), mutation("post", map[string]any{"url": "https://" + address + "/", "body": 1}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "call.timeout")
}

func TestACancelledCallEnds(t *testing.T) {
	arrived := make(chan struct{})
	w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool {
		close(arrived)
		io.Copy(io.Discard, c) // until the client hangs up
		return false
	})
	r := client(t, w.address, func(c *httpcall.Config, _ *httpcall.HostConfig) { c.Listen = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	out := r.Perform(ctx, mutation("post", map[string]any{"url": "http://" + w.address + "/", "body": 1}))
	wantOutcome(t, out, connector.Uncertain, eventlog.Transient, "call.cancelled")
}

func TestReadsMaySurviveADroppedConnection(t *testing.T) {
	w := newWire(t, func(c net.Conn, n int, _ *http.Request) bool {
		return n == 1 && reply(c, 200, `{"ok":true}`)
	})
	r := client(t, w.address, nil)
	for range 2 {
		if _, err := r.Read(t.Context(),
			mutation("get", map[string]any{"url": "http://" + w.address + "/"})); err != nil {
			t.Fatal(err)
		}
	}
}

func failureOf(t *testing.T, err error) *eventlog.Failure {
	t.Helper()
	var f *eventlog.Failure
	if !errors.As(err, &f) {
		t.Fatalf("error = %v, want a failure", err)
	}
	return f
}

// An answer that switches protocols takes its connection out of the hands of net/http: the deadline ends nothing of
// it any more. It is no answer to the question, so the connection is closed at once.
func TestAnAnswerThatSwitchesProtocolsHoldsNothing(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 2)
	w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
		_, _ = io.Copy(io.Discard, c) // silent until the other side closes
		closed <- struct{}{}
		return false
	})
	r := client(t, w.address, func(_ *httpcall.Config, h *httpcall.HostConfig) { h.Timeout = time.Second })
	params := map[string]any{"url": "http://" + w.address + "/orders"}
	out := r.Perform(t.Context(), mutation("post", params))
	wantOutcome(t, out, connector.Uncertain, eventlog.Logic, "http.status")
	if out.Answered {
		t.Error("it counts as answered")
	}
	_, err := r.Read(t.Context(), mutation("get", params))
	if f := failureOf(t, err); f.Code != "http.status" {
		t.Errorf("a read: %+v", f)
	}
	for range 2 {
		select {
		case <-closed:
		case <-time.After(20 * time.Second):
			t.Fatal("the connection stays open")
		}
	}
}
