package jslog_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// TestWhatWaitedBehindALostAnswerIsGivenUpOnToo: what is sent once the only one on its way was given up
// on has a deadline of its own, so a lost answer to it does not hold up the log for ever.
func TestWhatWaitedBehindALostAnswerIsGivenUpOnToo(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	l := mustOpen(t, natstest.Connect(t, s), jslog.Config{AckTimeout: 100 * time.Millisecond})
	var mu sync.Mutex
	lost := map[eventlog.Hash]bool{}
	sent := make(chan struct{}, 2)
	l.DropAnswers(func(e eventlog.Entry) bool { // the first of each
		mu.Lock()
		defer mu.Unlock()
		if lost[e.Hash()] {
			return false
		}
		lost[e.Hash()] = true
		sent <- struct{}{}
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all sync.WaitGroup
	entries := []eventlog.Entry{logtest.Entry(t, "w", eventlog.Head{}), logtest.Entry(t, "w", eventlog.Head{})}
	all.Go(func() {
		if _, err := l.Append(ctx, entries[0]); err != nil {
			t.Error(err)
		}
	})
	<-sent // the answer is lost, and the next one has to wait until that is noticed
	all.Go(func() {
		if _, err := l.Append(ctx, entries[1]); !errors.Is(err, eventlog.ErrConflict) {
			t.Errorf("the second of two entries for the same place: %v, want ErrConflict", err)
		}
	})
	all.Wait()
}
