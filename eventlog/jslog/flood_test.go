package jslog_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// TestAFloodOfSinglesLosesNoAnswers: however many wait, no more are sent at once than there is room for
// their answers.
func TestAFloodOfSinglesLosesNoAnswers(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	var slow atomic.Int64
	nc := natstest.Connect(t, s, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		slow.Add(1)
		t.Log(err)
	}))
	l := mustOpen(t, nc, jslog.Config{BatchFrom: 100_000, MaxBatch: 10})
	var all sync.WaitGroup
	entries := make([]eventlog.Entry, 4000)
	for n := range entries {
		entries[n] = logtest.Entry(t, named(n), eventlog.Head{})
	}
	for _, e := range entries {
		all.Go(func() {
			if _, err := l.Append(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if stats := l.Stats(); stats.Publishes != uint64(len(entries)) || slow.Load() > 0 {
		t.Errorf("%d publishes for %d appends", stats.Publishes, len(entries))
	}
}
