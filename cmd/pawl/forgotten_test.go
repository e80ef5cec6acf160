package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// prodScript finds eight orders by itself and posts each to a shop.
const prodScript = `export default Keep.workflow({
  name: "prod", topics: { orders: {} },
  producers: {
    find: Keep.producer({
      publishes: ["orders"], interval: "1h",
      async poll(ctx) {
        for (let i = 0; i < 8; i++) await ctx.publish("orders", { messageId: "p" + i, title: "p" + i, payload: {} });
      },
    }),
  },
  consumers: {
    order: Keep.consumer({
      subscribe: ["orders"],
      async prepare(ctx) {
        const [e] = await ctx.peek("orders", { limit: 1 });
        return e ? { reservations: [{ topic: "orders", ids: [e.id] }], data: { id: e.id } } : { reservations: [], data: null };
      },
      async mutate(ctx, { data }) { await ctx.http.post({ url: "SHOP/prod", body: { id: data.id } }); },
      async next() {},
    }),
  },
});
`

// TestForgottenWorkflow: a workflow whose records are all lost is held like another that may have lost some. Its
// script, deployed again, does nothing of what the local store knows as done. Without the store nothing knows its name:
// then any name that the log does not know is held once, and its calls ask.
func TestForgottenWorkflow(t *testing.T) {
	long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		after  bool // other workflows record something after it
		store  bool
		damage func(w wound, ids []string)
	}{
		"each of its records": {true, true, func(w wound, ids []string) {
			for _, id := range ids {
				w.flip(id)
			}
		}},
		"the end of the log, from its first record on": {false, true, func(w wound, ids []string) {
			w.block(func(b []byte) []byte { return b[:bytes.Index(b, []byte(ids[0]))-50] })
		}},
		"each of its records, and the store is gone": {true, false, func(w wound, ids []string) {
			for _, id := range ids {
				w.flip(id)
			}
		}},
		"the end of the log, from its first record on, and the store is gone": {false, false, func(w wound, ids []string) {
			w.block(func(b []byte) []byte { return b[:bytes.Index(b, []byte(ids[0]))-50] })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			w := wound{t, place(t, map[string]string{
				"pawl.yaml": "connectors: {http: {hosts: {\"" + strings.TrimPrefix(s.URL, "http://") + "\": {private: true}}}}\n",
				"early.ts":  strings.ReplaceAll(smallScript, "NAME", "early"),
				"prod.ts":   strings.ReplaceAll(prodScript, "SHOP", s.URL),
			})}
			mustRun(t, w.dir, 0, "pawl", "up", "early.ts", "--data", "data", "--until-idle")
			mustRun(t, w.dir, 0, "pawl", "up", "prod.ts", "--data", "data", "--until-idle")
			s.once(t, 8)
			if c.after {
				w.more("early")
			}
			var ids []string
			w.inLog(func(log *jslog.Log, _ jetstream.JetStream) {
				for _, r := range w.past(log, "prod") {
					ids = append(ids, string(r.ID))
				}
			})
			c.damage(w, ids)
			if !c.store {
				remove(t, w.path("store"))
			}
			out := mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data")
			// Repeated, it changes nothing.
			mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data"),
				`^nothing is missing, nothing was changed$`)
			write(t, filepath.Join(w.dir, "fresh.ts"), strings.ReplaceAll(smallScript, "NAME", "fresh"))
			d := startDaemon(t, w.dir, "pawl", "up", "early.ts", "prod.ts", "fresh.ts", "--data", "data")
			var fresh struct{ Blocked *struct{ Reason string } }
			d.get("/v1/workflows/fresh", &fresh)
			if held := fresh.Blocked != nil && fresh.Blocked.Reason == "loss"; held == c.store {
				t.Errorf("a name that the log does not know: held %v", held)
			}
			if c.store {
				mustSay(t, out, `^prod is held: `)
			} else {
				out = mustRun(t, w.dir, exit.CodeNeedsPerson, "pawl", "why", "prod", "--data", "data")
				mustSay(t, out, `The system holds workflow prod \(loss\): .*a workflow of this name may have been in it`)
			}
			s.once(t, 8)
			step := named(t, out, "resume prod")
			mustRun(t, w.dir, 0, step[0], step[1:]...)
			if c.store { // otherwise its producer is due
				d.call(http.StatusOK, http.MethodPost, "/v1/workflows/prod/run-now", nil)
			}
			d.await("caught up")
			d.atRest("prod")
			d.stop()
			s.once(t, 8)
			// Once resumed, it is not held again, also under a new version.
			write(t, filepath.Join(w.dir, "prod.ts"), strings.ReplaceAll(prodScript, "SHOP", s.URL)+"\n// changed\n")
			d = startDaemon(t, w.dir, "pawl", "up", "early.ts", "prod.ts", "fresh.ts", "--data", "data")
			var prod struct {
				Blocked *struct{ Reason string }
				Version string
			}
			d.get("/v1/workflows/prod", &prod)
			if held := prod.Blocked != nil && prod.Blocked.Reason == "loss"; held || prod.Version != "2.0" {
				t.Errorf("deployed again: %+v", prod)
			}
			d.stop()
			s.once(t, 8)
		})
	}
}

// TestNewlyDeployedAfterALossAsks: where all records of a workflow are lost, and nothing else knows its name,
// the acceptance cannot hold it. Its file is still deployed when the engine starts, and its source comes with
// its events again: a person is asked before any of them is handled.
func TestNewlyDeployedAfterALossAsks(t *testing.T) {
	long(t)
	t.Parallel()
	s := openShop(t)
	w := wound{t, place(t, map[string]string{
		"pawl.yaml": "connectors: {http: {hosts: {\"" + strings.TrimPrefix(s.URL, "http://") + "\": {private: true}}}}\n",
		"bills.ts":  strings.NewReplacer("NAME", "bills", "SHOP", s.URL).Replace(orderScript),
		"sales.ts":  strings.NewReplacer("NAME", "sales", "SHOP", s.URL).Replace(orderScript),
	})}
	up := []string{"up", "bills.ts", "sales.ts", "--data", "data"}
	d := startDaemon(t, w.dir, "pawl", up...)
	d.pushOrder("bills", "b")
	d.pushOrder("sales", "s")
	d.awaitRest()
	s.once(t, 2)
	d.stop()
	var ids []string
	w.inLog(func(log *jslog.Log, _ jetstream.JetStream) {
		for _, r := range w.past(log, "bills") {
			ids = append(ids, string(r.ID))
		}
	})
	for _, id := range ids {
		w.flip(id)
	}
	remove(t, w.path("store"))
	mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data")
	d = startDaemon(t, w.dir, "pawl", up...)
	d.pushOrder("bills", "b")
	d.pushOrder("sales", "s")
	d.awaitRest()
	s.once(t, 2)
	mustRun(t, w.dir, 0, "pawl", "resume", "bills", "--data", "data") // its name may be lost: it is held
	d.awaitRest()
	s.once(t, 2)
	d.approveAll()
	if n := s.count("bills b"); n != 2 {
		t.Errorf("with a person's word it was sent %d times, want 2", n)
	}
	d.stop()
}
