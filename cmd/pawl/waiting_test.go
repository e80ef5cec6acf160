package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// TestLossKeepsWhatWaits: where nothing of a workflow can be missing, or the local store proves what is, its events go
// on waiting after an accepted loss, and all of them are done. Where nothing proves it, none is done by itself.
func TestLossKeepsWhatWaits(t *testing.T) {
	long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		workflow      eventlog.WorkflowName
		kind          string
		n             int
		behind, store bool // another record stands behind it, the store is still there
		want          int
	}{
		"a record before one":                             {eventlog.Installation, "token.created", 2, true, true, 10},
		"a record before one, and the store is gone":      {eventlog.Installation, "token.created", 2, true, false, 10},
		"the last record":                                 {eventlog.Installation, "token.created", 2, false, true, 10},
		"the last record, and the store is gone":          {eventlog.Installation, "token.created", 2, false, false, 0},
		"a workflow's last record":                        {"bills", "event.published", 10, true, true, 10},
		"a workflow's last record, and the store is gone": {"bills", "event.published", 10, true, false, 0},
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
			w.damageRecord(c.workflow, c.kind, c.n)
			if !c.store {
				remove(t, w.path("store"))
			}
			out := mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data")
			d = startDaemon(t, w.dir, "pawl", "serve", "--data", "data")
			d.call(http.StatusOK, http.MethodPost, "/v1/workflows/bills/resume", nil)
			d.await("caught up")
			d.atRest("bills")
			d.stop()
			if s.once(t, c.want); t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestLossSaysWhatItSkips: events of which nothing proves that they wait are counted, with the way back.
func TestLossSaysWhatItSkips(t *testing.T) {
	long(t)
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
		`^bills: 9 events skipped, .*pawl jobs list --workflow bills --state cancelled; `+
			`.*pawl redrive bills TOPIC MESSAGE-ID --including-unknown$`,
		`^bills: mutations ask for approval`)
}
