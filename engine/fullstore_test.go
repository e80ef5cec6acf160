package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/projections/store/storetest"
)

// A local store that takes nothing more ends the engine, with the reason. The log still does: what is
// under way goes on to its end, nothing new begins, and the next engine goes on.
func TestFullStoreEndsTheEngineInPeace(t *testing.T) {
	t.Parallel()
	var full, under atomic.Bool
	disk := storetest.MemoryDisk(full.Load)
	b := enginetest.New(t)
	st, err := store.Open(store.Config{InMemory: true, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	b.Store, b.Config = st, engine.Config{FlushEvery: time.Hour} // the test flushes
	var e *enginetest.Engine
	push := func(id eventlog.MessageID) error {
		_, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in",
			[]decide.PushItem{{MessageID: id, Title: string(id), Payload: fmt.Appendf(nil, `{"id":%q}`, id)}})
		return err
	}
	pushed := []eventlog.MessageID{"a"}
	b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if under.Swap(true) {
			return b.World.Apply(call)
		}
		full.Store(true)
		for i := 0; ; i++ { // writes are not waited for, so the failure shows after some of them
			id := eventlog.MessageID(fmt.Sprintf("later%d", i))
			if err := push(id); err != nil {
				t.Errorf("a push while the log has room: %v", err)
			}
			pushed = append(pushed, id)
			if err := e.Flush(t.Context()); err != nil {
				if !errors.Is(err, store.ErrFailed) || !errors.Is(err, engine.ErrUnavailable) {
					t.Errorf("a read of a store without room: %v", err)
				}
				return b.World.Apply(call)
			}
		}
	})
	e = b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	if err := push("a"); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(); !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the engine ended with %v", err)
	}
	if got := len(b.World.Effects()); got != 1 {
		t.Errorf("%d calls, want only the one that was under way", got)
	}
	s := b.FullFold("orders")
	if event := s.Event("order.in", "a"); event == nil || event.Status != eventlog.EventStatusConsumed {
		t.Errorf("the call that was under way did not come to its end: %+v", event)
	}

	full.Store(false)
	if err := st.Close(); !errors.Is(err, store.ErrFailed) {
		t.Errorf("close of the failed store: %v", err)
	}
	if b.Store, err = store.Open(store.Config{InMemory: true, FS: disk}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Store.Close() })
	e = b.Start()
	e.Rest("orders")
	if got := len(b.World.Effects()); got != len(pushed) || len(b.World.Twice()) > 0 {
		t.Errorf("%d effects of %d events, twice %v", got, len(pushed), b.World.Twice())
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("orders")
}

// A store that fails while nothing happens, as in the background, ends the engine as well.
func TestStoreFailsAtRest(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	b := enginetest.New(t)
	st, err := store.Open(store.Config{InMemory: true, FS: storetest.MemoryDisk(full.Load)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b.Store, b.Config = st, engine.Config{FlushEvery: time.Hour}
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	full.Store(true)
	for err == nil { // the engine is not told of these
		err = st.Commit(store.Batch{Partition: 1, Checkpoint: store.Checkpoint{Seq: 1}})
	}
	if err := e.Wait(); !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the engine ended with %v", err)
	}
}
