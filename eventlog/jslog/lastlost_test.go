package jslog_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// lastLost is a log in which the last record of workflow "a" cannot be read, and the head before it. A record of
// "b" stands behind it.
func lastLost(t *testing.T) (s site, before, lost eventlog.Head) {
	t.Helper()
	s = newSite(t)
	server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
	l := mustOpen(t, natstest.Connect(t, server), s.config())
	before = s.append(l, 2, 100)
	e := logtest.PaddedEntry(t, "a", before, 100)
	lost, err := logtest.Head(l.Append(t.Context(), e))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), logtest.PaddedEntry(t, "b", eventlog.Head{}, 100)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server.Shutdown()
	s.flip(e)
	return s, before, lost
}

// flip makes the entry's record unreadable.
func (s site) flip(e eventlog.Entry) {
	s.t.Helper()
	change(s.t, last(s.blocks()), func(b []byte) []byte {
		at := bytes.Index(b, []byte(e.ID))
		if at < 0 {
			s.t.Fatal("the record is not in the block")
		}
		b[at] ^= 1
		return b
	})
}

// TestAppendAfterALostRecord: where a workflow's last record is lost, the server cannot tell any more which message
// of it is the last. Once the loss is accepted, the next transition follows what is left, and only one does.
func TestAppendAfterALostRecord(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"acknowledged": true, "the acknowledgement is lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, head, _ := lastLost(t)
			server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
			nc := natstest.Connect(t, server)
			lost, err := jslog.AcceptLoss(t.Context(), nc, s.config())
			if err != nil || len(lost.Lines) != 1 || !strings.HasSuffix(lost.Lines[0], "messages 3") {
				t.Fatalf("accepted %+v, %v; want message 3", lost, err)
			}
			l := mustOpen(t, nc, s.config())
			other := mustOpen(t, natstest.Connect(t, server), jslog.Config{})
			e := logtest.PaddedEntry(t, "a", head, 100)
			written := atomic.Bool{}
			l.DropAnswers(func(eventlog.Entry) bool {
				// Once the entry stands in the log, one answer is lost.
				at, err := l.Last(t.Context(), 0)
				return !answers && err == nil && at == 5 && !written.Swap(true)
			})
			got, err := l.Append(t.Context(), e)
			if err != nil || got.Seq != 5 || got.Overtaken {
				t.Fatalf("the transition after it: %+v, %v; want it at 5", got, err)
			}
			if !answers && !written.Load() {
				t.Fatal("no answer was lost")
			}
			if _, err := other.Append(t.Context(), logtest.PaddedEntry(t, "a", head, 100)); !errors.Is(err,
				eventlog.ErrConflict) {
				t.Errorf("another one after the same head: %v, want ErrConflict", err)
			}
			if _, err := l.Append(t.Context(), logtest.PaddedEntry(t, "a", got.Head, 100)); err != nil {
				t.Errorf("the next transition: %v", err)
			}
			if got, want := names(t, l), "a1 a2 b1 a3 a4"; got != want {
				t.Errorf("read %q, want %q", got, want)
			}
			logtest.ReadAll(t, l)
		})
	}
}

// TestLostRecordIsNotPassedOver: a transition is not written behind a record that cannot be read and whose loss was
// not accepted, nor behind a readable one, nor by a log that still follows what is lost.
func TestLostRecordIsNotPassedOver(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: servers start again and again")
	}
	t.Parallel()
	s, before, lost := lastLost(t)
	server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
	nc := natstest.Connect(t, server)
	l := mustOpen(t, nc, s.config())
	refused := func(l *jslog.Log, what string, head eventlog.Head) {
		t.Helper()
		if _, err := l.Append(t.Context(), logtest.PaddedEntry(t, "a", head, 100)); !errors.Is(err, eventlog.ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
	}
	refused(l, "what follows the record before it", before)
	refused(l, "what follows the record", lost)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, nc, s.config())
	refused(l, "what follows the record whose loss is accepted", lost)
	other := before
	other.Hash = lost.Hash
	refused(l, "what follows another record", other)
	head, err := logtest.Head(l.Append(t.Context(), logtest.PaddedEntry(t, "a", before, 100)))
	if err != nil {
		t.Fatal(err)
	}
	e := logtest.PaddedEntry(t, "a", head, 100)
	if _, err := l.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server.Shutdown()
	s.flip(e)
	server = natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
	nc = natstest.Connect(t, server)
	if _, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, nc, s.config())
	refused(l, "what follows a record that has a successor", before)
	if got, want := names(t, l), "a1 a2 b1 a3"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}
