package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
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

// deliverer signs deliveries as Standard Webhooks says, and posts them to the hook of the bundled concurrent workflow.
type deliverer struct {
	*daemon
	secret string
	at     time.Time
}

// post sends a delivery and returns the status of the answer.
func (s deliverer) post(id, kind string, customer, order int) (int, error) {
	body := fmt.Sprintf(`{"type": %q, "customer": {"id": %d, "name": "c%[2]d"},
		"order": {"number": "%[3]d", "total": "5 EUR"}}`, kind, customer, order)
	r := &hook.Request{Method: http.MethodPost, URL: s.url + "/hooks/webhook-to-chat/shop", Body: []byte(body),
		Header: http.Header{"Webhook-Id": {id}, "Content-Type": {"application/json"}}}
	if err := hook.Sign(eventlog.HookVerify{Scheme: "standard", Secret: "SHOP"}, s.secret, r, s.at); err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(s.t.Context(), r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return 0, err
	}
	req.Header = r.Header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// want posts a delivery that must be answered with the status.
func (s deliverer) want(status int, id, kind string, customer, order int) {
	if got, err := s.post(id, kind, customer, order); err != nil || got != status {
		s.t.Errorf("delivery %s: answered %d, want %d: %v", id, got, status, err)
	}
}

// The bundled concurrent workflow takes a burst of 200 signed deliveries and tells the chat of sixteen at once, of
// those of each customer in their order, of each once, and of no delivery that the chat has no sentence for. What the
// shop has not signed it does not take.
func TestExampleOfManyAtOnce(t *testing.T) {
	long(t)
	t.Parallel()
	const customers, deliveries = 40, 5
	other := &chat{T: t, atOnce: 16, full: make(chan struct{})}
	server := httptest.NewServer(other)
	t.Cleanup(server.Close)
	script := read(t, "example/webhook-to-chat.ts")
	const host = "https://chat.example.com"
	if strings.Count(script, host) != 1 {
		t.Fatalf("the example does not call %s once", host)
	}
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	dir := place(t, map[string]string{
		"webhook-to-chat.ts": strings.Replace(script, host, server.URL, 1), "shop.secret": secret,
		"pawl.yaml": "clock: manual\nclock-start: " + recipeStart + "\n" +
			"secrets: {SHOP: {value: \"${file:shop.secret}\"}}\n" +
			"connectors: {http: {hosts: {\"" + strings.TrimPrefix(server.URL, "http://") + "\": {private: true}}}}\n",
	})
	d := startDaemon(t, dir, "pawl", "up", "webhook-to-chat.ts")
	d.await(`deployed webhook-to-chat`)
	mustRun(t, dir, 0, "pawl", "grants", "webhook-to-chat", "secret.SHOP=allow")
	at, err := time.Parse(time.RFC3339, recipeStart)
	if err != nil {
		t.Fatal(err)
	}
	s := deliverer{d, secret, at}
	want := map[string][]string{}
	var posting sync.WaitGroup
	for customer := range customers {
		name := fmt.Sprint("c", customer)
		for order := range deliveries {
			want[name] = append(want[name], fmt.Sprintf("%s has paid 5 EUR for order %d", name, order))
		}
		posting.Go(func() {
			for order := range deliveries {
				s.want(http.StatusAccepted, fmt.Sprintf("%d-%d", customer, order), "order.paid", customer, order)
			}
		})
	}
	posting.Wait()
	s.want(http.StatusOK, "0-0", "order.paid", 0, 0) // the same delivery again
	s.want(http.StatusAccepted, "cart", "cart.opened", 0, 9)
	deliverer{d, "whsec_c29tZWJvZHkgZWxzZQ==", at}.want(http.StatusUnauthorized, "forged", "order.paid", 1, 9)
	deliverer{d, secret, at.Add(-time.Hour)}.want(http.StatusUnauthorized, "late", "order.paid", 1, 9)
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
