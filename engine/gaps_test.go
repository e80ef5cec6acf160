package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// observed makes the bench's next engine signal each transition that it has taken in.
func observed(b *enginetest.Harness) <-chan struct{} {
	changed := make(chan struct{}, 1)
	b.Config.Observe = func(eventlog.Record) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return changed
}

// What another engine has written to workflows that nothing has touched here does not hold the checkpoint:
// it is read, and the workflows go on from it.
func TestAnotherEnginesRecordsAreFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for real seconds")
	}
	t.Parallel()
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	log := memlog.New(memlog.Config{})
	b, other := enginetest.NewOn(t, log), enginetest.NewOn(t, log)
	changed := observed(b)
	e := b.Start()
	e.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, `"own"`, 1))
	e.Rest("own")

	other.World = b.World
	rival := other.Start()
	rival.MustDeploy(ordersWorkflow)
	rival.Rest("orders")
	mustOperate(rival, decide.Pause{}, "pause")
	rival.MustPush("orders", "order.in", "a", "b")
	rival.Rest("orders")
	if err := rival.Stop(); err != nil {
		t.Fatal(err)
	}

	e.MustPush("own", "order.in", "x", "y", "z")
	for {
		last, err := log.Last(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if e.ProcessedSeq(0) == last {
			break
		}
		select {
		case <-changed:
		case <-deadline.Done():
			t.Fatalf("reached is %d, the log ends at %d", e.ProcessedSeq(0), last)
		}
	}
	mustOperate(e, decide.Resume{}, "resume")
	s := e.Rest("orders")
	if s.Blocked != nil || len(b.World.Effects()) != 5 || len(b.World.Twice()) > 0 {
		t.Errorf("blocked %+v, effects %v", s.Blocked, b.World.Effects())
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := e.CheckpointLag(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("%d messages are not covered (%v)", n, err)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	b.MustAgree("orders")
	b.MustAgree("own")
}

// A message that belongs to no workflow is named, and the checkpoint does not pass it. Memory does not grow
// with what comes after it, and what another engine has written behind it is followed all the same.
func TestAForeignMessageIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for real seconds")
	}
	t.Parallel()
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	log := memlog.New(memlog.Config{})
	b, other := enginetest.NewOn(t, log), enginetest.NewOn(t, log)
	told := &lines{notified: make(chan struct{}, 1), sign: "belongs to no workflow"}
	b.Logger = slog.New(slog.NewTextHandler(told, nil))
	changed := observed(b)
	e, rival := b.Start(), other.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	foreign := log.PutRaw("", []byte("not a transition")).Seq
	e.MustPush("orders", "order.in", "a")
	rival.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, `"far"`, 1))
	if err := rival.Stop(); err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		e.MustPush("orders", "order.in", fmt.Sprintf("b%d", n))
	}
	select {
	case <-told.notified:
	case <-deadline.Done():
		t.Fatal("the message is not named")
	}
	for {
		if ahead, _ := e.Held(); ahead == 1 {
			if _, followed := e.State("far"); followed {
				break
			}
		}
		select {
		case <-changed:
		case <-deadline.Done():
			t.Fatal("what stands behind the foreign message is not followed")
		}
	}
	if s := e.Rest("orders"); s.Blocked != nil || len(b.World.Effects()) != 51 {
		t.Errorf("blocked %+v, %d effects", s.Blocked, len(b.World.Effects()))
	}
	e.Rest("far")
	if ahead, _ := e.Held(); ahead != 1 {
		t.Errorf("memory holds %d stretches beyond one message", ahead)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if cp, _, err := b.Store.Checkpoint(0); err != nil || cp.Seq != foreign-1 || e.ProcessedSeq(0) != foreign-1 {
		t.Errorf("the checkpoint is %d, reached is %d, the foreign message %d (%v)", cp.Seq, e.ProcessedSeq(0), foreign, err)
	}
}
