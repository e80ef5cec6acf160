package auth

import (
	"net/http"
	"sync"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Quota bounds how much is under way at once, for each caller and in all.
type Quota struct {
	what, code string
	all, each  int

	mu    sync.Mutex
	taken map[string]int
	total int
}

// NewQuota allows all places in total, and each places to one caller. what names the counted things for people, and
// code is that of the problem for a request that gets no place.
func NewQuota(what, code string, all, each int) *Quota {
	return &Quota{what: what, code: code, all: all, each: each, taken: map[string]int{}}
}

// Take gives the caller a place until leave is called, or says why there is none.
func (q *Quota) Take(c *rpc.Caller) (leave func(), problem *rpc.Problem) { return q.TakeMany(c, 1) }

// TakeMany is Take of n places at once.
func (q *Quota) TakeMany(c *rpc.Caller, n int) (leave func(), problem *rpc.Problem) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.taken[c.Key]+n > q.each:
		return nil, rpc.Problemf(http.StatusTooManyRequests, q.code,
			"this caller has %d %s open of the %d that one caller may have, and this one does not fit beside them",
			q.taken[c.Key], q.what, q.each).
			WithHint("end one of them, or ask again in a moment")
	case q.total+n > q.all:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, q.code,
			"%d %s are open of the %d that this engine has room for, and this one does not fit beside them",
			q.total, q.what, q.all).
			WithHint("ask again in a moment")
	}
	q.taken[c.Key] += n
	q.total += n
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.total -= n
		if q.taken[c.Key] -= n; q.taken[c.Key] == 0 {
			delete(q.taken, c.Key)
		}
	}), nil
}

// Taken is how many places are taken.
func (q *Quota) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}
