//go:build unix

package faults

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// sink is the receiver: it counts the requests of each order, and knows which calls have arrived.
type sink struct {
	*httptest.Server
	mu sync.Mutex
	// arrived tells those that wait for an order.
	arrived *sync.Cond
	orders  map[string]int
	keys    map[string]bool
	last    map[string]time.Time // by workflow
}

func newSink(t *testing.T) *sink {
	s := &sink{orders: map[string]int{}, keys: map[string]bool{}, last: map[string]time.Time{}}
	s.arrived = sync.NewCond(&s.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var order struct{ Order string }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil || order.Order == "" {
			http.Error(w, "no order", http.StatusBadRequest)
			return
		}
		workflow, _, _ := strings.Cut(order.Order, "-")
		s.mu.Lock()
		s.orders[order.Order]++
		s.keys[r.Header.Get("Idempotency-Key")] = true
		s.last[workflow] = time.Now()
		s.mu.Unlock()
		s.arrived.Broadcast()
	})
	mux.HandleFunc("GET /seen", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.keys[r.FormValue("key")] {
			http.NotFound(w, r)
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// host is what the nodes are configured with.
func (s *sink) host() string { return s.Listener.Addr().String() }

// await waits until the order has arrived, or ctx ends.
func (s *sink) await(ctx context.Context, order string) {
	defer context.AfterFunc(ctx, s.arrived.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.orders[order] == 0 && ctx.Err() == nil {
		s.arrived.Wait()
	}
}

// count is how many orders have arrived.
func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

// workedSince counts the workflows of which an order has arrived since then.
func (s *sink) workedSince(moment time.Time) (workflows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.last {
		if at.After(moment) {
			workflows++
		}
	}
	return workflows
}

// lacks lists the orders that have not arrived.
func (s *sink) lacks(orders []string) (missing []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, order := range orders {
		if s.orders[order] == 0 {
			missing = append(missing, order)
		}
	}
	return missing
}

// twice lists the orders that have arrived more than once.
func (s *sink) twice() (orders []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for order, times := range s.orders {
		if times > 1 {
			orders = append(orders, order)
		}
	}
	return orders
}

// wantOnce waits until each of the orders has arrived, and holds that none has twice. why says what a workflow waits
// for.
func (s *sink) wantOnce(t *testing.T, orders []string, why func(workflow string) string) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for missing := s.lacks(orders); len(missing) > 0; missing = s.lacks(orders) {
		if time.Now().After(end) {
			w, _, _ := strings.Cut(missing[0], "-")
			t.Fatalf("%d of %d acknowledged orders have not arrived: %v...; %s: %s", len(missing), len(orders),
				missing[:min(5, len(missing))], w, why(w))
		}
		<-again.C
	}
	if twice := s.twice(); len(twice) > 0 {
		t.Errorf("orders were sent twice: %v", twice)
	}
	t.Logf("%d orders were acknowledged, all have arrived once", len(orders))
}
