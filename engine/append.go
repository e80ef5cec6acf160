package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// finishAppend appends what is on its way until its fate is known, however long that takes: a lost acknowledgement is
// no failure. It returns how many entries are written, and the error of the first entry that is not. What follows from
// the written entries is done before it returns, once the fate of all is known. ErrConflict: not written, another
// writer was first. It gives up when ctx ends, or when the log takes nothing any more: then the engine ends, and the
// next engine finds out.
func (a *aggregate) finishAppend(ctx context.Context) (int, error) {
	u := a.pendingAppend
	if u == nil {
		return 0, nil
	}
	trying := schedule.Pacer{Pauses: process.ResendPauses}
	for {
		began := time.Now()
		written, err := a.appendGroup(ctx, u.unwritten())
		u.written = append(u.written, written...)
		switch {
		case err == nil:
			a.engine.Appends.Observe(time.Since(began))
			a.pendingAppend = nil
			return a.acknowledged(ctx, u, written[len(written)-1].Overtaken)
		case !errors.Is(err, eventlog.ErrUnconfirmed):
			a.pendingAppend = nil // definitely not written, from here on
			n, applyErr := 0, error(nil)
			if len(u.written) > 0 {
				n, applyErr = a.acknowledged(ctx, u, true)
			}
			if errors.Is(err, eventlog.ErrConflict) {
				a.behind.Store(true)
			}
			if errors.Is(err, eventlog.ErrDamaged) { // the record before this one is lost, for this workflow alone
				a.stop(err)
				return n, fmt.Errorf("%w: %w", process.ErrStopped, err)
			}
			a.cannotWrite(err)
			if applyErr != nil {
				err = applyErr
			}
			return n, err
		case ctx.Err() != nil, process.LogUnwritable(err):
			a.cannotWrite(err)
			return 0, err
		}
		if len(written) > 0 {
			trying.Succeeded() // the log takes something
		}
		pause, shouldLog := trying.Failed(err)
		if shouldLog {
			a.log.Warn("append is not acknowledged yet; sending the same again", "kind", u.unwritten()[0].Kind,
				"error", err, "in", pause)
		}
		clock.Sleep(ctx, pause)
	}
}

func (a *aggregate) appendGroup(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	if group, ok := a.engine.Config.Log.(eventlog.GroupLog); ok {
		return group.AppendGroup(ctx, entries)
	}
	return eventlog.AppendInOrder(ctx, a.engine.Config.Log, entries)
}

// cannotWrite ends the engine if the log takes nothing any more.
func (a *aggregate) cannotWrite(err error) {
	if process.LogUnwritable(err) {
		a.engine.Fail(err)
	}
}

// acknowledged applies what the log has acknowledged and does what follows from it at once. It returns how many
// entries it has applied.
func (a *aggregate) acknowledged(ctx context.Context, u *pendingAppend, overtaken bool) (int, error) {
	defer a.nudge()
	for i, w := range u.written {
		r := u.record(i, a.partition, w.Seq)
		if err := a.apply(r, u.folded[i]); err != nil {
			a.stopAt(r, err)
			return i, err
		}
	}
	for i := range u.written {
		for id := range mutationsToSend(u.transitions[i].Facts) {
			// The barrier is passed: these are the workflow's last transitions and they are ours. After an
			// acknowledgement that came late they need not be the last any more: another engine may have
			// taken the run for crashed, and a person may have said that nothing happened.
			a.calls.send(a.state().Mutation(id), u.decided, overtaken)
		}
	}
	if overtaken {
		a.behind.Store(true)
		if err := a.catchUp(ctx); err != nil {
			a.log.Warn("others have written to the workflow, and that cannot be read yet; trying again", "error", err)
		}
	}
	return len(u.written), nil
}

// mutationsToSend yields the mutations whose call the facts let leave: for the first time, or once more to find out
// what became of it. They are several where approved ones have got their places (C3).
func mutationsToSend(facts []eventlog.Fact) iter.Seq[eventlog.MutationID] {
	return func(yield func(eventlog.MutationID) bool) {
		for _, f := range facts {
			var id eventlog.MutationID
			switch f := f.(type) {
			case *eventlog.MutationStarted:
				id = f.Mutation
			case *eventlog.MutationResent:
				id = f.Mutation
			default:
				continue
			}
			if !yield(id) {
				return
			}
		}
	}
}

func startsCall(facts []eventlog.Fact) bool {
	for range mutationsToSend(facts) {
		return true
	}
	return false
}

// entry encodes a transition that is decided on that head.
func (a *aggregate) entry(t eventlog.Transition, head eventlog.Head) (eventlog.Entry, error) {
	t.ID = eventlog.TransitionID(a.engine.IDs.Next(a.engine.Config.Clock.Now()))
	entry, err := eventlog.NewEntry(t, head)
	switch {
	case errors.Is(err, eventlog.ErrTooLarge):
		return entry, err
	case err != nil:
		return entry, fmt.Errorf("%w: %w", process.ErrDefect, err)
	}
	// The loss of a revocation must be noticed as well: the token would open the engine again.
	entry.Barrier = startsCall(t.Facts) || a.name == eventlog.Installation
	if size, most := len(entry.Stored), a.engine.Config.Log.MaxSize(); size > most {
		return entry, fmt.Errorf("%w: %s of %s would take %d bytes, at most %d fit", eventlog.ErrTooLarge,
			t.Kind, a.name, size, most)
	}
	return entry, nil
}
