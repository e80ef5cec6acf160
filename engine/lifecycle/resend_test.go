package lifecycle_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// turnedOut is what becomes of one request at the receiver.
type turnedOut string

const (
	carriedOut     turnedOut = "carried out"
	droppedBefore  turnedOut = "dropped before it is carried out"
	droppedAfter   turnedOut = "dropped after it is carried out"
	trouble        turnedOut = "500, not carried out"
	troubleAfter   turnedOut = "500, carried out"
	stoppedWaiting turnedOut = "502, not carried out"
	stillAtWork    turnedOut = "409, not carried out"
	refusedIt      turnedOut = "422, never carried out"
)

// receiver carries out what it is posted. One that honours keys does so once for each, and answers the same again.
type receiver struct {
	address string
	honours bool

	mu       sync.Mutex
	plan     []turnedOut
	effects  map[string]int
	requests []received
}

type received struct{ key, body, deadline string }

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	key := request.Header.Get("Idempotency-Key")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, received{key, string(body), request.Header.Get("Pawl-Deadline")})
	what := carriedOut
	if len(r.plan) > 0 {
		what, r.plan = r.plan[0], r.plan[1:]
	}
	if what == carriedOut || what == droppedAfter || what == troubleAfter {
		if !r.honours || r.effects[key] == 0 {
			r.effects[key]++
		}
	}
	switch what {
	case carriedOut:
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"order": %d}`, r.effects[key])
	case trouble, troubleAfter:
		w.WriteHeader(http.StatusInternalServerError)
	case stoppedWaiting:
		w.WriteHeader(http.StatusBadGateway)
	case stillAtWork:
		w.WriteHeader(http.StatusConflict)
	case refusedIt:
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		panic(http.ErrAbortHandler) // the connection breaks
	}
}

// total is how often something happened, and how many requests there were.
func (r *receiver) total() (effects, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range maps.Values(r.effects) {
		effects += n
	}
	return effects, len(r.requests)
}

// resends is a life with a receiver that is promised to know a call by its key.
func resends(t *testing.T, honours bool, plan ...turnedOut) (*life, *receiver) {
	t.Helper()
	l := live(t, func(p *schedule.Policies) { p.Reconcile.Attempts = 4 })
	r := &receiver{honours: honours, plan: plan, effects: map[string]int{}}
	web := httptest.NewServer(r)
	t.Cleanup(web.Close)
	r.address = strings.TrimPrefix(web.URL, "http://")
	l.promise(r, 24*time.Hour)
	l.deploy(shop{mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, r.address)})
	return l, r
}

// promise starts the engine with a receiver that is promised to know a call by its key for so long.
func (l *life) promise(r *receiver, within time.Duration) {
	l.t.Helper()
	l.configure(r, &httpcall.ReconcileConfig{Resend: true, Within: within, Failed: httpcall.Rule{Status: 422}})
}

// configure starts the engine with a receiver that is asked, or sent calls again, in this way; in none if it is nil.
func (l *life) configure(r *receiver, reconcile *httpcall.ReconcileConfig) {
	l.t.Helper()
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{r.address: {
		Private: true, Timeout: 10 * time.Second, Reconcile: reconcile,
	}}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = client.Close() })
	l.bench.Others = []connector.Connector{client}
	l.restart()
}

// F5 with a receiver that honours keys: whatever drops, the order is carried out once, and it is known in the end. Each
// resend is the same call, with a deadline of its own, behind a record of its own.
func TestF05_WhateverDropsAResentCallHappensOnce(t *testing.T) {
	all := []turnedOut{droppedBefore, droppedAfter, trouble, troubleAfter, stillAtWork}
	for _, first := range []turnedOut{droppedBefore, droppedAfter, trouble, troubleAfter} {
		for _, second := range all {
			t.Run(string(first)+", "+string(second), func(t *testing.T) {
				l, r := resends(t, true, first, second)
				l.push("a")
				why := l.wantWhy(decide.ReasonReconcile)
				if !strings.Contains(why.Message, "the same call is sent again at ") {
					t.Errorf("why: %s", why.Message)
				}
				l.advance("5m")
				l.wantEvent("a", "consumed")
				l.wantMutation("applied reconcile")
				effects, requests := r.total()
				if effects != 1 || requests != 3 {
					t.Errorf("%d requests had %d effects, want 3 and one", requests, effects)
				}
				deadlines := map[string]bool{}
				for _, got := range r.requests {
					deadlines[got.deadline] = true
					if got.key != r.requests[0].key || got.body != r.requests[0].body {
						t.Errorf("%+v differs from %+v", got, r.requests[0])
					}
				}
				if len(deadlines) != 3 {
					t.Errorf("the requests had %v as deadlines, want three", slices.Collect(maps.Keys(deadlines)))
				}
			})
		}
	}
}

// F5: a call whose outcome is not known is sent again as soon as nothing of it can be under way any more, after the
// first pause of the policy (5 s): an answer ends it, a broken connection after quiet (5 s). A gateway answers because
// it has stopped waiting, so the host has until the deadline (10 s) and quiet. A process that has not seen the end
// waits as for a call that was cut off: for the deadline, its margin (1 s) and quiet. It does not take a call whose
// exchange has ended for one that was still open, which would be five minutes.
func TestF05_AResendWaitsForNothingButItsCall(t *testing.T) {
	for _, c := range []struct {
		first     turnedOut
		restarted bool
		want      time.Duration
	}{
		{trouble, false, 5 * time.Second},
		{droppedBefore, false, 5 * time.Second},
		{stoppedWaiting, false, 15 * time.Second},
		{trouble, true, 16 * time.Second},
		{droppedBefore, true, 16 * time.Second},
		{stoppedWaiting, true, 16 * time.Second},
	} {
		t.Run(fmt.Sprintf("%s, restarted: %v", c.first, c.restarted), func(t *testing.T) {
			l, r := resends(t, true, c.first)
			l.push("a")
			l.wantWhy(decide.ReasonReconcile)
			if c.restarted {
				l.restart()
				l.rest()
			}
			l.advance((c.want - time.Second).String())
			if _, requests := r.total(); requests != 1 {
				t.Fatalf("it was sent again a second too early")
			}
			l.wantWhy(decide.ReasonReconcile)
			l.advance("2s")
			l.wantEvent("a", "consumed")
			if effects, requests := r.total(); effects != 1 || requests != 2 {
				t.Errorf("%d requests had %d effects, want two and one", requests, effects)
			}
		})
	}
}

// F5 with a receiver that does not know keys: the operator's promise was wrong, and the order is carried out twice, as
// the documentation of reconcile.resend says.
func TestF05_ABrokenPromiseDoubles(t *testing.T) {
	l, r := resends(t, false, droppedAfter)
	l.push("a")
	l.advance("5m")
	l.wantEvent("a", "consumed")
	if effects, requests := r.total(); effects != 2 || requests != 2 {
		t.Errorf("%d requests had %d effects", requests, effects)
	}
}

// F5: the answer that the configuration lists says that the call never takes effect: the order is free, and a fresh run
// makes a call with a key of its own.
func TestF05_AResendThatIsRefused(t *testing.T) {
	l, r := resends(t, true, droppedBefore, refusedIt)
	l.push("a")
	l.advance("1m")
	l.wantEvent("a", "consumed")
	m := l.mutations()
	if len(m) != 2 || m[0].Status != "failed" || m[1].Status != "applied" {
		t.Fatalf("%+v", m)
	}
	if effects, requests := r.total(); effects != 1 || requests != 3 || r.requests[1].key == r.requests[2].key {
		t.Errorf("%d effects, %+v", effects, r.requests)
	}
}

// F5: the first answer of a call is judged as ever: a refusal is definite, and nothing is sent again.
func TestF05_ADefiniteFailureIsNotResent(t *testing.T) {
	l, r := resends(t, true, refusedIt)
	l.push("a")
	if run := l.run("send"); run.Error == nil || run.Error.Class != eventlog.Logic {
		t.Errorf("%+v", run)
	}
	l.advance("1h")
	if _, requests := r.total(); requests != 1 {
		t.Errorf("%d requests", requests)
	}
}

// F5: when the attempts are used up a person decides, and can have it tried again (O3).
func TestF05_ResendsAreBounded(t *testing.T) {
	l, r := resends(t, true, slices.Repeat([]turnedOut{trouble}, 5)...)
	l.push("a")
	l.advance("12h")
	l.wantWhy(decide.ReasonIndeterminate)
	m := l.wantMutation("indeterminate")
	if _, requests := r.total(); requests != 5 || m.ReconcileAttempts != 4 {
		t.Errorf("%d requests, %d attempts", requests, m.ReconcileAttempts)
	}
	l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "try_again")
	l.advance("1m")
	l.wantEvent("a", "consumed")
	if effects, _ := r.total(); effects != 1 {
		t.Errorf("%d effects", effects)
	}
}

// F5: a minute before the host may have forgotten the key nothing is sent any more, and a person decides.
func TestF05_AfterWithinAPersonDecides(t *testing.T) {
	l, r := resends(t, true, droppedAfter)
	l.push("a")
	l.do("pauseWorkflow", nil) // nothing is sent meanwhile
	l.advance("23h")
	if _, requests := r.total(); requests != 1 {
		t.Fatalf("%d requests, and the workflow is paused", requests)
	}
	l.advance("1h")
	l.do("resumeWorkflow", nil)
	l.rest()
	l.wantMutation("indeterminate")
	if why := l.wantWhy(decide.ReasonIndeterminate); !strings.Contains(why.Message, "reconcile.within") {
		t.Errorf("why: %s", why.Message)
	}
	if _, requests := r.total(); requests != 1 {
		t.Errorf("%d requests", requests)
	}
}

// F5: a promise that the operator has shortened since the call holds for the call too: the host may have forgotten it.
func TestF05_AShorterPromiseIsKept(t *testing.T) {
	l, r := resends(t, true, droppedAfter)
	l.push("a")
	l.do("pauseWorkflow", nil) // nothing is sent meanwhile
	l.advance("10m")
	l.promise(r, 5*time.Minute)
	l.do("resumeWorkflow", nil)
	l.advance("6h")
	if _, requests := r.total(); requests != 1 {
		t.Errorf("%d requests", requests)
	}
	if why := l.wantWhy(decide.ReasonIndeterminate); !strings.Contains(why.Message, "reconcile.within") {
		t.Errorf("why: %s", why.Message)
	}
}

// F5, F6: the process dies between the record of a resend and its answer. The next one waits until nothing of that
// resend can be under way, and sends again: the order is carried out once.
func TestF05_ADeathBetweenAResendAndItsAnswer(t *testing.T) {
	for _, first := range []turnedOut{droppedBefore, droppedAfter} {
		t.Run(string(first), func(t *testing.T) {
			l, r := resends(t, true, first)
			l.push("a")
			l.diesAfter("mutation.resent")
			l.clock.Resume(start.Add(time.Minute))
			l.died()
			l.rest()
			l.wantMutation("needs_reconcile")
			_, before := r.total()
			l.advance("10s") // the deadline of the resend has not passed
			if _, requests := r.total(); requests != before {
				t.Errorf("sent again while the resend of the dead process may be under way")
			}
			l.advance("5m")
			l.wantEvent("a", "consumed")
			if effects, requests := r.total(); effects != 1 || requests < 2 || requests > 3 {
				t.Errorf("%d requests had %d effects", requests, effects)
			}
		})
	}
}
