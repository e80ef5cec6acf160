package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/projections/readmodel"
)

// Recipe 1: only what is new is read, page by page, and each order becomes one row.
func TestRecipePaging(t *testing.T) {
	orders := 5
	r := cook(t, 1, func(w http.ResponseWriter, _, path, _ string) bool {
		u, _ := url.Parse(path)
		first := 1
		_, _ = fmt.Sscanf(u.Query().Get("after"), "o%d", &first)
		if u.Query().Get("after") != "" {
			first++
		}
		list := []map[string]any{}
		for i := first; i <= orders && len(list) < 2; i++ {
			list = append(list, map[string]any{"id": fmt.Sprintf("o%d", i), "total": i * 10})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"orders": list, "more": first+len(list) <= orders})
		return true
	}).ready()
	r.wantSheet("orders.csv", "id,total", "o1,10", "o2,20", "o3,30", "o4,40", "o5,50")
	r.wantState("poll", `{"cursor":"o5"}`)
	r.outside.mu.Lock()
	orders = 6
	r.outside.mu.Unlock()
	r.advance("5m")
	r.advance("5m")
	r.wantSheet("orders.csv", "id,total", "o1,10", "o2,20", "o3,30", "o4,40", "o5,50", "o6,60")
	r.outside.mu.Lock()
	defer r.outside.mu.Unlock()
	var want []string
	for _, cursor := range []string{"", "o2", "o4", "o5", "o6"} {
		want = append(want, "/orders?after="+cursor)
	}
	if !slices.Equal(r.outside.asked, want) {
		t.Errorf("asked %q, want %q", r.outside.asked, want)
	}
}

// Recipe 1, of an API that often fails: pages that answer 500, 429 or not at all, at random, lose no order and write
// none twice.
func TestRecipePagingOfAnAPIThatFails(t *testing.T) {
	const orders = 60
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	failed := 0
	r := cook(t, 1, func(w http.ResponseWriter, _, path, _ string) bool {
		switch chance.IntN(6) {
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 1:
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			panic(http.ErrAbortHandler)
		default:
			u, _ := url.Parse(path)
			after := 0
			_, _ = fmt.Sscanf(u.Query().Get("after"), "o%d", &after)
			list := []map[string]any{}
			for i := after + 1; i <= min(after+4, orders); i++ {
				list = append(list, map[string]any{"id": fmt.Sprintf("o%d", i), "total": i * 10})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"orders": list, "more": after+4 < orders})
			return true
		}
		failed++
		return true
	}).ready()
	want := []string{"id,total"}
	for i := 1; i <= orders; i++ {
		want = append(want, fmt.Sprintf("o%d,%d", i, i*10))
	}
	var consumed readmodel.Page[readmodel.Event]
	for hour := 0; hour < 200 && len(consumed.Items) < orders; hour++ {
		r.advance("1h")
		r.get("/v1/workflows/orders/events?status=consumed&limit=100", &consumed)
	}
	r.wantState("poll", `{"cursor":"o60"}`)
	r.wantSheet("orders.csv", want...)
	r.outside.mu.Lock()
	defer r.outside.mu.Unlock()
	if failed == 0 {
		t.Error("no page failed")
	}
}

// Recipe 2: what is pushed appears in the chat, once.
func TestRecipePush(t *testing.T) {
	r := cook(t, 2, nil).ready()
	r.does(r.part.commands(t)[0])
	r.rest()
	r.wantReceived(`POST /hooks/team {"text":"urgent: Disk 7 is full"}`)
	head, body, _ := strings.Cut(r.part.code(t, "http"), "\n\n")
	method, path, _ := strings.Cut(head, " ")
	answer := string(r.call(http.StatusOK, method, path, json.RawMessage(body)))
	if !strings.Contains(answer, `"updated"`) {
		t.Errorf("pushed again: %s", answer)
	}
	r.rest()
	r.wantReceived()
	r.wantEvents("alert.raised", "disk-7 consumed")
}

