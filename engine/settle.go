package engine

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// unsettled is an append whose fate is not known: nothing else is appended before it is.
type unsettled struct {
	entry      eventlog.Entry
	transition eventlog.Transition
}

// settleAppend appends what is not settled until it is, however long that takes: a lost acknowledgement is
// no failure. What follows from an entry that is written is done before it returns. ErrConflict: it was not
// written, someone else was first. It gives up when ctx ends, or when the log takes nothing any more: then
// the engine ends, and the next one finds out.
func (w *worker) settleAppend(ctx context.Context) error {
	u := w.unsettled
	if u == nil {
		return nil
	}
	trying := retry{pauses: resending}
	for {
		began := time.Now()
		written, err := w.engine.cfg.Log.Append(ctx, u.entry)
		switch {
		case err == nil:
			w.engine.appends.observe(time.Since(began))
			w.unsettled = nil
			return w.landed(ctx, u, written)
		case !errors.Is(err, eventlog.ErrUnsettled):
			w.unsettled = nil // definitely not written
			if errors.Is(err, eventlog.ErrConflict) {
				w.behind.Store(true)
			}
			w.cannotWrite(err)
			return err
		case ctx.Err() != nil, takesNothing(err):
			w.cannotWrite(err)
			return err
		}
		pause, tell := trying.failed(err)
		if tell {
			w.log.Warn("append is not acknowledged yet; sending the same again", "kind", u.entry.Kind, "error", err, "in", pause)
		}
		wait(ctx, pause)
	}
}

// takesNothing says that the log will not take anything from this process any more.
func takesNothing(err error) bool {
	return errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrClosed)
}

// cannotWrite ends the engine if the log takes nothing any more.
func (w *worker) cannotWrite(err error) {
	if takesNothing(err) {
		w.engine.fail(err)
	}
}

// landed applies what the log has acknowledged and does what follows from it at once.
func (w *worker) landed(ctx context.Context, u *unsettled, written eventlog.Written) error {
	defer w.nudge()
	t := u.transition
	t.Revision, t.Prev = written.Revision, u.entry.Expected.Hash
	r := eventlog.Record{
		Position: eventlog.Position{Partition: w.part.number, Seq: written.Seq}, Hash: written.Hash,
		Size: len(u.entry.Stored), Transition: t,
	}
	if err := w.apply(r); err != nil {
		return err
	}
	if started := startsMutation(t.Facts); started != nil {
		// The barrier is passed: this is the workflow's last transition and it is ours. After an
		// acknowledgement that came late it need not be the last any more: another engine may have
		// taken the run for crashed, and a person may have said that nothing happened.
		w.send(w.state().Mutation(started.Mutation), written.Overtaken)
	}
	if written.Overtaken {
		w.behind.Store(true)
		if err := w.catchUp(ctx); err != nil {
			w.log.Warn("others have written to the workflow, and that cannot be read yet; trying again", "error", err)
		}
	}
	return nil
}

func startsMutation(facts []eventlog.Fact) *eventlog.MutationStarted {
	for _, f := range facts {
		if started, ok := f.(*eventlog.MutationStarted); ok {
			return started
		}
	}
	return nil
}
