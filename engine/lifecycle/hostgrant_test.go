package lifecycle_test

import (
	"fmt"
	"io"
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

// Grants may name hosts: what a workflow may do at one it need not be allowed at another, neither by a
// call of its own nor by a redirect.
func TestGrantsNameHosts(t *testing.T) {
	var posts [2]atomic.Int32
	var hosts [2]string
	config := httpcall.Config{Hosts: map[string]httpcall.HostConfig{}}
	for i := range hosts {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				posts[i].Add(1)
			}
			if r.URL.Path == "/sent-on" {
				http.Redirect(w, r, "http://"+hosts[1-i]+"/", http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, "{}")
		}))
		t.Cleanup(web.Close)
		hosts[i] = strings.TrimPrefix(web.URL, "http://")
		config.Hosts[hosts[i]] = httpcall.HostConfig{Private: true, Timeout: 10 * time.Second}
	}
	good, other := hosts[0], hosts[1]
	for name, c := range map[string]struct{ read, post, capability, denied string }{
		"elsewhere":  {"http://" + good + "/", "http://" + good + "/", "http.*", ""},
		"a mutation": {"http://" + good + "/", "http://" + other + "/", "http.*", "http.post"},
		"a read":     {"http://" + other + "/", "http://" + good + "/", "http.get", "http.get"},
		"a redirect": {"http://" + good + "/sent-on", "http://" + good + "/", "http.get", "http.get"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := httpcall.New(config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			l := liveUnder(t)
			l.bench.Others = []connector.Connector{client}
			l.restart()
			l.deploy(shop{prepare: fmt.Sprintf("await ctx.http.get({ url: %q });", c.read),
				mutate: fmt.Sprintf("await ctx.http.post({ url: %q, body: {} });", c.post)})
			l.do("setGrants", nil, "workflow", "shop", "grants", map[string]string{"*": "allow", c.capability + "@" +
				other: "deny"})
			before := posts[0].Load()
			l.push("a")
			if c.denied == "" {
				l.wantEvent("a", "consumed")
			} else {
				run := l.run("send")
				if run.Error == nil || run.Error.Class != eventlog.Permission || run.Error.Code != "grant.denied" ||
					!strings.Contains(run.Error.Message, c.denied+" at "+other) {
					t.Errorf("the run's error: %+v", run.Error)
				}
				if posts[0].Load() != before || posts[1].Load() != 0 {
					t.Error("something was sent")
				}
			}
			l.sound()
		})
	}
}

// O5: an approval needs no other grant, but one that forbids the call since then keeps it from being sent.
func TestO5_WhatIsForbiddenMeanwhileIsNotSent(t *testing.T) {
	l := live(t)
	m := l.asking(shop{})
	l.do("setGrants", nil, "grants", map[string]string{"*": "deny"})
	l.do("approveMutation", nil, "mutation", m.ID, "paramsHash", m.ParamsHash)
	l.rest()
	if m = l.mutation(); m.Status != "failed" || m.ResolvedBy == nil || *m.ResolvedBy != eventlog.ResolvedByNeverSent {
		t.Errorf("%+v", m)
	}
	if run := l.run("send"); run.Error == nil || run.Error.Code != "grant.denied" {
		t.Errorf("%+v", run)
	}
	l.wantEvent("a", "pending")
	l.wantSent(0)
	l.sound()
}
