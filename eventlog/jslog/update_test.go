package jslog_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// Each update of a stream follows BeforeUpdate, and is not made after its error: a process that is killed in the
// update would lose the stream.
func TestBeforeUpdate(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	var before []string
	refusal := error(nil)
	l := mustOpen(t, nc, jslog.Config{BeforeUpdate: func(stream string) error {
		before = append(before, stream+" at "+formatOf(t, nc, stream))
		return refusal
	}})
	e, err := eventlog.NewEntry(eventlog.Transition{ID: "T", Workflow: eventlog.Installation, At: 1,
		Actor: eventlog.System, Kind: "token.revoked", Facts: []eventlog.Fact{&eventlog.TokenRevoked{Name: "ci"}}},
		eventlog.Head{})
	if err != nil {
		t.Fatal(err)
	}
	refusal = errors.New("no room for a copy")
	if _, err := l.Append(t.Context(), e); !errors.Is(err, refusal) || !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("raise the format: %v", err)
	}
	if _, err := l.SetAside(t.Context(), 0, nil); !errors.Is(err, refusal) {
		t.Errorf("set aside: %v", err)
	}
	refusal = nil
	if _, err := l.Append(t.Context(), e); err != nil {
		t.Errorf("raise the format: %v", err)
	}
	if _, err := l.SetAside(t.Context(), 0, nil); err != nil {
		t.Errorf("set aside: %v", err)
	}
	want := []string{"PAWL_LOG_0 at 1", "PAWL_LOG_0 at 1", "PAWL_LOG_0 at 1", "PAWL_LOG_0 at 2"}
	if !slices.Equal(before, want) {
		t.Errorf("before updates: %q, want %q", before, want)
	}
}

// A log that has no mark and whose stream is there, but not served, is not created anew. What is said of it tells
// whether accepting a loss leads on.
func TestUnserved(t *testing.T) {
	t.Parallel()
	for _, acceptable := range []bool{false, true} {
		nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
		why := errors.New("its metadata is torn")
		cfg := jslog.Config{Unserved: func(stream string) (error, bool) {
			if stream != "PAWL_LOG_0" {
				t.Errorf("asked for %s", stream)
			}
			return why, acceptable
		}}
		_, err := jslog.Open(t.Context(), nc, cfg)
		if !errors.Is(err, why) || !errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrGone) == acceptable {
			t.Errorf("open: %v", err)
		}
		if _, err := jslog.AcceptLoss(t.Context(), nc, cfg); !errors.Is(err, why) {
			t.Errorf("accept: %v", err)
		}
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Stream(t.Context(), "PAWL_LOG_0"); !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Errorf("it was made: %v", err)
		}
	}
}
