package engine

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// C10: no answer counts before all that it was decided on is acknowledged.
func TestC10_AnswersWaitForWhatTheyFollow(t *testing.T) {
	t.Parallel()
	refusal := &decide.Refusal{Code: "no"}
	// An entry, an answer without one, an entry, a refusal, an entry.
	group := func() []*proposal {
		return []*proposal{
			{isEntry: true, before: 0, cmd: decide.Tick{}}, {before: 1}, {isEntry: true, before: 1, cmd: decide.Tick{}},
			{before: 2, err: refusal}, {isEntry: true, before: 2, cmd: decide.Tick{}},
		}
	}
	unconfirmed, broken := eventlog.ErrUnconfirmed, projections.ErrBroken
	for name, c := range map[string]struct {
		written int
		err     error
		settled int
		want    []error // of the settled ones
	}{
		"all written":     {3, nil, 5, []error{nil, nil, nil, refusal, nil}},
		"none, conflict":  {0, eventlog.ErrConflict, 0, nil},
		"one, conflict":   {1, eventlog.ErrConflict, 2, []error{nil, nil}},
		"two, conflict":   {2, eventlog.ErrConflict, 4, []error{nil, nil, nil, refusal}},
		"none, too large": {0, eventlog.ErrTooLarge, 1, []error{eventlog.ErrTooLarge}},
		"one, too large":  {1, eventlog.ErrTooLarge, 3, []error{nil, nil, eventlog.ErrTooLarge}},
		"not known": {0, unconfirmed, 5, []error{unconfirmed, ErrNothingRecorded, unconfirmed, ErrNothingRecorded,
			unconfirmed}},
		"full":   {1, eventlog.ErrFull, 5, []error{nil, nil, eventlog.ErrFull, ErrNothingRecorded, eventlog.ErrFull}},
		"broken": {1, broken, 5, []error{nil, nil, broken, ErrNothingRecorded, broken}},
	} {
		a := &aggregate{engine: &process.Process{}, log: slog.New(slog.DiscardHandler)}
		decided := group()
		if got := a.settled(decided, c.written, c.err); got != c.settled {
			t.Errorf("%s: %d are settled, want %d", name, got, c.settled)
			continue
		}
		for i, want := range c.want {
			if got := decided[i].err; !errors.Is(got, want) || want == nil && got != nil {
				t.Errorf("%s: proposal %d is answered with %v, want %v", name, i, got, want)
			}
		}
	}
}

// Commands that look at more than the state are never decided on what is not acknowledged yet.
func TestC10_WhatSharesAGroup(t *testing.T) {
	t.Parallel()
	var q proposals
	for _, cmd := range []decide.Command{decide.Tick{}, decide.Push{}, decide.Recover{}, decide.CommitRun{},
		decide.SettleMutation{}, decide.Tick{}, decide.Deploy{}, decide.Deploy{}} {
		q.add(&proposal{cmd: cmd})
	}
	for i, want := range []int{2, 1, 2, 1, 1, 1, 0} {
		if got := len(q.take(2)); got != want {
			t.Errorf("group %d has %d commands, want %d", i, got, want)
		}
	}
	if p := (&proposal{}); q.withdraw(p) {
		t.Error("what does not wait was withdrawn")
	}
}
