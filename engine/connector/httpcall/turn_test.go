package httpcall_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// bounded configures bounds for the host.
func bounded(concurrency int, rate string) func(*httpcall.Config, *httpcall.HostConfig) {
	return func(_ *httpcall.Config, h *httpcall.HostConfig) { h.Concurrency, h.Rate = concurrency, rate }
}

// waiting returns once so many calls of the workflow wait for their turn.
func waiting(t *testing.T, r *connector.Registry, n int) []connector.Waiting {
	t.Helper()
	for t.Context().Err() == nil {
		if all := r.Waiting("w"); len(all) == n {
			return all
		}
		runtime.Gosched()
	}
	t.Fatal("the test ended before")
	return nil
}

// soon performs a call whose time is over soon.
func soon(t *testing.T, r *connector.Registry, call connector.Call) connector.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c, _ := r.Connector("http") // not through the registry, which does not wait for its answer for long after that
	return c.Perform(ctx, call)
}

// A host gets so many calls at once, reads and mutations together. The next one waits, is listed, and goes when a place
// is free; one whose time ends first was definitely not sent, and comes again without counting an attempt.
func TestAHostGetsSoManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan string, 10), make(chan struct{})
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Method
		<-answer
	})
	r := client(t, address, bounded(1, ""))
	url := "http://" + address + "/"
	first := make(chan connector.Outcome, 1)
	go func() { first <- r.Perform(t.Context(), mutation("post", object{"url": url})) }()
	<-arrived

	out := soon(t, r, mutation("put", object{"url": url}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, eventlog.CodeHeldBack)
	if out.Failure.RetryAfter != time.Second || !strings.Contains(out.Failure.Message, "hosts."+address+".concurrency") {
		t.Errorf("%+v", out.Failure)
	}
	given, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	second := make(chan connector.Outcome, 1)
	go func() { second <- r.Perform(given, mutation("put", object{"url": url})) }()
	if w := waiting(t, r, 1)[0]; w.Target != address || w.Run != "r1" || w.Key != "key 1/ä" || !w.Until.IsZero() ||
		w.Bound != "at most 1 call at once" {
		t.Errorf("%+v", w)
	}
	giveUp()
	wantOutcome(t, <-second, connector.Failed, eventlog.Transient, connector.CodeCancelled)
	third := make(chan error, 1)
	go func() {
		_, err := r.Read(t.Context(), mutation("get", object{"url": url}))
		third <- err
	}()
	waiting(t, r, 1)
	close(answer)
	wantOutcome(t, <-first, connector.Applied, "", "")
	if err := <-third; err != nil {
		t.Error(err)
	}
	if all := r.Waiting("w"); len(all) != 0 {
		t.Errorf("%+v still wait", all)
	}
	if got := <-arrived; got != "GET" || len(arrived) != 0 {
		t.Errorf("%s arrived, and %d more: PUT must not have left", got, len(arrived))
	}
}

// A place belongs to a call until its exchange is over, also after its deadline: the host may still be at work on it.
// A question about that call takes no place.
func TestAnOpenCallKeepsItsPlace(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			<-answer
		}
	})
	r := client(t, address, func(c *httpcall.Config, h *httpcall.HostConfig) {
		c.Listen, h.Concurrency = time.Minute, 1
		h.Reconcile = &httpcall.ReconcileConfig{Get: "/orders?key={idempotencyKey}", Applied: httpcall.Rule{Status: 200}}
	})
	over := make(chan connector.Outcome, 1)
	r.OnLate(func(_ connector.Call, out connector.Outcome) { over <- out })
	open := mutation("post", object{"url": "http://" + address + "/"})
	open.Deadline = time.Now().Add(2 * time.Second)
	if out := r.Perform(t.Context(), open); out.Status != connector.Uncertain || !out.Open {
		t.Fatalf("%+v", out)
	}
	next := mutation("put", object{"url": "http://" + address + "/"})
	wantOutcome(t, soon(t, r, next), connector.Failed, eventlog.Transient, eventlog.CodeHeldBack)
	if found := r.Reconcile(t.Context(), open); found.Verdict != connector.VerdictApplied {
		t.Errorf("%+v", found)
	}
	close(answer)
	wantOutcome(t, <-over, connector.Applied, "", "")
	wantOutcome(t, r.Perform(t.Context(), next), connector.Applied, "", "")
}

// Requests to a host are spaced by its rate. One whose turn comes after its deadline fails at once, definitely, and is
// told when to come again, each at another time; it takes no turn away from a later call.
func TestAHostGetsRequestsAtItsRate(t *testing.T) {
	t.Parallel()
	sent := 0
	_, address := server(t, func(http.ResponseWriter, *http.Request) { sent++ })
	r := client(t, address, bounded(0, "5/h"))
	call := mutation("post", object{"url": "http://" + address + "/"})
	wantOutcome(t, r.Perform(t.Context(), call), connector.Applied, "", "")
	for _, most := range []time.Duration{12 * time.Minute, 24 * time.Minute, 36 * time.Minute} {
		out := r.Perform(t.Context(), call)
		wantOutcome(t, out, connector.Failed, eventlog.Transient, eventlog.CodeHeldBack)
		if after := out.Failure.RetryAfter; after > most || after < most-time.Minute {
			t.Errorf("it is to come again after %s, not about %s", after, most)
		}
	}
	_, err := r.Read(t.Context(), mutation("get", object{"url": "http://" + address + "/"}))
	if f := failureOf(t, err); f.Code != eventlog.CodeHeldBack || f.RetryAfter < 46*time.Minute {
		t.Errorf("%+v", f)
	}
	if sent != 1 {
		t.Errorf("%d requests were sent, want one", sent)
	}

	sent = 0
	paced := client(t, address, bounded(0, "20/s"))
	began := time.Now()
	for range 4 {
		wantOutcome(t, paced.Perform(t.Context(), call), connector.Applied, "", "")
	}
	if took := time.Since(began); took < 150*time.Millisecond || sent != 4 {
		t.Errorf("%d requests took %s", sent, took)
	}
}

// Bounds that mean nothing are refused at the start.
func TestBoundsThatAreRefused(t *testing.T) {
	t.Parallel()
	for key, host := range map[string]httpcall.HostConfig{
		"concurrency": {Concurrency: -1}, "rate": {Rate: "10"},
	} {
		for _, host := range []httpcall.HostConfig{host, {Concurrency: 257, Rate: "1/d"}} {
			_, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{"a.example": host}})
			var setting *connector.SettingError
			if !errors.As(err, &setting) || host.Concurrency != 257 && setting.Key != "connectors.http.hosts.a.example."+key {
				t.Errorf("%+v: %v", host, err)
			}
		}
	}
}
