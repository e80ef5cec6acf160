package jslog_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// as opens the log with a server that syncs every write, or says that it does not.
func (s site) as(unsynced bool) (*embeddednats.Server, *jslog.Log, error) {
	s.t.Helper()
	server := natstest.NewServer(s.t, natstest.InDir(s.dir), natstest.Fast)
	l, err := jslog.Open(s.t.Context(), natstest.Connect(s.t, server), jslog.Config{Mark: s.mark, Unsynced: unsynced,
		EmbeddedSync: !unsynced})
	if err == nil {
		s.t.Cleanup(func() { _ = l.Close() })
	}
	return server, l, err
}

// write appends n transitions and stops everything.
func (s site) write(unsynced bool, n, size int) {
	s.t.Helper()
	server, l, err := s.as(unsynced)
	if err != nil {
		s.t.Fatal(err)
	}
	s.append(l, n, size)
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	server.Shutdown()
}

func (s site) mustRefuse(unsynced bool, says string) {
	s.t.Helper()
	server, _, err := s.as(unsynced)
	defer server.Shutdown()
	if !errors.Is(err, eventlog.ErrDamaged) || !strings.Contains(err.Error(), says) {
		s.t.Errorf("opened, unsynced %v: %v, want ErrDamaged and %q", unsynced, err, says)
	}
}

// TestUnsyncedLogIsNotCreatedAnew: an empty log in the place of one that is gone would let everything
// happen again, however the writes were synced.
func TestUnsyncedLogIsNotCreatedAnew(t *testing.T) {
	t.Parallel()
	original := newSite(t)
	original.write(true, 3, 10)
	for name, gone := range map[string]func(site) string{
		"stream":      func(s site) string { return s.streamDir() },
		"description": func(s site) string { return filepath.Join(s.streamDir(), "meta.inf") },
		"store":       func(s site) string { return s.dir },
	} {
		t.Run(name, func(t *testing.T) {
			s := original.copy(t)
			remove(t, gone(s))
			for _, unsynced := range []bool{true, false, true} { // and the refusal changes nothing
				s.mustRefuse(unsynced, "PAWL_LOG_0 is gone")
			}
		})
	}
}

// TestUnsyncedLogLosesItsEnd: what was lost with the power is told, and is no damage.
func TestUnsyncedLogLosesItsEnd(t *testing.T) {
	t.Parallel()
	for _, index := range []bool{true, false} {
		s := newSite(t)
		s.write(true, 10, 100)
		if marked, err := jslog.Marked(s.mark); err != nil || marked != 0 {
			t.Errorf("the mark covers %d, %v: it promises what was not synced", marked, err)
		}
		change(t, last(s.blocks()), func(b []byte) []byte { return b[:len(b)-7] })
		if !index {
			remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
		}
		server, l, err := s.as(true)
		if err != nil {
			t.Fatalf("index %v: %v", index, err)
		}
		if w := l.Warnings(); len(w) != 1 || !strings.Contains(w[0], "not synced") {
			t.Errorf("index %v: warnings %q, want one of the lost end", index, w)
		}
		s.append(l, 1, 100)
		_ = l.Close()
		server.Shutdown()
	}
}

// TestUnsyncedLogWithAHole: a hole may hide the last transition of any workflow, so it is refused, also by
// the first start that syncs again.
func TestUnsyncedLogWithAHole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write(true, 18, 1<<20)
	remove(t, s.blocks()[1])
	remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
	for _, unsynced := range []bool{true, false, true} {
		s.mustRefuse(unsynced, "lacks the messages")
	}
}

// TestSyncedPartStaysMarked: what was acknowledged while every write was synced is expected for ever.
func TestSyncedPartStaysMarked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write(false, 10, 100)
	s.write(true, 1, 100)
	if marked, err := jslog.Marked(s.mark); err != nil || marked != 10 {
		t.Fatalf("the mark covers %d, %v, want 10", marked, err)
	}
	change(t, last(s.blocks()), func(b []byte) []byte { return b[:len(b)/2] })
	remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
	s.mustRefuse(true, "acknowledged up to 10")

	again := newSite(t)
	again.write(true, 10, 100)
	again.write(false, 1, 100)
	if marked, err := jslog.Marked(again.mark); err != nil || marked != 11 {
		t.Errorf("the mark covers %d, %v, want 11: writes are synced again", marked, err)
	}
}
