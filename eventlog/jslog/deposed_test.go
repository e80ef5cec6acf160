package jslog_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// TestLackOfWhatAnEntryFollows: one server that lacks the transition before is damaged. A cluster's leader may have
// been deposed and answer from its past: the entry waits for the next one, and nothing ends.
func TestLackOfWhatAnEntryFollows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		maxElection time.Duration
		want        error
	}{
		"one server": {0, eventlog.ErrDamaged},
		"a cluster":  {time.Hour, eventlog.ErrUnconfirmed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := mustOpen(t, natstest.Connect(t, natstest.NewServer(t, natstest.Fast)), jslog.Config{})
			head, err := logtest.Head(l.Append(t.Context(), logtest.PaddedEntry(t, "a", eventlog.Head{}, 100)))
			if err != nil {
				t.Fatal(err)
			}
			l.SetMaxElection(c.maxElection)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tries := 0
			l.DropAnswers(func(eventlog.Entry) bool {
				if tries++; tries > jslog.MaxBehind+2 {
					cancel()
				}
				return false
			})
			head.Seq += 5 // of which this server knows nothing
			_, err = l.Append(ctx, logtest.PaddedEntry(t, "a", head, 100))
			if !errors.Is(err, c.want) || c.want != eventlog.ErrDamaged && errors.Is(err, eventlog.ErrDamaged) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A leader names the last message of a workflow, and the one that answers after it lacks that. The look-up of an entry
// ends and is made again later; it does not read the workflow's past again and again meanwhile.
func TestALookUpEndsAtALeaderThatLacksTheEnd(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, natstest.Connect(t, natstest.NewServer(t, natstest.Fast)), jslog.Config{})
	entry := logtest.PaddedEntry(t, "a", eventlog.Head{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	nc := answering(t, func(q question) *message {
		if asked.Add(1) > 100 {
			cancel()
		}
		if q.Last != "" {
			return &message{Subject: "pawl.log.0.a.x", Seq: 3, Data: []byte("three")}
		}
		return nil
	})
	if err := l.Through(nc, 0).LookUp(ctx, entry); err == nil || ctx.Err() != nil {
		t.Errorf("%v after %d questions", err, asked.Load())
	}
}

// A leader that was deposed lacks a message that is there. Neither a reading nor a look-up takes one answer for the
// truth; one server is believed at once.
func TestOneAnswerIsNoDamage(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, natstest.Connect(t, natstest.NewServer(t, natstest.Fast)), jslog.Config{})
	first := logtest.PaddedEntry(t, "a", eventlog.Head{}, 100)
	subject := "pawl.log.0.a." + string(first.Kind)
	lacking := func(t *testing.T, maxElection time.Duration) (reading *jslog.Log, asked *atomic.Int64) {
		asked = new(atomic.Int64)
		return l.Through(answering(t, func(q question) *message {
			switch {
			case q.Last != "", q.Next == "" && asked.Add(1) > 1:
				return &message{Subject: subject, Seq: 1, Data: first.Stored}
			}
			return nil
		}), maxElection), asked
	}
	for name, c := range map[string]struct {
		maxElection time.Duration
		whole       bool
	}{"a cluster": {time.Hour, true}, "one server": {0, false}} {
		t.Run("a look-up in "+name, func(t *testing.T) {
			t.Parallel()
			reading, asked := lacking(t, c.maxElection)
			if err := reading.LookUp(t.Context(), first); (err == nil) != c.whole {
				t.Errorf("%v, after %d questions", err, asked.Load())
			}
		})
	}
	t.Run("a reading in a cluster", func(t *testing.T) {
		t.Parallel()
		reading, _ := lacking(t, time.Hour)
		var read []eventlog.WorkflowName
		reading.Jump(t.Context(), 1, 2, func(r eventlog.Record, err error) bool {
			if err != nil {
				t.Error(err)
			}
			read = append(read, r.Workflow)
			return true
		})
		if !slices.Equal(read, []eventlog.WorkflowName{"a"}) {
			t.Errorf("read %q", read)
		}
	})
}
