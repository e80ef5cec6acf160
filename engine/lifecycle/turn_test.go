package lifecycle_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// F13 and J2 with a bound of our own: a call whose turn at its host comes too late was not sent. It uses up no attempt
// of its event, however often that happens, and the workflow waits as long as the bound makes it.
func TestF13_ABoundOfTheHostUsesUpNoAttempt(t *testing.T) {
	l := live(t)
	g := &gateway{t: t, answers: make(chan func(http.ResponseWriter), 10), posts: make(chan string, 100)}
	g.up()
	t.Cleanup(func() { g.web.Close() })
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{g.address: {
		Private: true, Rate: "1/h",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	l.bench.Others = []connector.Connector{client}
	l.restart()
	l.deploy(shop{options: "maxAttempts: 0,",
		mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, g.address)})
	l.push("a")
	l.wantEvent("a", "consumed")
	l.push("b")
	for range 3 { // the engine's clock is not that of the host's bound: the turn does not come
		if j := l.job("b"); j.Attempt != 1 || string(j.State) != "retryable" {
			t.Fatalf("the job is %s and at attempt %d", j.State, j.Attempt)
		}
		l.wantWhy(decide.ReasonBackoff)
		all := l.mutations()
		m := all[len(all)-1]
		if m.Status != "failed" || m.ResolvedBy == nil || *m.ResolvedBy != eventlog.ResolvedByNeverSent ||
			!strings.Contains(m.Error.Message, "hosts."+g.address+".rate") {
			t.Fatalf("%+v", m)
		}
		l.advance("1h")
	}
	g.wantPosts(1)
}

// bounded is a life whose host takes one call at once. The place is taken until end is called.
func bounded(t *testing.T) (l *life, g *gateway, client *httpcall.Connector, take func() connector.Turn) {
	t.Helper()
	l = live(t)
	g = &gateway{t: t, answers: make(chan func(http.ResponseWriter), 10), posts: make(chan string, 100)}
	g.up()
	t.Cleanup(func() { g.web.Close() })
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{g.address: {
		Private: true, Concurrency: 1,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	l.bench.Others = []connector.Connector{client}
	l.restart()
	take = func() connector.Turn {
		place, failure := client.CallTurn(t.Context(), connector.Call{Workflow: "another", Connector: "http",
			Operation: "post", Params: []byte(fmt.Sprintf(`{"url": "http://%s/"}`, g.address))})
		if failure != nil {
			t.Fatal(failure)
		}
		return place
	}
	return l, g, client, take
}

// untilOneWaits returns once a call of the workflow waits for its turn.
func untilOneWaits(t *testing.T, client *httpcall.Connector) {
	t.Helper()
	for len(client.Waiting("shop")) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("no call waits")
		}
		runtime.Gosched()
	}
}

// postTo is a shop that posts its orders to the gateway.
func postTo(g *gateway) shop {
	return shop{mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, g.address)}
}

// F6: a call that waits for its turn is not recorded as started yet. A process that dies meanwhile leaves nothing that
// a person would have to find out about.
func TestF06_ACrashWhileACallWaitsForItsTurn(t *testing.T) {
	l, g, client, take := bounded(t)
	l.deploy(postTo(g))
	place := take()
	l.pushed("a")
	untilOneWaits(t, client)
	if all := l.mutations(); len(all) != 0 {
		t.Fatalf("recorded while it waits: %+v", all)
	}
	if why := l.why(); !strings.Contains(why.Message, "waits for its turn at "+g.address) {
		t.Errorf("why says: %s", why.Message)
	}
	l.log.Kill()
	place.End()
	l.died()
	l.rest()
	l.wantEvent("a", "consumed")
	g.wantPosts(1)
	if all := l.mutations(); len(all) != 1 || all[0].Status != "applied" {
		t.Errorf("%+v", all)
	}
}

