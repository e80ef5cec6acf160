package jslog_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// TestBatchesThatCannotBeStaged: while the server cannot stage batches everything is written without them
// and attempts are rare; once it can again they come back.
func TestBatchesThatCannotBeStaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
	memory := filepath.Join(t.TempDir(), "memory")
	var asked atomic.Int64
	var mended atomic.Bool
	cfg := s.config()
	cfg.Stage = func(string) error {
		if mended.Load() {
			return os.MkdirAll(memory, 0o700)
		}
		if asked.Add(1) > 1 {
			return nil
		}
		return os.Symlink(memory, filepath.Join(s.streamDir(), "batches")) // which is not there
	}
	l := mustOpen(t, natstest.Connect(t, server), cfg)
	heads := make([]eventlog.Head, 24)
	appendEach := func(times int) {
		var all sync.WaitGroup
		for n := range heads {
			all.Go(func() {
				for range times {
					head, err := logtest.Head(l.Append(t.Context(), logtest.Entry(t, named(n), heads[n])))
					if err != nil {
						t.Error(err)
						return
					}
					heads[n] = head
				}
			})
		}
		all.Wait()
	}
	appendEach(100)
	if n, stats := asked.Load(), l.Stats(); n < 2 || n > 3 || stats.Publishes != 2400 || stats.Batches != 0 {
		t.Errorf("asked %d times to stage, want at the start and after 1 or 2 refusals; %+v", n, stats)
	}
	mended.Store(true)
	// The next attempt comes after at most 2000 more by themselves, finds that nothing is staged, and has the
	// memory made; the one after it comes 4000 later. 24 writers that all still write gather to a batch there.
	appendEach(300)
	if stats := l.Stats(); stats.Batches == 0 {
		t.Errorf("no batch since they can be staged again: %+v", stats)
	}
}
