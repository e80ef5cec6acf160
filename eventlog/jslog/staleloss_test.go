package jslog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// TestMarkOfAnInterruptedAcceptance: an acceptance is killed after the log knows that its last message is lost, and
// before the mark is replaced, which still names that message. A repeated acceptance leads out, also where the log
// takes that loss for one that every workflow has its record of.
func TestMarkOfAnInterruptedAcceptance(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]bool{"not recorded yet": false, "recorded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.fill(18, 100)
			mark, err := os.ReadFile(s.mark)
			if err != nil {
				t.Fatal(err)
			}
			change(t, last(s.blocks()), func(b []byte) []byte { b[len(b)-20] ^= 1; return b })
			server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
			nc := natstest.Connect(t, server)
			if lost, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil || len(lost.Lines) != 1 {
				t.Fatalf("accepted %+v, %v; want the last message", lost, err)
			}
			if recorded {
				l := mustOpen(t, nc, s.config())
				if err := errors.Join(l.Recorded(t.Context(), 0, false), l.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(s.mark, mark, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := jslog.Open(t.Context(), nc, s.config()); !errors.Is(err, eventlog.ErrDamaged) ||
				!strings.Contains(err.Error(), "message 18 is not the one that was acknowledged") {
				t.Fatalf("opened: %v", err)
			}
			if lost, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil || len(lost.Lines) != 1 {
				t.Errorf("accepted again: %+v, %v; want the last message", lost, err)
			}
			l, err := jslog.Open(t.Context(), nc, s.config())
			if err != nil {
				t.Fatalf("a dead end: %v", err)
			}
			if missing := l.Unrecorded(0); len(missing) != 1 || missing[0].From != 18 {
				t.Errorf("to be recorded: %+v, want message 18", missing)
			}
			s.append(l, 1, 100)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLossBehindTheEnd: a loss was accepted at the end, and the server gives its sequences out again. What stands there
// now is read like everything else.
func TestLossBehindTheEnd(t *testing.T) {
	t.Parallel()
	server := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, server)
	cfg := jslog.Config{Mark: filepath.Join(t.TempDir(), "mark")}
	s := site{t: t}
	l := mustOpen(t, nc, cfg)
	s.append(l, 3, 10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	reconfigure(t, nc, func(c *jetstream.StreamConfig) { c.Metadata["pawl.lost"] = "2,4-5" })
	l = mustOpen(t, nc, cfg)
	s.append(l, 1, 10)
	if got := logtest.ReadAll(t, l); len(got) != 4 || got[3].Position.Seq != 4 {
		t.Errorf("read %d records, want 4 with the last at 4", len(got))
	}
	if _, config := streamOf(t, nc, "PAWL_LOG_0"); config.Metadata["pawl.lost"] != "2" {
		t.Errorf("lost are %q, want 2 alone", config.Metadata["pawl.lost"])
	}
}

// TestLossNotWritten: what the log could not write down of a loss does not count in memory either.
func TestLossNotWritten(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	refusal := error(nil)
	l := mustOpen(t, nc, jslog.Config{BeforeUpdate: func(string) error { return refusal }})
	site{t: t}.append(l, 3, 10)
	before := l.Identity(0)
	refusal = errors.New("no room for a copy")
	if _, err := l.SetAside(t.Context(), 0, []eventlog.Aside{{Workflow: "a", From: 2, To: 3}}); !errors.Is(err, refusal) {
		t.Fatalf("set aside: %v", err)
	}
	if err := l.Recorded(t.Context(), 0, true); !errors.Is(err, refusal) {
		t.Fatalf("recorded: %v", err)
	}
	if l.Identity(0) != before || len(l.Asides(0)) > 0 || l.NamesLost(0) {
		t.Errorf("identity %s, want %s; set aside: %+v; names lost: %v", l.Identity(0), before, l.Asides(0), l.NamesLost(0))
	}
	refusal = nil
	if err := l.Recorded(t.Context(), 0, true); err != nil || !l.NamesLost(0) {
		t.Fatalf("recorded: %v, names lost: %v", err, l.NamesLost(0))
	}
	refusal = errors.New("no room for a copy")
	if err := l.ConfirmNames(t.Context(), 0); !errors.Is(err, refusal) || !l.NamesLost(0) {
		t.Errorf("confirmed: %v, names lost: %v", err, l.NamesLost(0))
	}
	refusal = nil
	if err := l.ConfirmNames(t.Context(), 0); err != nil || l.NamesLost(0) {
		t.Errorf("confirmed: %v, names lost: %v", err, l.NamesLost(0))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l = mustOpen(t, nc, jslog.Config{}); l.NamesLost(0) {
		t.Error("opened again, names are lost")
	}
}
