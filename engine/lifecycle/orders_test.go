package lifecycle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
)

// orders is a server over HTTP that takes its time: a POST makes an order only when the test lets it, whether
// its client still listens or not.
type orders struct {
	l       *life
	url     string
	host    httpcall.HostConfig
	client  *httpcall.Connector
	said    enginetest.LogCapture
	arrived chan struct{}
	letGo   func()
	waits   chan struct{} // closed by letGo
	done    chan struct{}

	mu    sync.Mutex
	drops bool // the next order is not made
	posts int
	made  map[string]int // by idempotency key
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.made[r.URL.Query().Get("key")] == 0 {
			http.NotFound(w, r)
		}
		return
	}
	o.mu.Lock()
	o.posts++
	o.mu.Unlock()
	o.arrived <- struct{}{}
	<-o.waits
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.drops {
		o.made[r.Header.Get("Idempotency-Key")]++
	}
	o.drops = false
	w.WriteHeader(http.StatusCreated)
	o.done <- struct{}{}
}

// takesOrders starts such a server for a new life, whose workflow posts each order to it.
func takesOrders(t *testing.T, quiet *time.Duration) *orders {
	t.Helper()
	l := live(t)
	o := &orders{l: l, arrived: make(chan struct{}, 10), waits: make(chan struct{}), done: make(chan struct{}, 10),
		made: map[string]int{}}
	o.letGo = sync.OnceFunc(func() { close(o.waits) })
	web := httptest.NewServer(o)
	t.Cleanup(web.Close)
	t.Cleanup(o.letGo)
	o.url = web.URL
	o.host = httpcall.HostConfig{
		Private: true, Timeout: 200 * time.Millisecond, Quiet: quiet,
		Reconcile: &httpcall.ReconcileConfig{Get: "/orders?key={idempotencyKey}", Applied: httpcall.Rule{Status: 200},
			Failed: httpcall.Rule{Status: 404}},
	}
	o.connect()
	l.bench.Logger = o.said.Logger()
	l.restart()
	l.deploy(shop{mutate: fmt.Sprintf(`await ctx.http.post({ url: %q, body: { order: data.order } });`,
		web.URL+"/orders")})
	return o
}

// connect gives the engines from now on a connector of their own, as a new process has. That of the former
// process closes its connections.
func (o *orders) connect() {
	o.l.t.Helper()
	if o.client != nil {
		_ = o.client.Close()
	}
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{strings.TrimPrefix(o.url,
		"http://"): o.host}})
	if err != nil {
		o.l.t.Fatal(err)
	}
	o.client, o.l.bench.Others = client, []connector.Connector{client}
	o.l.t.Cleanup(func() { _ = client.Close() })
}

// want compares how many requests came, and how many orders they made, none of them twice.
func (o *orders) want(posts, made int) {
	o.l.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.posts != posts || len(o.made) != made {
		o.l.t.Errorf("%d requests made %d orders, want %d and %d", o.posts, len(o.made), posts, made)
	}
	for key, n := range o.made {
		if n != 1 {
			o.l.t.Errorf("%s made %d orders", key, n)
		}
	}
}

// F5 over the wire: a server that takes longer than the timeout makes one order, although it answers 404
// when it is asked for it in between.
func TestF05_AServerSlowerThanTheTimeoutMakesOneOrder(t *testing.T) {
	o := takesOrders(t, nil)
	l := o.l
	l.push("a")
	<-o.arrived
	l.advance("10m")
	if m := l.wantMutation("needs_reconcile"); m.ReconcileAttempts != 0 {
		t.Errorf("%d attempts were counted", m.ReconcileAttempts)
	}
	changed := l.follow("mutation.applied")
	o.letGo()
	changed()
	l.rest()
	l.wantMutation("applied late_reply")
	l.wantEvent("a", "consumed")
	o.want(1, 1)
	l.sound()
}

// F5 over the wire, when the process that held the exchange is gone and nothing says any more when the
// server is done with it.
func TestF05_ASlowServerAndARestartMakeOneOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts engines again and again")
	}
	// Each brings an order to the server, and the engine to its end before the order is made.
	stopped := func(o *orders) {
		o.l.push("a")
		<-o.arrived
		m := o.l.wantMutation("needs_reconcile")
		o.l.close()
		over := o.l.clock.Now().Add(200*time.Millisecond + decide.ReconcileMargin + connector.DefaultEnding().Lasting)
		if o.host.Quiet != nil {
			over = over.Add(*o.host.Quiet - connector.DefaultEnding().Lasting)
		}
		for _, want := range []string{
			"stopping while a request is open", "workflow=shop", string(m.ID), "run=" + string(m.Run), "operation=http.post",
			"host=" + strings.TrimPrefix(o.url, "http://"), "since=", over.Format(time.RFC3339),
		} {
			if said := o.said.String(); !strings.Contains(said, want) {
				t.Errorf("at its end the engine does not say %q:\n%s", want, said)
			}
		}
		o.connect()
		o.l.boot()
		o.l.rest()
	}
	killed := func(o *orders) {
		o.l.pushed("a")
		<-o.arrived
		o.l.log.Kill()
		_ = o.l.engine.Wait()
		o.connect()
		o.l.died()
		o.l.rest()
	}
	for name, c := range map[string]struct {
		posted func(*orders)
		// waits is how long after the deadline a no does not count: as long as the engine would have listened to a
		// server that was seen to be slow, else the usual quiet time.
		waits time.Duration
	}{
		"stopped": {stopped, connector.DefaultEnding().Lasting},
		"killed":  {killed, connector.DefaultEnding().Unseen},
	} {
		posted := c.posted
		t.Run(name+", it is made after all", func(t *testing.T) {
			o := takesOrders(t, nil)
			l := o.l
			posted(o)
			if says := "when its request can no longer be under way"; name == "killed" &&
				!strings.Contains(l.why().Message, says) {
				t.Errorf("why does not say %q: %s", says, l.why().Message)
			}
			l.advance((c.waits - time.Second).String())
			if m := l.wantMutation("needs_reconcile"); m.ReconcileAttempts != 0 {
				t.Errorf("%d attempts were counted", m.ReconcileAttempts)
			}
			o.want(1, 0)
			l.wantWhy(decide.ReasonReconcile)
			o.letGo()
			<-o.done
			l.advance(c.waits.String())
			l.wantMutation("applied reconcile")
			l.wantEvent("a", "consumed")
			o.want(1, 1)
			l.sound()
		})
		t.Run(name+", it is never made", func(t *testing.T) {
			o := takesOrders(t, nil)
			l := o.l
			o.drops = true
			posted(o)
			o.letGo()
			<-o.done
			l.advance((c.waits - time.Second).String())
			o.want(1, 0)
			l.advance("1m") // beyond the deadline and the margin too
			l.wantEvent("a", "consumed")
			o.want(2, 1)
			l.sound()
		})
		t.Run(name+", with the operator's word", func(t *testing.T) {
			quiet := 20 * time.Second
			o := takesOrders(t, &quiet)
			l := o.l
			o.drops = true
			posted(o)
			o.letGo()
			<-o.done
			l.advance("20s")
			o.want(1, 0)
			l.advance("10s")
			l.wantEvent("a", "consumed")
			o.want(2, 1)
			l.sound()
		})
	}
}
