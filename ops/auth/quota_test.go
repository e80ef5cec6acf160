package auth

import (
	"net/http"
	"testing"

	"github.com/pawl-run/pawl/ops/rpc"
)

// TestQuota: one caller has its share, all together have theirs, and a place that is left is free.
func TestQuota(t *testing.T) {
	t.Parallel()
	p := NewQuota("things", "thing.many", 3, 2)
	ann, ben := &rpc.Caller{Key: "ann"}, &rpc.Caller{Key: "ben"}
	first, _ := p.Take(ann)
	_, _ = p.Take(ann)
	if _, problem := p.Take(ann); problem == nil || problem.Status != http.StatusTooManyRequests ||
		problem.Code != "thing.many" {
		t.Errorf("a third of one caller: %+v", problem)
	}
	if _, problem := p.Take(ben); problem != nil {
		t.Errorf("the first of another: %+v", problem)
	}
	if _, problem := p.Take(ben); problem == nil || problem.Status != http.StatusServiceUnavailable {
		t.Errorf("a fourth in all: %+v", problem)
	}
	first()
	first() // once is enough
	if p.Taken() != 2 {
		t.Errorf("%d are open", p.Taken())
	}
	if _, problem := p.Take(ben); problem != nil {
		t.Errorf("when one has left: %+v", problem)
	}
}
