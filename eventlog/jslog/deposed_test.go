package jslog_test

import (
	"context"
	"errors"
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
		patience time.Duration
		want     error
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
			l.BePatient(c.patience)
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
	if err := l.LookUp(ctx, nc, entry); err == nil || ctx.Err() != nil {
		t.Errorf("%v after %d questions", err, asked.Load())
	}
}
