package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// orderScript posts each event to a shop.
const orderScript = `export default Keep.workflow({
  name: "NAME", topics: { orders: {} },
  consumers: {
    order: Keep.consumer({
      subscribe: ["orders"],
      async prepare(ctx) {
        const [e] = await ctx.peek("orders", { limit: 1 });
        return e ? { reservations: [{ topic: "orders", ids: [e.id] }], data: { id: e.id } } : { reservations: [], data: null };
      },
      async mutate(ctx, { data }) { await ctx.http.post({ url: "SHOP/NAME", body: { id: data.id } }); },
      async next() {},
    }),
  },
});
`

// shop counts the orders that it was sent, by workflow and event.
type shop struct {
	*httptest.Server
	mu     sync.Mutex
	orders map[string]int
}

func openShop(t *testing.T) *shop {
	s := &shop{orders: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var order struct{ ID string }
		if err := json.Unmarshal(body, &order); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.orders[strings.TrimPrefix(r.URL.Path, "/")+" "+order.ID]++
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) count(order string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[order]
}

// once wants that no order has come twice, and how many there are.
func (s *shop) once(t *testing.T, want int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for order, n := range s.orders {
		if n > 1 {
			t.Errorf("order %s was sent %d times", order, n)
		}
	}
	if len(s.orders) != want {
		t.Errorf("%d orders were sent, want %d: %v", len(s.orders), want, s.orders)
	}
}

// pushOrder pushes one event.
func (d *daemon) pushOrder(workflow, id string) {
	d.t.Helper()
	status, answer, err := d.request(http.MethodPost, "/v1/workflows/"+workflow+"/topics/orders/events",
		map[string]any{"messageId": id, "title": id, "payload": map[string]int{"n": 1}})
	if err != nil || status > 201 {
		d.t.Fatalf("push %s: %d %s %v", id, status, answer, err)
	}
}

// damageRecord flips a bit of the n-th record of the workflow whose kind has the prefix.
func (w wound) damageRecord(workflow eventlog.WorkflowName, kind string, n int) {
	w.t.Helper()
	var stored []byte
	w.inLog(func(log *jslog.Log, _ jetstream.JetStream) {
		for _, r := range w.past(log, workflow) {
			if !strings.HasPrefix(string(r.Kind), kind) {
				continue
			}
			if n--; n == 0 {
				stored = []byte(r.ID)
			}
		}
	})
	if stored == nil {
		w.t.Fatal("there is no such record")
	}
	w.flip(string(stored))
}

// flip flips bits of the record with the id.
func (w wound) flip(id string) {
	w.t.Helper()
	w.block(func(b []byte) []byte {
		at := strings.Index(string(b), id)
		if at < 0 {
			w.t.Fatalf("record %s is not in the block", id)
		}
		b[at+3] ^= 1
		b[at+5] ^= 1
		return b
	})
}

// TestDamageDoesNothingTwice follows the commands that the program prints, from damage in an old record of a
// stopped engine to an engine that works again. No order is sent twice, whatever is pushed again, and the other
// workflow goes on the whole time. What an approval lets through is a person's word.
func TestDamageDoesNothingTwice(t *testing.T) {
	long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		kind  string
		n     int
		store bool // the local store is still there
	}{
		"the record of a call": {"mutation.started", 2, true},
		"a push":               {"event.published", 3, true},
		"the first record":     {"workflow.deployed", 1, true},
		"the record of a call, and the store is gone": {"mutation.started", 2, false},
		"a push, and the store is gone":               {"event.published", 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			files := map[string]string{"pawl.yaml": "connectors: {http: {hosts: {\"" + strings.TrimPrefix(s.URL, "http://") +
				"\": {private: true}}}}\n"}
			for _, name := range []string{"bills", "sales"} {
				files[name+".ts"] = strings.NewReplacer("NAME", name, "SHOP", s.URL).Replace(orderScript)
			}
			w := wound{t, place(t, files)}
			d := startDaemon(t, w.dir, "pawl", "up", "bills.ts", "sales.ts", "--data", "data")
			for i := range 6 {
				d.pushOrder("bills", fmt.Sprint("b", i))
				d.pushOrder("sales", fmt.Sprint("s", i))
			}
			d.awaitRest()
			s.once(t, 12)
			d.stop()
			w.damageRecord("bills", c.kind, c.n)
			pushed, sent := 6, 12
			var out string
			if c.store {
				d = startDaemon(t, w.dir, "pawl", "serve", "--data", "data")
				d.await(`level=ERROR msg="the log of this workflow is damaged: .*workflow=bills`)
				d.pushOrder("bills", "b6") // waits
				d.pushOrder("sales", "s6")
				d.awaitRest()
				pushed, sent = 7, 13
				s.once(t, 13)
				d.call(http.StatusServiceUnavailable, http.MethodGet, "/readyz", nil)
				mustSay(t, d.logHealth(), `^\{false \[.*bills`)
				out = mustRun(t, w.dir, exit.CodeNeedsPerson, "pawl", "why", "bills", "--data", "data")
				mustSay(t, out, `The system holds workflow bills \(damage\)`)
				d.stop()
				mustSay(t, mustRun(t, w.dir, exit.CodeNeedsPerson, "pawl", "serve", "--data", "data", "--until-idle"),
					`bills \(damage\)`)
			} else {
				remove(t, w.path("store"))
				out = mustRun(t, w.dir, exit.CodeFailed, "pawl", "serve", "--data", "data")
			}
			step := named(t, out, "verify")
			out = mustRun(t, w.dir, exit.CodeFailed, step[0], step[1:]...)
			step = named(t, out, "verify --accept-loss")
			out = mustRun(t, w.dir, 0, step[0], step[1:]...)
			// A repeated command says what this one may have been killed before it said.
			again := mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data")
			mustSay(t, again, `^bills is held since an earlier acceptance: its newest transitions may be lost: \S.*`+
				`pawl resume bills; \d+ mutation calls? of it given up: pawl mutations list --workflow bills --status given_up`)
			mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
			w.checkReport(out)

			d = startDaemon(t, w.dir, "pawl", "serve", "--data", "data")
			for _, name := range []string{"bills", "sales"} {
				if strings.Contains(out, "pawl resume "+name) {
					step = named(t, out, "resume "+name)
					mustRun(t, w.dir, 0, step[0], step[1:]...)
				}
			}
			for i := range pushed { // a source that does not know comes with all of it again
				d.pushOrder("bills", fmt.Sprint("b", i))
				d.pushOrder("sales", fmt.Sprint("s", i))
			}
			d.awaitRest()
			if c.store {
				if sent++; s.count("bills b6") != 1 {
					t.Error("what waited was not done")
				}
			}
			s.once(t, sent)
			d.pushOrder("bills", "new")
			d.awaitRest()
			if c.store {
				s.once(t, sent+1)
			} else {
				s.once(t, sent) // it may be one that was done: a person is asked
				d.approveAll()
				if s.count("bills new") != 1 {
					t.Error("an approved order was not sent")
				}
			}
			d.stop()
		})
	}
}

