package memlog_test

import (
	"context"
	"errors"
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
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrUnsettled) {
		t.Errorf("Refuse: %v", err)
	}
	last(0)
	fault = memlog.Full
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrFull) || !errors.Is(err, eventlog.ErrUnsettled) {
		t.Errorf("Full after an attempt that may have been written: %v", err)
	}
	other := logtest.Entry(t, "b", eventlog.Head{})
	if _, err := l.Append(t.Context(), other); !errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrUnsettled) {
		t.Errorf("Full: %v", err)
	}
	last(0)
	fault = memlog.LostAck
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrUnsettled) {
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
