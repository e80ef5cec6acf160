package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
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

// An append of which it is not known yet whether it was written was decided on what is in memory, and will
// be applied to it. Until then nothing leaves memory, though the store has it: or the workflow could
// not go on from its own log.
func TestNothingIsEvictedWhileAnAppendIsUnsettled(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	var losing atomic.Bool
	b := enginetest.NewOn(t, memlog.New(memlog.Config{Fault: func(eventlog.Entry) memlog.Fault {
		if !losing.Load() {
			return memlog.None
		}
		hangUp() // the caller does not wait for its outcome
		return memlog.LostAck
	}}))
	b.Config = engine.Config{FlushEvery: time.Hour}
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.MustPush("orders", "order.in", "a")
	s := e.Rest("orders")
	if event := s.Event("order.in", "a"); event == nil || event.Status != eventlog.EventStatusConsumed {
		t.Fatalf("the event is to be finished and in memory: %+v", event)
	}
	push := func(ctx context.Context, id eventlog.MessageID, title string) error {
		_, err := e.Push(ctx, enginetest.Tester, "orders", "order.in",
			[]decide.PushItem{{MessageID: id, Title: title, Payload: json.RawMessage(`1`)}})
		return err
	}
	losing.Store(true)
	if err := push(ctx, "a", "changed"); !errors.Is(err, engine.ErrUnavailable) {
		t.Fatalf("an unsettled push ended with %v", err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	losing.Store(false)
	if err := push(t.Context(), "b", "after it"); err != nil {
		t.Fatalf("the next push: %v", err)
	}
	e.Rest("orders")
	if stopped := e.Stopped(); len(stopped) > 0 {
		t.Fatalf("stopped: %v", stopped)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("orders")
	full := b.FullFold("orders")
	if event := full.Event("order.in", "a"); event.Title != "changed" {
		t.Fatalf("the unsettled push is lost: %+v", event)
	}
}