// awaitRest waits until nothing of bills and sales is active or due.
func (d *daemon) awaitRest() {
	d.t.Helper()
	d.atRest("bills", "sales")
}

// approveAll approves every call that awaits it, as a person does after a look.
func (d *daemon) approveAll() {
	d.t.Helper()
	for {
		var waiting struct{ Items []struct{ ID string } }
		if d.get("/v1/mutations?status=awaiting_approval", &waiting); len(waiting.Items) == 0 {
			return
		}
		for _, m := range waiting.Items {
			d.call(http.StatusOK, http.MethodPost, "/v1/mutations/"+m.ID+"/approve", nil)
		}
		d.awaitRest()
	}
}

// checkReport wants a file for its owner alone, where the program says that it has written one, with the calls
// that the ledger shows as given up.
func (w wound) checkReport(out string) {
	w.t.Helper()
	found := regexp.MustCompile(`Each stands in (\S+) and`).FindStringSubmatch(out)
	if found == nil {
		w.t.Errorf("no call was given up:\n%s", out)
		return
	}
	path := filepath.Join(w.dir, found[1])
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		w.t.Fatalf("%v, %v", info, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	d := startDaemon(w.t, w.dir, "pawl", "serve", "--data", "data")
	defer d.stop()
	for line := range strings.Lines(string(content)) {
		var call storage.GivenUpLine
		if err := json.Unmarshal([]byte(line), &call); err != nil || call.Workflow != "bills" || call.State == "" {
			w.t.Fatalf("%v: %s", err, line)
		}
		mustSay(w.t, string(d.call(http.StatusOK, http.MethodGet, "/v1/mutations/"+string(call.Mutation), nil)),
			`"status":"given_up".*given up with an accepted loss`)
	}
}
