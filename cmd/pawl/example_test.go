package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/projections/readmodel"
)

// chat is the other side of the bundled concurrent workflow. It answers no message before so many are open at once.
type chat struct {
	*testing.T
	atOnce int
	full   chan struct{}

	mu   sync.Mutex
	open int
	told []string
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		c.Errorf("a message is no JSON: %v", err)
	}
	c.mu.Lock()
	c.told = append(c.told, message.Text)
	if c.open++; c.open == c.atOnce {
		close(c.full)
	}
	c.mu.Unlock()
	select {
	case <-c.full:
	case <-time.After(longest):
		c.Errorf("never were %d messages open at once", c.atOnce)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, "{}")
}

// The bundled concurrent workflow tells the chat of the deliveries of all customers at once, of those of each in their
// order, of each once, and of no delivery that the chat has no sentence for.
func TestExampleOfManyAtOnce(t *testing.T) {
	t.Parallel()
	const customers, deliveries = 8, 3
	other := &chat{T: t, atOnce: customers, full: make(chan struct{})}
	server := httptest.NewServer(other)
	t.Cleanup(server.Close)
	script := read(t, "example/webhook-to-chat.ts")
	const host = "https://chat.example.com"
	if strings.Count(script, host) != 1 {
		t.Fatalf("the example does not call %s once", host)
	}
	dir := place(t, map[string]string{
		"webhook-to-chat.ts": strings.Replace(script, host, server.URL, 1),
		"pawl.yaml": "clock: manual\nclock-start: " + recipeStart + "\nconnectors: {http: {hosts: {\"" +
			strings.TrimPrefix(server.URL, "http://") + "\": {private: true}}}}\n",
	})
	d := startDaemon(t, dir, "pawl", "up", "webhook-to-chat.ts")
	d.await(`deployed webhook-to-chat`)
	push := func(id, kind string, customer, order int) {
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/webhook-to-chat/topics/hook.received/events", map[string]any{
			"messageId": id, "title": kind + " " + id, "payload": map[string]any{
				"type": kind, "customer": map[string]any{"id": customer, "name": fmt.Sprint("c", customer)},
				"order": map[string]any{"number": fmt.Sprint(order), "total": "5 EUR"},
			},
		})
	}
	want := map[string][]string{}
	for order := range deliveries {
		for customer := range customers {
			push(fmt.Sprintf("%d-%d", customer, order), "order.paid", customer, order)
			name := fmt.Sprint("c", customer)
			want[name] = append(want[name], fmt.Sprintf("%s has paid 5 EUR for order %d", name, order))
		}
	}
	push("0-0", "order.paid", 0, 0) // the same delivery again
	push("cart", "cart.opened", 0, 9)
	d.rest()
	got := map[string][]string{}
	for _, text := range other.told {
		name, _, _ := strings.Cut(text, " ")
		got[name] = append(got[name], text)
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("told of %s: %q, want %q", name, got[name], want[name])
		}
	}
	if len(other.told) != customers*deliveries {
		t.Errorf("%d messages, want %d: %q", len(other.told), customers*deliveries, other.told)
	}
	var dropped readmodel.Page[readmodel.Event]
	d.get("/v1/workflows/webhook-to-chat/events?topic=hook.received&q=cart", &dropped)
	if len(dropped.Items) != 1 || dropped.Items[0].Status != "skipped" {
		t.Errorf("the delivery without a sentence: %+v", dropped.Items)
	}
	d.stop()
}
