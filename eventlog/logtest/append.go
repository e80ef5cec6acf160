package logtest

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

func stale(t *testing.T, h Harness) {
	first := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	mustAppend(t, h.Log, Entry(t, "a", first))
	for _, head := range []eventlog.Head{{}, first} {
		_, err := h.Log.Append(within(t, deadline), Entry(t, "a", head))
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(err, eventlog.ErrConflict) {
			t.Fatalf("append on stale head %+v: %v", head, err)
		}
		if conflict.Workflow != "a" || conflict.Expected != head {
			t.Errorf("conflict says %+v", conflict)
		}
	}
	if n := len(ReadAll(t, h.Log)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	mustAppend(t, h.Log, Entry(t, "b", eventlog.Head{})) // others are not affected
}

func ahead(t *testing.T, h Harness) {
	head := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	head.Revision, head.Seq = 7, head.Seq+100
	if _, err := h.Log.Append(within(t, deadline), Entry(t, "a", head)); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("append on a head that the log lacks: %v, want ErrDamaged", err)
	}
	if n := len(ReadAll(t, h.Log)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func again(t *testing.T, h Harness) {
	e := Entry(t, "a", eventlog.Head{})
	first := mustAppend(t, h.Log, e)
	if got := mustAppend(t, h.Log, e); got != first {
		t.Errorf("the same entry again: %+v, want %+v", got, first)
	}
	after := mustAppend(t, h.Log, Entry(t, "a", first))
	if got := mustAppend(t, h.Log, e); got != first {
		t.Errorf("the same entry later: %+v, want %+v", got, first)
	}
	mustAppend(t, h.Log, Entry(t, "a", after))
	if n := len(ReadAll(t, h.Log)); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}

func lostAck(t *testing.T, h Harness) {
	head := eventlog.Head{}
	for range 3 {
		e := Entry(t, "a", head)
		unsettle(t, h, e)
		head = mustAppend(t, h.Log, e)
	}
	if all := ReadAll(t, h.Log); len(all) != 3 || all[2].Head() != head {
		t.Errorf("%d records, want 3 ending in %+v", len(all), head)
	}
}

// lostAndTaken: others go on behind a written entry before its writer learns of it.
func lostAndTaken(t *testing.T, h Harness) {
	e := Entry(t, "a", eventlog.Head{})
	unsettle(t, h, e)
	written := readWorkflow(t, h.Log, "a", 1)
	if len(written) != 1 {
		t.Fatalf("%d records, want 1", len(written))
	}
	mustAppend(t, h.Log, Entry(t, "a", written[0].Head()))
	if head := mustAppend(t, h.Log, e); head != written[0].Head() {
		t.Errorf("settled at %+v, want %+v", head, written[0].Head())
	}
}

// overtaken: an append whose acknowledgement is lost, and which the log settles, says whether others have
// gone on behind the entry meanwhile.
func overtaken(t *testing.T, h Harness) {
	first := mustWrite(t, h.Log, Entry(t, "a", eventlog.Head{}))
	e := Entry(t, "a", first.Head)
	unsettle(t, h, e)
	var head eventlog.Head
	for r, err := range h.Log.Watch(within(t, deadline), h.Log.PartitionOf("a"), first.Head.Seq+1) {
		if err != nil {
			t.Fatal(err)
		}
		head = r.Head()
		break
	}
	// The entry is in the log now. A first acknowledgement, which would not report Overtaken, cannot arrive any more.
	h.LoseAnswers(true)
	settled := make(chan eventlog.Written, 1)
	go func() {
		defer close(settled)
		for ctx := within(t, deadline); ; {
			written, err := h.Log.Append(ctx, e)
			switch {
			case err == nil:
				settled <- written
				return
			case !errors.Is(err, eventlog.ErrUnconfirmed) || ctx.Err() != nil:
				t.Errorf("append without an answer: %v", err)
				return
			}
			runtime.Gosched()
		}
	}()
	other := h.PutRaw("a", "workflow.paused", Entry(t, "a", head).Stored)
	h.LoseAnswers(false)
	if got := <-settled; got != (eventlog.Written{Head: head, Overtaken: true}) {
		t.Errorf("settled behind %s: %+v, want head %+v and that it was overtaken", other, got, head)
	}
	if got := mustWrite(t, h.Log, e); !got.Overtaken || got.Head != head {
		t.Errorf("the same entry again: %+v, want head %+v and that it was overtaken", got, head)
	}

	alone := Entry(t, "b", eventlog.Head{})
	unsettle(t, h, alone)
	if got := mustWrite(t, h.Log, alone); first.Overtaken || got.Overtaken {
		t.Errorf("overtaken by nothing: %+v, %+v", first, got)
	}
}

// lostConflict: an entry that was refused, without its writer learning of it, stays refused.
func lostConflict(t *testing.T, h Harness) {
	head := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	e := Entry(t, "a", eventlog.Head{})
	unsettle(t, h, e)
	for range 2 {
		if _, err := h.Log.Append(within(t, deadline), e); !errors.Is(err, eventlog.ErrConflict) {
			t.Errorf("settle a refused entry: %v, want ErrConflict", err)
		}
	}
	mustAppend(t, h.Log, Entry(t, "a", head))
}

func contextEnds(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := Entry(t, "a", eventlog.Head{})
	head, err := h.Log.Append(ctx, e)
	if err != nil && (!errors.Is(err, eventlog.ErrUnconfirmed) || !errors.Is(err, context.Canceled)) {
		t.Fatalf("append with an ended context: %v, want ErrUnconfirmed", err)
	}
	if settled := mustAppend(t, h.Log, e); err == nil && settled != head.Head {
		t.Errorf("settled at %+v, was acknowledged at %+v", settled, head.Head)
	}
	if n := len(ReadAll(t, h.Log)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	for _, err := range h.Log.Read(ctx, h.Log.PartitionOf("a"), 1) {
		if err == nil {
			t.Error("a read with an ended context went on")
		}
	}
	for _, err := range h.Log.Watch(ctx, h.Log.PartitionOf("a"), 1) {
		t.Errorf("a watch with an ended context yielded (%v)", err)
	}
}

func tooLarge(t *testing.T, h Harness) {
	if _, err := h.Log.Append(within(t, deadline), PaddedEntry(t, "a", eventlog.Head{}, h.Log.MaxSize())); !errors.Is(err,
		eventlog.ErrTooLarge) {
		t.Errorf("append more than MaxSize: %v, want ErrTooLarge", err)
	}
	if n := len(ReadAll(t, h.Log)); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

func largest(t *testing.T, h Harness) {
	small := len(PaddedEntry(t, "a", eventlog.Head{}, 1<<16).Stored) - 1<<16 // same length prefixes
	e := PaddedEntry(t, "a", eventlog.Head{}, h.Log.MaxSize()-small)
	if len(e.Stored) != h.Log.MaxSize() {
		t.Fatalf("entry has %d bytes, want %d", len(e.Stored), h.Log.MaxSize())
	}
	mustAppend(t, h.Log, e)
	if all := ReadAll(t, h.Log); len(all) != 1 || all[0].Size != len(e.Stored) {
		t.Errorf("read %d records", len(all))
	}
}
