package ops

import (
	"net/http"
	"sync"

	"github.com/pawl-run/pawl/ops/rpc"
)

// What may be under way at once, of one caller and of all together. Each request that stays for long
// holds memory, a reader of the log and, over NATS, one of the places for answers.
const (
	mostFollowers, mostFollowersEach = 128, 32 // streams of the log, and requests that wait for it to go on
	mostHeavy, mostHeavyEach         = 8, 4    // operations that read a long past
)

// places bounds what is under way, by caller and in all.
type places struct {
	what, code string
	all, each  int

	mu    sync.Mutex
	taken map[string]int
	total int
}

func newPlaces(what, code string, all, each int) *places {
	return &places{what: what, code: code, all: all, each: each, taken: map[string]int{}}
}

// take gives the caller a place until leave is called, or says why there is none.
func (p *places) take(c *rpc.Caller) (leave func(), problem *rpc.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.taken[c.Key] >= p.each:
		return nil, rpc.Problemf(http.StatusTooManyRequests, p.code, "this caller has %d %s open, as many as one caller may", p.taken[c.Key], p.what).
			WithHint("end one of them, or ask again in a moment")
	case p.total >= p.all:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, p.code, "%d %s are open, as many as this engine has room for", p.total, p.what).
			WithHint("ask again in a moment")
	}
	p.taken[c.Key]++
	p.total++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.total--
		if p.taken[c.Key]--; p.taken[c.Key] == 0 {
			delete(p.taken, c.Key)
		}
	}), nil
}

// open is how many places are taken.
func (p *places) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}
