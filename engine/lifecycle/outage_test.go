package lifecycle_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
)

// gateway is an API that has trouble: it answers the next POSTs as it is told, and can be gone altogether.
type gateway struct {
	t       *testing.T
	address string
	web     *httptest.Server
	answers chan func(http.ResponseWriter)
	posts   chan string // the idempotency key of each
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		http.NotFound(w, r) // none of its noes was a yes
		return
	}
	g.posts <- r.Header.Get("Idempotency-Key")
	select {
	case answer := <-g.answers:
		answer(w)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

// up serves, on the same address as before.
func (g *gateway) up() {
	g.t.Helper()
	if g.address == "" {
		g.address = natstest.FreeAddress(g.t)
	}
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.web = &httptest.Server{Listener: listener, Config: &http.Server{Handler: g}}
	g.web.Config.SetKeepAlivesEnabled(false) // a call on a connection that has just ended would be lost, not refused
	g.web.Start()
}

func (g *gateway) wantPosts(want int) {
	g.t.Helper()
	if got := len(g.posts); got != want {
		g.t.Fatalf("%d requests so far, want %d", got, want)
	}
}

// F8, F13 and J2 over the wire: a target that asks for a pause, that has trouble, and that is gone for hours uses
// up one attempt at most for each time that it was seen to work or is waited for no longer; then it goes on.
func TestF08_AnOutageOverTheWire(t *testing.T) {
	l := live(t)
	g := &gateway{t: t, answers: make(chan func(http.ResponseWriter), 10), posts: make(chan string, 100)}
	g.up()
	t.Cleanup(func() { g.web.Close() })
	quiet := 2 * time.Second
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{g.address: {
		Private: true, Quiet: &quiet,
		Reconcile: &httpcall.ReconcileConfig{Get: "/orders?key={idempotencyKey}", Failed: httpcall.Rule{Status: 404}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	l.bench.Others = []connector.Connector{client}
	l.restart()
	l.deploy(shop{options: "maxAttempts: 2,",
		mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, g.address)})

	g.answers <- func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	g.answers <- func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	l.push("a")
	attempt := func(want int) {
		t.Helper()
		if j := l.job("a"); j.Attempt != want || string(j.State) != "retryable" {
			t.Fatalf("the job is %s and at attempt %d, want %d", j.State, j.Attempt, want)
		}
		says := fmt.Sprintf("attempt %d of 3 (maxAttempts: 2 retries)", want)
		if why := l.wantWhy(decide.ReasonBackoff); !strings.Contains(why.Message, says) {
			t.Errorf("why does not say %q: %s", says, why.Message)
		}
	}

	g.wantPosts(1)
	attempt(1) // F13 counts none
	l.advance("119s")
	g.wantPosts(1)
	l.advance("1s")

	g.wantPosts(2)
	l.wantMutation("needs_reconcile") // a 503 says nothing for sure, and may be a proxy's
	g.web.Close()                     // it cannot be asked, nor called, for a while
	l.advance("20s")
	l.wantMutation("needs_reconcile")
	g.up()
	l.advance("1m")
	if m := l.mutations()[1]; m.Status != "failed" {
		t.Fatalf("the call that was answered 503: %+v", m)
	}
	g.wantPosts(3)
	l.wantEvent("a", "consumed")
	l.wantJob("a", "completed", 3)

	g.web.Close()
	l.push("b")
	l.advance("3h") // connection refused, all the time
	g.wantPosts(3)
	b := l.job("b")
	if string(b.State) != "discarded" || len(b.Attempts) < 3 {
		t.Fatalf("the job of b is %s after %d attempts", b.State, len(b.Attempts))
	}
	g.up()
	l.push("c")
	l.advance("10m")
	l.wantEvent("c", "consumed")
	g.wantPosts(4)
	seen := map[string]bool{}
	for range 4 {
		key := <-g.posts
		if seen[key] {
			t.Errorf("the key %s was sent twice", key)
		}
		seen[key] = true
	}
	l.sound()
}

// F8, F13 for a consumer without a job limit: after a 429 no failure is counted, and why says whose wish the pause is.
func TestF13_WhyNamesTheOtherSidesWish(t *testing.T) {
	l := live(t)
	g := &gateway{t: t, answers: make(chan func(http.ResponseWriter), 10), posts: make(chan string, 100)}
	g.up()
	t.Cleanup(func() { g.web.Close() })
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{g.address: {Private: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	l.bench.Others = []connector.Connector{client}
	l.restart()
	l.deploy(shop{mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, g.address)})
	for range 7 { // more than transient.retries
		g.answers <- func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	l.push("a")
	why := l.wantWhy(decide.ReasonBackoff)
	if strings.Contains(why.Message, "transient failure") ||
		!strings.Contains(why.Message, "as the other side has asked") {
		t.Errorf("why: %s", why.Message)
	}
	for n := range 7 {
		g.wantPosts(n + 1)
		if l.workflow().Attention != nil {
			t.Errorf("it needs attention after %d times 429", n+1)
		}
		l.advance("60s")
	}
	g.wantPosts(8)
	l.wantEvent("a", "consumed")
	g.web.Close()
	l.push("b")
	l.advance("2h") // refused: without end, and with attention
	if why := l.wantWhy(decide.ReasonBackoff); !strings.Contains(why.Message, "transient failures in a row") {
		t.Errorf("why: %s", why.Message)
	}
	if l.workflow().Attention == nil {
		t.Error("nothing says that it needs attention")
	}
	g.up()
	l.advance("5m")
	l.wantEvent("b", "consumed")
	if l.workflow().Attention != nil {
		t.Error("it needs attention after a success")
	}
	g.wantPosts(9)
	l.sound()
}
