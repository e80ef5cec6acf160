package engine_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// Acknowledgements that get lost, written or not, change nothing: the same entry is sent again until
// it is settled, and no decision is made twice.
func TestLostAcknowledgements(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	n := 0
	b := enginetest.NewOn(t, memlog.New(memlog.Config{Fault: func(eventlog.Entry) memlog.Fault {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch n % 5 {
		case 1:
			return memlog.LostAck
		case 3:
			return memlog.Refuse
		}
		return memlog.None
	}}))
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour)}
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.MustPush("orders", "order.in", "a", "b", "c")
	s := e.Rest("orders")
	check(t, b, scenario{effects: 3, consumed: 3}, s)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("orders")
	mu.Lock()
	defer mu.Unlock()
	if n < 15 {
		t.Fatalf("only %d appends were tried", n)
	}
}
