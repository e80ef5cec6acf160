package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// appendAnswer is what happens to one attempt to append.
type appendAnswer struct {
	fault memlog.Fault
	// insist: the log settles an attempt of which it does not know how it ended by itself, and tells the
	// engine nothing before. Otherwise the engine is told that it is not settled.
	insist bool
	// slow parks again once it is written: others go on before the engine knows.
	slow bool
	// die ends the process here: before it is written, or with written after.
	die, written bool
}

// nodeLog is the log as one engine sees it.
type nodeLog struct {
	eventlog.Log
	sim  *sim
	node *node
}

// Append implements eventlog.Log.
func (l *nodeLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	for {
		written, err, again := l.attempt(ctx, e)
		if !again {
			return written, err
		}
	}
}

// attempt makes one attempt; again says that the log makes another one by itself.
func (l *nodeLog) attempt(ctx context.Context, e eventlog.Entry) (written eventlog.Written, err error, again bool) {
	answer, err := l.sim.gate.park(ctx, &op{node: l.node, workflow: e.Workflow, kind: opAppend, entry: e})
	switch {
	case errors.Is(err, errOver):
		return written, eventlog.ErrClosed, false
	case err != nil: // its sender gave up: for all it knows it may be written
		return written, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, err), false
	}
	todo := answer.(appendAnswer)
	if todo.die {
		if todo.written {
			_, _ = l.Log.Append(context.WithoutCancel(ctx), e) // the dead never learn how it ended
		}
		<-l.sim.gate.over
		return written, eventlog.ErrClosed, false
	}
	l.sim.writers.Store(e.ID, l.node)
	l.sim.faults.Store(e.ID, todo.fault)
	written, err = l.Log.Append(context.WithoutCancel(ctx), e)
	if todo.slow {
		_, gone := l.sim.gate.park(ctx, &op{node: l.node, workflow: e.Workflow, kind: opAck, entry: e})
		switch {
		case errors.Is(gone, errOver):
			return eventlog.Written{}, eventlog.ErrClosed, false
		case gone != nil:
			l.sim.doubtful.Store(e.ID, true)
			return eventlog.Written{}, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, gone), false
		}
	}
	if errors.Is(err, eventlog.ErrUnconfirmed) && todo.insist {
		return eventlog.Written{}, nil, true
	}
	if _, doubt := l.sim.doubtful.Load(e.ID); doubt && err != nil && !errors.Is(err, eventlog.ErrConflict) {
		// A refusal of this try says nothing about an earlier one.
		err = fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, err)
	}
	return written, err, false
}

// Close does nothing: the log outlives the engines.
func (l *nodeLog) Close() error { return nil }

// fault is what the memory log asks before each append.
func (s *sim) fault(e eventlog.Entry) memlog.Fault {
	if fault, ok := s.faults.LoadAndDelete(e.ID); ok {
		return fault.(memlog.Fault)
	}
	return memlog.None
}
