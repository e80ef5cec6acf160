package httpcall_test

import (
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// slowToAccept is a server behind a door that opens late: a client is connected only when the test says.
type slowToAccept struct {
	net.Listener
	accepted func()
}

func (l slowToAccept) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted()
	}
	return c, err
}

// The right to send is looked at immediately before the first byte: to connect takes its time, and a
// machine that was suspended meanwhile has no timer that says so.
func TestF4_TheGateIsAskedAtTheFirstByte(t *testing.T) {
	for name, kept := range map[string]bool{"a new connection": false, "a kept-alive one": true} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool { return reply(c, 200, `{}`) })
			r := client(t, w.address, nil)
			call := mutation("post", map[string]any{"url": "http://" + w.address + "/", "body": 1})
			if kept {
				wantOutcome(t, r.Perform(t.Context(), call), connector.Applied, "", "")
			}
			before := w.count("POST /")
			var asked atomic.Int32
			call.Gate = func() *eventlog.Failure {
				if asked.Add(1) == 1 {
					return nil // before the connector was called
				}
				return connector.Failf(eventlog.Transient, "test.taken", "another engine has taken over")
			}
			wantOutcome(t, r.Perform(t.Context(), call), connector.Failed, eventlog.Transient, "test.taken")
			if got := w.count("POST /") - before; got != 0 || asked.Load() != 2 {
				t.Errorf("%d requests left, and the gate was asked %d times, want twice", got, asked.Load())
			}
			// The connection that was refused is not used for the next call.
			call.Gate = func() *eventlog.Failure { return nil }
			wantOutcome(t, r.Perform(t.Context(), call), connector.Applied, "", "")
		})
	}
}

// TestNothingLeavesAfterTheDeadline: the deadline passes by the wall clock while the connection is made,
// and no timer of the call notices, as after a suspend.
func TestNothingLeavesAfterTheDeadline(t *testing.T) {
	deadline := time.Now().Add(100 * time.Millisecond)
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
	}))
	server.Listener = slowToAccept{server.Listener, func() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		<-timer.C
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	address := strings.TrimPrefix(server.URL, "https://")
	c, err := httpcall.New(httpcall.Config{RootCAs: pool, Listen: -1,
		Hosts: map[string]httpcall.HostConfig{address: {Private: true, Timeout: 20 * time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	call := mutation("post", map[string]any{"url": "https://" + address + "/", "body": 1})
	call.Deadline = deadline.Round(0)
	out := c.Perform(t.Context(), call) // without the registry: its timer would end the call
	wantOutcome(t, out, connector.Failed, eventlog.Transient, connector.CodeDeadline)
	if requests.Load() != 0 {
		t.Error("a request left after its deadline")
	}
}

// F12: calls that are listened to after their deadline are bounded in number for each host: one more is not sent, and
// none of the open ones is given up for it, since its host may still carry it out.
func TestF12_TimedOutCallsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: its calls time out, which takes 6 s")
	}
	const most = 256
	w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool {
		_, _ = c.Read(make([]byte, 1)) // until the client hangs up
		return false
	})
	r := client(t, w.address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		c.Listen, h.Timeout = time.Hour, 3*time.Second
	})
	ended := make(chan string, 2*most)
	r.OnLate(func(c connector.Call, out connector.Outcome) { ended <- c.Key })
	perform := func(key string) connector.Outcome {
		call := mutation("post", map[string]any{"url": "http://" + w.address + "/", "body": 1})
		call.Key = key
		return r.Perform(t.Context(), call)
	}
	done := make(chan connector.Outcome)
	for range most {
		go func() { done <- perform("open") }()
	}
	for range most {
		if out := <-done; !out.Open {
			t.Errorf("%+v, want an open call", out)
		}
	}
	wantOutcome(t, perform("one more"), connector.Failed, eventlog.Transient, "")
	select {
	case key := <-ended:
		t.Errorf("%s was given up", key)
	default:
	}
}

// Without the operator's word a call whose end is not seen may go on for as long as one is listened to; with
// it, quiet is what counts, zero too (F5).
func TestF5_QuietIsTheOperatorsWord(t *testing.T) {
	w := newWire(t, func(c net.Conn, _ int, _ *http.Request) bool { return reply(c, 200, `1`) })
	post := mutation("post", map[string]any{"url": "http://" + w.address + "/", "body": 1})
	for name, c := range map[string]struct {
		quiet *time.Duration
		want  connector.Ending
	}{
		"unset": {nil, connector.Ending{Quiet: 5 * time.Second, Unseen: 5 * time.Second, Lasting: 5*time.Minute +
			5*time.Second}},
		"30s": {new(30 * time.Second), connector.Ending{Quiet: 30 * time.Second, Unseen: 30 * time.Second,
			Lasting: 30 * time.Second}},
		"0": {new(time.Duration), connector.Ending{}},
	} {
		r := client(t, w.address, func(_ *httpcall.Config, host *httpcall.HostConfig) { host.Quiet = c.quiet })
		if got := r.Ending(post); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	r := client(t, w.address, nil)
	if got := r.Ending(mutation("post", map[string]any{"url": "http://elsewhere/",
		"body": 1})); got != connector.DefaultEnding() {
		t.Errorf("a host that is not configured any more: %+v", got)
	}
}