// Recipe 3: nothing leaves before a person has approved it, and nothing at all if the person rejects it.
func TestRecipeApproval(t *testing.T) {
	r := cook(t, 3, nil).ready()
	commands := r.part.commands(t)
	r.push("refund.wanted", "small", map[string]any{"account": "DE0", "amount": 99})
	r.wantReceived(`POST /payments {"account":"DE0","amount":99}`)
	r.push("refund.wanted", "large", map[string]any{"account": "DE9", "amount": 100})
	r.wantReceived()
	r.does("pawl approve " + string(r.mutationIn("awaiting_approval").ID))
	r.rest()
	r.wantReceived(`POST /payments {"account":"DE9","amount":100}`)
	r.does(commands[0])
	r.push("refund.wanted", "r1", map[string]any{"account": "DE1", "amount": 20})
	r.wantReceived()
	m := r.mutationIn("awaiting_approval")
	if out := r.does(commands[1]); !strings.Contains(out, "Pay 20 to DE1") {
		t.Errorf("%s: %s", commands[1], out)
	}
	for _, line := range commands[2:] {
		r.does(strings.Replace(line, "MUTATION", string(m.ID), 1))
	}
	r.rest()
	r.wantReceived(`POST /payments {"account":"DE1","amount":20}`)
	r.push("refund.wanted", "r2", map[string]any{"account": "DE2", "amount": 5000})
	r.does("pawl reject " + string(r.mutationIn("awaiting_approval").ID))
	r.rest()
	r.wantReceived()
	r.wantEvents("refund.decided", "small pending", "large pending", "r1 pending", "r2 pending")
	if out := r.does("pawl events show refunds refund.decided r2"); !strings.Contains(out, "rejected") {
		t.Errorf("what next noted: %s", out)
	}
}

// Recipe 4: one message on a working day with tickets, none on others.
func TestRecipeDigest(t *testing.T) {
	r := cook(t, 4, nil).ready() // Sunday, 7 o'clock in Berlin
	r.push("ticket.opened", "1", nil)
	r.push("ticket.opened", "2", nil)
	r.advance("2h")
	r.wantReceived()
	r.advance("22h59m") // Monday, 7:59
	r.wantReceived()
	r.advance("1m")
	r.wantReceived(`POST /hooks/team {"text":"ticket.opened 1\nticket.opened 2"}`)
	r.advance("24h")
	r.wantReceived()
	r.push("ticket.opened", "3", nil)
	r.advance("24h")
	r.wantReceived(`POST /hooks/team {"text":"ticket.opened 3"}`)
	r.wantEvents("digest.due", "2026-03-02 consumed", "2026-03-03 consumed", "2026-03-04 consumed")
}

// Recipe 5: an order is shipped when both events are there, in either order, once.
func TestRecipeJoin(t *testing.T) {
	r := cook(t, 5, nil).ready()
	r.push("order.paid", "a", nil)
	r.push("order.packed", "b", map[string]int{"boxes": 2})
	r.wantReceived()
	r.push("order.packed", "a", map[string]int{"boxes": 1})
	r.wantReceived(`POST /shipments {"order":"a","boxes":1}`)
	r.push("order.paid", "b", nil)
	r.wantReceived(`POST /shipments {"order":"b","boxes":2}`)
	r.push("order.paid", "a", nil)
	r.wantReceived()
	r.push("order.packed", "c", map[string]int{"boxes": 3})
	r.does("pawl cancel shipping order.packed c")
	r.push("order.paid", "c", nil)
	r.push("order.paid", "d", nil)
	r.push("order.packed", "d", map[string]int{"boxes": 4})
	r.wantReceived(`POST /shipments {"order":"d","boxes":4}`)
	r.wantEvents("order.paid", "a consumed", "b consumed", "c pending", "d consumed")
	r.wantEvents("order.packed", "b consumed", "a consumed", "c skipped", "d consumed")
}

// Recipe 6: each reminder is sent at its time, also when that is more than a day away.
func TestRecipeDelay(t *testing.T) {
	r := cook(t, 6, nil).ready()
	r.push("reminder", "late", map[string]string{"at": "2026-03-03T07:30:00+01:00"}) // in 48 hours and a half
	r.push("reminder", "soon", map[string]string{"at": "2026-03-01T06:10:00Z"})
	r.advance("9m59s")
	r.wantReceived()
	r.advance("1s")
	r.wantReceived(`POST /hooks/team {"text":"reminder soon"}`)
	r.advance("48h19m59s")
	r.wantReceived()
	r.advance("1s")
	r.wantReceived(`POST /hooks/team {"text":"reminder late"}`)
}

// Recipe 7: each item of an order is one change, and one that fails does not hold up the others.
func TestRecipeFanOut(t *testing.T) {
	refuse := true
	r := cook(t, 7, func(w http.ResponseWriter, _, _, body string) bool {
		if refuse && strings.Contains(body, "cup") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return true
		}
		return false
	}).ready()
	r.push("order.placed", "o1", map[string]any{"items": []string{"pen", "cup", "hat"}})
	r.wantReceived(`POST /picks {"item":"pen"}`, `POST /picks {"item":"cup"}`, `POST /picks {"item":"hat"}`)
	r.wantEvents("item.wanted", "o1-0 consumed", "o1-1 pending", "o1-2 consumed")
	r.outside.mu.Lock()
	refuse = false
	r.outside.mu.Unlock()
	r.advance("5s")
	r.wantReceived(`POST /picks {"item":"cup"}`)
	r.wantEvents("item.wanted", "o1-0 consumed", "o1-1 consumed", "o1-2 consumed")
}

