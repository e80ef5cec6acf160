package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestLossKeepsWhatWaits: where nothing of a workflow can be missing, its events go on waiting after an accepted
// loss, and all of them are done.
func TestLossKeepsWhatWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ behind, store bool }{
		"a record before one":                        {true, true},
		"a record before one, and the store is gone": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			w := wound{t, place(t, map[string]string{
				"pawl.yaml": "connectors: {http: {hosts: {\"" + strings.TrimPrefix(s.URL, "http://") + "\": {private: true}}}}\n",
				"bills.ts":  strings.NewReplacer("NAME", "bills", "SHOP", s.URL).Replace(orderScript),
			})}
			d := startDaemon(t, w.dir, "pawl", "up", "bills.ts", "--data", "data")
			mustRun(t, w.dir, 0, "pawl", "tokens", "create", "first", "--role", "viewer", "--data", "data")
			d.call(http.StatusOK, http.MethodPost, "/v1/workflows/bills/pause", nil)
			for i := range 10 {
				d.pushOrder("bills", fmt.Sprint("b", i))
			}
			mustRun(t, w.dir, 0, "pawl", "tokens", "create", "second", "--role", "viewer", "--data", "data")
			if c.behind {
				mustRun(t, w.dir, 0, "pawl", "tokens", "create", "third", "--role", "viewer", "--data", "data")
			}
			d.stop()
			w.damageRecord("_pawl", "token.created", 2)
			if !c.store {
				remove(t, w.path("store"))
			}
			out := mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data")
			d = startDaemon(t, w.dir, "pawl", "serve", "--data", "data")
			d.call(http.StatusOK, http.MethodPost, "/v1/workflows/bills/resume", nil)
			d.await("caught up")
			var why struct{ Moving bool }
			for d.get("/v1/workflows/bills/why", &why); why.Moving; d.get("/v1/workflows/bills/why", &why) {
			}
			d.stop()
			if s.once(t, 10); t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestLossSaysWhatItSkips: events of which nothing proves that they wait are counted, with the way back.
func TestLossSaysWhatItSkips(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := wound{t, place(t, map[string]string{
		"pawl.yaml": "connectors: {http: {hosts: {\"" + strings.TrimPrefix(s.URL, "http://") + "\": {private: true}}}}\n",
		"bills.ts":  strings.NewReplacer("NAME", "bills", "SHOP", s.URL).Replace(orderScript),
	})}
	d := startDaemon(t, w.dir, "pawl", "up", "bills.ts", "--data", "data")
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows/bills/pause", nil)
	for i := range 10 {
		d.pushOrder("bills", fmt.Sprint("b", i))
	}
	d.stop()
	w.damageRecord("bills", "event.published", 9)
	remove(t, w.path("store"))
	mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data"),
		`^bills: 9 events skipped, .*pawl jobs list --workflow bills --state cancelled; .*pawl redrive bills TOPIC MESSAGE-ID --including-unknown$`,
		`^bills: mutations ask for approval`)
}
