package memlog_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/logtest"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		logtest.Run(t, func(*testing.T) logtest.Harness {
			var losing atomic.Bool
			l := memlog.New(memlog.Config{Partitions: partitions, Fault: func(eventlog.Entry) memlog.Fault {
				if losing.Load() {
					return memlog.LostAck
				}
				return memlog.None
			}})
			return logtest.Harness{
				Log:         l,
				Second:      func() eventlog.Log { return l },
				LoseAnswers: losing.Store,
				PutRaw: func(w eventlog.WorkflowName, _ eventlog.FactType, b []byte) eventlog.Position {
					return l.PutRaw(w, b)
				},
			}
		})
	}
}

func TestFaults(t *testing.T) {
	fault := memlog.Refuse
	l := memlog.New(memlog.Config{Fault: func(eventlog.Entry) memlog.Fault { return fault }})
	last := func(want uint64) {
		t.Helper()
		if got, err := l.Last(t.Context(), 0); err != nil || got != want {
			t.Errorf("last is %d, %v; want %d", got, err, want)
		}
	}
	e := logtest.Entry(t, "a", eventlog.Head{})
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("Refuse: %v", err)
	}
	last(0)
	fault = memlog.Full
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrFull) || !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("Full after an attempt that may have been written: %v", err)
	}
	other := logtest.Entry(t, "b", eventlog.Head{})
	if _, err := l.Append(t.Context(), other); !errors.Is(err, eventlog.ErrFull) ||
		errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("Full: %v", err)
	}
	last(0)
	fault = memlog.LostAck
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("LostAck: %v", err)
	}
	last(1)
	fault = memlog.None
	if head, err := l.Append(t.Context(), e); err != nil || head.Seq != 1 {
		t.Errorf("settle: %+v, %v", head, err)
	}
	last(1)
}

func TestWatchInsideBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memlog.New(memlog.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range l.Watch(ctx, 0, 1) {
				seen++
			}
		}()
		synctest.Wait()
		if _, err := l.Append(ctx, logtest.Entry(t, "a", eventlog.Head{})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if seen != 1 {
			t.Errorf("watched %d, want 1", seen)
		}
		cancel()
		<-done
	})
}

// A message that is lost is passed over by every reader, and the log says where it was.
func TestLostMessages(t *testing.T) {
	l := memlog.New(memlog.Config{})
	if lost := l.Unrecorded(0); len(lost) > 0 {
		t.Errorf("%v is lost in an empty log", lost)
	}
	var head eventlog.Head
	for range 5 {
		written, err := l.Append(t.Context(), logtest.Entry(t, "a", head))
		if err != nil {
			t.Fatal(err)
		}
		head = written.Head
	}
	before := l.Identity(0)
	for _, seq := range []uint64{2, 4, 5} {
		l.Lose(eventlog.Position{Seq: seq})
	}
	want := []eventlog.Missing{{From: 2, To: 2}, {From: 4, To: 4}, {From: 5, To: 5}}
	if lost := l.Unrecorded(0); !slices.Equal(lost, want) {
		t.Errorf("lost: %v, want %v", lost, want)
	}
	if l.Identity(0) == before {
		t.Error("the log is the same as before")
	}
	var read []uint64
	for r, err := range l.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, r.Position.Seq)
	}
	if !slices.Equal(read, []uint64{1, 3}) {
		t.Errorf("read %v, want 1 and 3", read)
	}
	if _, err := l.Append(t.Context(), logtest.Entry(t, "a", head)); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("an append behind what is lost: %v, want ErrDamaged", err)
	}
}