// Recipe 8: what is refused is tried three more times, then put aside until it is redriven; the others go on.
func TestRecipeRetry(t *testing.T) {
	refuse := true
	r := cook(t, 8, func(w http.ResponseWriter, _, _, body string) bool {
		if refuse && strings.Contains(body, `"number":"2026-17"`) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return true
		}
		return false
	}).ready()
	bad, good := `POST /invoices {"number":"2026-17","total":1}`, `POST /invoices {"number":"2026-18","total":2}`
	r.push("invoice.ready", "2026-17", map[string]int{"total": 1})
	r.push("invoice.ready", "2026-18", map[string]int{"total": 2})
	r.wantReceived(bad, good)
	r.advance("10m")
	r.wantReceived(bad, bad, bad, `POST /hooks/team {"text":"Invoice 2026-17 failed 4 times: http.status"}`)
	r.advance("24h")
	r.wantReceived()
	commands := r.part.commands(t)
	if out := r.does(commands[0]); !strings.Contains(out, "2026-17") || strings.Contains(out, "2026-18") {
		t.Errorf("%s: %s", commands[0], out)
	}
	if out := r.does(commands[1]); !strings.Contains(out, "422") {
		t.Errorf("%s: %s", commands[1], out)
	}
	r.outside.mu.Lock()
	refuse = false
	r.outside.mu.Unlock()
	r.does(commands[2])
	r.rest()
	r.wantReceived(bad)
	r.wantEvents("invoice.ready", "2026-17 consumed", "2026-18 consumed")
}

// Recipe 9: numbers have no gap and none is used twice, also when a call fails or is rejected.
func TestRecipeState(t *testing.T) {
	busy := 1
	r := cook(t, 9, func(w http.ResponseWriter, _, _, body string) bool {
		if busy > 0 && strings.Contains(body, `"b"`) {
			busy--
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		return false
	}).ready()
	r.push("sale.closed", "a", nil)
	r.push("sale.closed", "b", nil)
	r.wantState("invoice", `{"last":1}`)
	r.advance("10s")
	r.does("pawl grants numbers http.post=ask")
	r.push("sale.closed", "c", nil)
	r.does("pawl reject " + string(r.mutationIn("awaiting_approval").ID))
	r.does("pawl grants numbers http.post=allow")
	r.push("sale.closed", "d", nil)
	r.wantReceived(`POST /invoices {"number":1,"sale":"a"}`, `POST /invoices {"number":2,"sale":"b"}`,
		`POST /invoices {"number":2,"sale":"b"}`, `POST /invoices {"number":3,"sale":"d"}`)
	r.wantState("invoice", `{"last":3}`)
}

// Recipe 10: the tool is asked to add each vote once, and next logs its answer.
func TestRecipeTool(t *testing.T) {
	long(t)
	part := pagePartOf(t, "10. Call a tool of your own, in any language")
	commands := part.commands(t)
	up := strings.Fields(strings.Replace(commands[0], "127.0.0.1:4222", "127.0.0.1:0", 1))
	r := cook(t, 10, nil, up[1:]...)
	r.await(`waits for counter\.add`)
	r.does(commands[1])
	program := filepath.Join(r.dir, "tool")
	command2 := strings.Fields(commands[2])
	if !slices.Equal(command2[:3], []string{"go", "run", "./cmd/pawl/example/tool"}) {
		t.Fatalf("the last command is %s", commands[2])
	}
	goBuild(t, program, "./example/tool", "CGO_ENABLED=0")
	tool := spawn(t, command(t, r.dir, program, command2[3:]...))
	t.Cleanup(func() {
		_ = tool.cmd.Process.Kill()
		tool.done.Wait()
		_ = tool.cmd.Wait()
	})
	r.await(`^pawl: deployed votes`)
	r.ready()
	for _, id := range []string{"v1", "v2", "v3"} {
		r.push("vote.cast", id, nil)
	}
	r.push("vote.cast", "v3", nil)
	r.await(`3 votes`)
	if out := r.does("pawl connectors call counter.read '{}'"); out != `{"total":3}`+"\n" {
		t.Errorf("the tool has counted %s", out)
	}
	if strings.Contains(r.text(), "4 votes") {
		t.Errorf("a vote was counted twice:\n%s", r.text())
	}
}