// O6: what an operator does while a call waits for its turn holds for that call.
func TestO6_WhatStopsACallThatWaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(l *life)
		want func(l *life)
	}{
		"pause": {
			func(l *life) { l.do("pauseWorkflow", nil) },
			func(l *life) {
				l.wantWorkflow("paused")
				l.wantEvent("a", "pending")
				if run := l.run("send"); run.Error == nil || run.Error.Code != decide.Aborted {
					l.t.Errorf("%+v", run)
				}
				l.do("resumeWorkflow", nil)
				l.rest()
				l.wantEvent("a", "consumed")
			},
		},
		"a revoked grant": {
			func(l *life) { l.do("setGrants", nil, "grants", map[string]string{"*": "allow", "http.post": "deny"}) },
			func(l *life) {
				if run := l.run("send"); run.Error == nil || run.Error.Code != "grant.denied" {
					l.t.Errorf("%+v", run)
				}
				l.wantEvent("a", "pending")
			},
		},
		"archive": {
			func(l *life) { l.do("archiveWorkflow", nil) },
			func(l *life) { l.wantEvent("a", "pending") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, g, client, take := bounded(t)
			l.deploy(postTo(g))
			place := take()
			l.pushed("a")
			untilOneWaits(t, client)
			c.do(l)
			place.End()
			l.rest()
			g.wantPosts(0)
			c.want(l)
			take().End() // nothing has kept the place
		})
	}
}

// O5 and O6: an approved call is recorded as started before its turn comes, and goes when it comes. A pause meanwhile
// stops it too: it has definitely not been sent.
func TestO5_AnApprovedCallWaitsForItsTurn(t *testing.T) {
	for name, pauses := range map[string]bool{"sent": false, "paused": true} {
		t.Run(name, func(t *testing.T) {
			l, g, client, take := bounded(t)
			l.deploy(postTo(g))
			l.do("setGrants", nil, "grants", map[string]string{"http.post": "ask"})
			l.push("a")
			place := take()
			l.do("approveMutation", nil, "mutation", l.mutation().ID)
			untilOneWaits(t, client)
			if pauses {
				l.do("pauseWorkflow", nil)
			}
			place.End()
			l.rest()
			if !pauses {
				g.wantPosts(1)
				l.wantEvent("a", "consumed")
				return
			}
			g.wantPosts(0)
			l.wantMutation("failed never_sent")
			l.wantEvent("a", "pending")
			if w := l.workflow(); w.Blocked != nil || w.Status != "paused" {
				t.Errorf("%+v", w)
			}
		})
	}
}

// O5: a call that its script asks about is recorded, and waits for the person, while its target has no turn for it.
func TestO5_AScriptsQuestionWaitsForNoTurn(t *testing.T) {
	l, g, _, take := bounded(t)
	asking := postTo(g)
	asking.options = `approval: "ask",`
	l.deploy(asking)
	place := take()
	l.push("a")
	l.wantWhy(decide.ReasonApproval)
	l.wantMutation("awaiting_approval")
	place.End()
	l.do("approveMutation", nil, "mutation", l.mutation().ID)
	l.rest()
	g.wantPosts(1)
	l.wantEvent("a", "consumed")
}

// timedTurns is a client that notes how long each call may wait for its turn.
type timedTurns struct {
	*httpcall.Connector
	time chan time.Duration
}

func (c timedTurns) CallTurn(ctx context.Context, call connector.Call) (connector.Turn, *eventlog.Failure) {
	end, _ := ctx.Deadline()
	c.time <- time.Until(end)
	return c.Connector.CallTurn(ctx, call)
}

// O5 and F13: an approved call waits while its own time passes. It waits for half of that, so that what is sent has
// time for its answer and does not end as a call of unknown outcome.
func TestO5_AnApprovedCallKeepsTimeForItsAnswer(t *testing.T) {
	l, g, client, _ := bounded(t)
	timed := timedTurns{client, make(chan time.Duration, 10)}
	l.bench.Others = []connector.Connector{timed}
	l.restart()
	l.deploy(postTo(g))
	l.push("a")
	whole := <-timed.time // its time begins when it is sent
	l.do("setGrants", nil, "grants", map[string]string{"http.post": "ask"})
	l.push("b")
	l.do("approveMutation", nil, "mutation", l.mutation().ID)
	l.rest()
	l.wantEvent("b", "consumed")
	if half := <-timed.time; half > 30*time.Second/2 || whole < 30*time.Second*3/4 {
		t.Errorf("an approved call may wait for %s, any other for %s, of 30 s each", half, whole)
	}
}
