package bench

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Requests to slowPath are answered after slowAnswer, requests to quickPath at once.
const (
	quickPath  = "/orders"
	slowPath   = "/slow"
	slowAnswer = 200 * time.Millisecond
)

// sink counts what arrives by idempotency key.
type sink struct {
	mu      sync.Mutex
	keys    map[string]int
	effects int
	twice   int
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.keys[key]++
	s.effects++
	if key == "" || s.keys[key] > 1 {
		s.twice++
	}
	n := len(s.keys)
	s.mu.Unlock()
	if r.URL.Path == slowPath {
		time.Sleep(slowAnswer)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"receipt":"r-%d"}`, n)
}

func (s *sink) counts() (effects, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects, s.twice
}
