package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// pendingAppend is an append whose fate is not known: nothing else is appended before it is.
type pendingAppend struct {
	entry      eventlog.Entry
	transition eventlog.Transition
}

// finishAppend appends what is on its way until its fate is known, however long that takes: a lost acknowledgement is
// no failure. What follows from an entry that is written is done before it returns. ErrConflict: it was not
// written, another writer was first. It gives up when ctx ends, or when the log takes nothing any more: then
// the engine ends, and the next one finds out.
func (a *aggregate) finishAppend(ctx context.Context) error {
	u := a.pendingAppend
	if u == nil {
		return nil
	}
	trying := schedule.Pacer{Pauses: resendPauses}
	for {
		began := time.Now()
		written, err := a.engine.cfg.Log.Append(ctx, u.entry)
		switch {
		case err == nil:
			a.engine.appends.observe(time.Since(began))
			a.pendingAppend = nil
			return a.acknowledged(ctx, u, written)
		case !errors.Is(err, eventlog.ErrUnconfirmed):
			a.pendingAppend = nil // definitely not written
			if errors.Is(err, eventlog.ErrConflict) {
				a.behind.Store(true)
			}
			if errors.Is(err, eventlog.ErrDamaged) { // what this workflow's next record follows is lost: the others have theirs
				a.stop(err)
				return fmt.Errorf("%w: %w", errStopped, err)
			}
			a.cannotWrite(err)
			return err
		case ctx.Err() != nil, logUnwritable(err):
			a.cannotWrite(err)
			return err
		}
		pause, shouldLog := trying.Failed(err)
		if shouldLog {
			a.log.Warn("append is not acknowledged yet; sending the same again", "kind", u.entry.Kind, "error", err, "in", pause)
		}
		clock.Sleep(ctx, pause)
	}
}

// cannotWrite ends the engine if the log takes nothing any more.
func (a *aggregate) cannotWrite(err error) {
	if logUnwritable(err) {
		a.engine.fail(err)
	}
}

// acknowledged applies what the log has acknowledged and does what follows from it at once.
func (a *aggregate) acknowledged(ctx context.Context, u *pendingAppend, written eventlog.Written) error {
	defer a.nudge()
	t := u.transition
	t.Revision, t.Prev = written.Revision, u.entry.Expected.Hash
	r := eventlog.Record{
		Position: eventlog.Position{Partition: a.partition, Seq: written.Seq}, Hash: written.Hash,
		Size: len(u.entry.Stored), Transition: t,
	}
	if err := a.apply(r); err != nil {
		return err
	}
	for started := range mutationsStarted(t.Facts) {
		// The barrier is passed: this is the workflow's last transition and it is ours. After an
		// acknowledgement that came late it need not be the last any more: another engine may have
		// taken the run for crashed, and a person may have said that nothing happened.
		a.outbox.send(a.state().Mutation(started), written.Overtaken)
	}
	if written.Overtaken {
		a.behind.Store(true)
		if err := a.catchUp(ctx); err != nil {
			a.log.Warn("others have written to the workflow, and that cannot be read yet; trying again", "error", err)
		}
	}
	return nil
}

// mutationsStarted yields the mutations that the facts start: several, where approved ones have got their places (C3).
func mutationsStarted(facts []eventlog.Fact) iter.Seq[eventlog.MutationID] {
	return func(yield func(eventlog.MutationID) bool) {
		for _, f := range facts {
			if started, ok := f.(*eventlog.MutationStarted); ok && !yield(started.Mutation) {
				return
			}
		}
	}
}

func startsMutation(facts []eventlog.Fact) bool {
	for range mutationsStarted(facts) {
		return true
	}
	return false
}
