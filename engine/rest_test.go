package engine_test

import (
	"context"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// heldLog has an append of a kind in the log long before it says so.
type heldLog struct {
	eventlog.Log
	kind    eventlog.FactType
	written chan struct{}
	release chan struct{}
}

func (l *heldLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	head, err := l.Log.Append(ctx, e)
	if e.Kind == l.kind {
		close(l.written)
		<-l.release
	}
	return head, err
}

// An engine is not idle while a client writes to a workflow: a program that follows the log sees a push
// before its acknowledgement, and waits for what comes of it.
func TestNotIdleWhileAPushIsWritten(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	held := &heldLog{Log: b.Log, kind: "event.published", written: make(chan struct{}), release: make(chan struct{})}
	b.Log = held
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	pushed := make(chan error, 1)
	go func() {
		_, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in",
			[]decide.PushItem{{MessageID: "a", Title: "A", Payload: []byte(`{"id":"a"}`)}})
		pushed <- err
	}()
	<-held.written
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	for range 30 { // with a context that has ended, readiness wins against it by chance
		if e.WaitIdle(gaveUp) == nil {
			t.Fatal("idle while an event is being written")
		}
	}
	close(held.release)
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	e.Rest("orders")
	if full := b.FullFold("orders"); full.Event("order.in", "a").Status != eventlog.EventStatusConsumed {
		t.Errorf("at rest the event is %+v", full.Event("order.in", "a"))
	}
}
