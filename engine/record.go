package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// errDefect marks a broken rule of ours: the workflow stops rather than guess.
var errDefect = errors.New("defect")

// errStopped is returned for a workflow that is out of service.
var errStopped = errors.New("workflow is stopped")

// unsettled is an append whose fate is not known: nothing else is appended before it is.
type unsettled struct {
	entry      eventlog.Entry
	transition eventlog.Transition
	tries      int
}

// record is the only way state changes: decide on the newest state, append at its head, apply.
// Someone else's write means: catch up and decide again. Errors: those of decide.Decide,
// eventlog.ErrTooLarge, eventlog.ErrFull, eventlog.ErrUnsettled, the context's.
func (w *worker) record(ctx context.Context, cmd decide.Command, actor eventlog.Actor, cause eventlog.Cause) (decide.Decision, error) {
	if err := w.lock(ctx); err != nil {
		return decide.Decision{}, fmt.Errorf("record on %s: %w", w.name, err)
	}
	defer w.recorded()
	if err := w.settleAppend(ctx); errors.Is(err, eventlog.ErrConflict) {
		// What an earlier call left unsettled was not written: someone else was first.
		if err := w.catchUp(ctx); err != nil {
			return decide.Decision{}, err
		}
	} else if err != nil {
		return decide.Decision{}, err
	}
	for {
		if err := w.stoppedBy(); err != nil {
			return decide.Decision{}, fmt.Errorf("%w: %w", errStopped, err)
		}
		w.evict()
		s, known, err := w.recall(cmd)
		if err != nil {
			return decide.Decision{}, err
		}
		env := w.env(&s, cmd, actor, cause)
		decision, err := w.engine.cfg.Decide(s, w.name, env, known, cmd)
		if err != nil {
			return decide.Decision{}, w.refused(err)
		}
		if decision.Empty() {
			return decision, nil
		}
		t := decision.Transition(w.name, env)
		t.ID = eventlog.TransitionID(w.engine.ids.next(w.engine.cfg.Clock.Now()))
		entry, err := eventlog.NewEntry(t, s.Head)
		if err != nil {
			return decide.Decision{}, fmt.Errorf("%w: %w", errDefect, err)
		}
		entry.Barrier = startsMutation(t.Facts) != nil
		if size, most := len(entry.Stored), w.engine.cfg.Log.MaxSize(); size > most {
			return decide.Decision{}, fmt.Errorf("%w: %s of %s would take %d bytes, at most %d fit", eventlog.ErrTooLarge, t.Kind, w.name, size, most)
		}
		w.current.Store(&s) // hydrated: nothing else has changed
		err = w.append(ctx, unsettled{entry: entry, transition: t})
		if errors.Is(err, eventlog.ErrConflict) {
			if err := w.catchUp(ctx); err != nil {
				return decide.Decision{}, err
			}
			continue
		}
		w.warn(cmd, decision.Warnings)
		return decision, err
	}
}

// lock begins a recording.
func (w *worker) lock(ctx context.Context) error {
	select {
	case w.recording <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recorded ends a recording, and tells who waits for rest: see quiet.
func (w *worker) recorded() {
	<-w.recording
	w.engine.idle.rested()
}

// refused passes a decision's refusals through and marks everything else as a defect.
func (w *worker) refused(err error) error {
	var refusal *decide.Refusal
	if errors.As(err, &refusal) || errors.Is(err, decide.ErrStale) || errors.Is(err, decide.ErrPrepareAgain) {
		return err
	}
	return fmt.Errorf("%w: %w", errDefect, err)
}

// recall reads the history that the decision will look at.
func (w *worker) recall(cmd decide.Command) (projections.State, decide.Known, error) {
	s := *w.state()
	known := decide.Known{}
	for {
		keys := decide.Names(&s, known, cmd)
		if len(keys) == 0 {
			return s, known, nil
		}
		rows, err := w.engine.cfg.Store.Get(w.name, keys)
		if err != nil {
			return s, nil, fmt.Errorf("read history of %s: %w", w.name, err)
		}
		for _, k := range keys {
			known[k] = true
		}
		s = s.Hydrate(rows...)
		w.mayEvict(rows)
	}
}

// append writes the entry. While its fate is unknown it stays in w.unsettled, and the next
// record settles it first, however long that takes (a lost acknowledgement is no failure).
func (w *worker) append(ctx context.Context, u unsettled) error {
	w.unsettled = &u
	return w.settleAppend(ctx)
}

func (w *worker) settleAppend(ctx context.Context) error {
	u := w.unsettled
	if u == nil {
		return nil
	}
	for {
		u.tries++
		began := time.Now()
		head, err := w.engine.cfg.Log.Append(ctx, u.entry)
		switch {
		case err == nil:
			w.engine.appends.observe(time.Since(began))
			w.unsettled = nil
			return w.landed(ctx, u, head)
		case errors.Is(err, eventlog.ErrUnsettled) && (errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrClosed)):
			return err // sending it again will not help this process; the next one finds out
		case errors.Is(err, eventlog.ErrUnsettled) && ctx.Err() == nil:
			w.log.Warn("append is not acknowledged yet; sending the same again", "kind", u.entry.Kind, "error", err)
			w.pause(ctx)
		case errors.Is(err, eventlog.ErrUnsettled):
			return err
		case errors.Is(err, eventlog.ErrConflict):
			w.unsettled = nil
			return err
		default:
			w.unsettled = nil // definitely not written
			return err
		}
	}
}

func (w *worker) pause(ctx context.Context) {
	fired, cancel := SystemClock{}.At(time.Now().Add(50 * time.Millisecond))
	defer cancel()
	select {
	case <-fired:
	case <-ctx.Done():
	}
}

// landed applies what the log has acknowledged and does what follows from it at once.
func (w *worker) landed(ctx context.Context, u *unsettled, head eventlog.Head) error {
	t := u.transition
	t.Revision, t.Prev = head.Revision, u.entry.Expected.Hash
	r := eventlog.Record{
		Position: eventlog.Position{Partition: w.part.number, Seq: head.Seq}, Hash: head.Hash,
		Size: len(u.entry.Stored), Transition: t,
	}
	if err := w.apply(r); err != nil {
		return err
	}
	if started := startsMutation(t.Facts); started != nil {
		// The barrier is passed: this is the workflow's last transition and it is ours. After an
		// acknowledgement that came late it need not be the last any more: another engine may have
		// taken the run for crashed, and a person may have said that nothing happened.
		m := w.state().Mutation(started.Mutation)
		overtaken := false
		if u.tries > 1 {
			err := w.catchUp(ctx)
			overtaken = err != nil || w.state().Head != head
		}
		w.send(m, overtaken)
	}
	w.nudge()
	return nil
}

// apply folds one record of the log into the state and notes what changed.
func (w *worker) apply(r eventlog.Record) error {
	s := *w.state()
	next, err := projections.Apply(s, r)
	if err != nil {
		w.stop(err)
		return err
	}
	w.mu.Lock()
	for _, k := range next.Touched {
		w.dirty[k] = struct{}{}
	}
	w.evictable = append(w.evictable, next.Parked...)
	w.current.Store(&next) // with the keys: a flush must not take them with the older state
	w.mu.Unlock()
	w.part.applied(w, r)
	if observe := w.engine.cfg.Observe; observe != nil {
		observe(r)
	}
	return nil
}

// catchUp reads what someone else wrote to the workflow. What was to be decided may be refused
// now, so the worker itself must look at the state again.
func (w *worker) catchUp(ctx context.Context) error {
	defer w.nudge()
	for r, err := range w.engine.cfg.Log.ReadWorkflow(ctx, w.name, w.state().Head.Seq+1) {
		if err != nil {
			return fmt.Errorf("catch up on %s: %w", w.name, err)
		}
		if err := w.replayRecord(r); err != nil {
			return err
		}
	}
	return nil
}

// replayRecord applies a record read from the log, with the history it needs.
func (w *worker) replayRecord(r eventlog.Record) error {
	if r.Position.Seq <= w.state().Head.Seq {
		w.part.applied(w, r) // the store has it already: its rows may be ahead of the checkpoint
		return nil
	}
	s := *w.state()
	asked := map[projections.Key]bool{}
	for {
		need := slices.DeleteFunc(projections.Needs(&s, r.Facts), func(k projections.Key) bool { return asked[k] })
		if len(need) == 0 {
			break
		}
		for _, k := range need {
			asked[k] = true
		}
		rows, err := w.engine.cfg.Store.Get(w.name, need)
		if err != nil {
			return fmt.Errorf("read history of %s: %w", w.name, err)
		}
		s = s.Hydrate(rows...)
		w.mayEvict(rows)
	}
	w.current.Store(&s)
	return w.apply(r)
}

// evict lets go of what a committed checkpoint holds: of finished entities altogether, of a long
// backlog's pending events but for their places. Under recording.
func (w *worker) evict() {
	if w.unsettled != nil {
		return // it will be applied to what was read for it, once it is known to be written
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.evictable) == 0 && !w.flushed {
		return
	}
	keys := slices.DeleteFunc(w.evictable, func(k projections.Key) bool { return !w.stored(k) })
	s := w.state().Evict(keys)
	if w.flushed { // before a flush, most of what could be paged out is not stored
		s = s.PageOut(w.engine.cfg.Window, w.stored)
	}
	w.current.Store(&s)
	w.evictable, w.flushed = nil, false
}

// stored reports whether the store has the entity as memory has it. Under w.mu.
func (w *worker) stored(k projections.Key) bool {
	_, changed := w.dirty[k]
	// A change on its way to the store is not there yet: who evicted it now would read the row
	// from before it, and decide on that.
	_, underWay := w.flushing[k]
	return !changed && !underWay
}

// mayEvict notes entities that came from the store.
func (w *worker) mayEvict(rows []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range rows {
		if k, ok := projections.KeyOf(row); ok {
			w.evictable = append(w.evictable, k)
		}
	}
}

func (w *worker) env(s *projections.State, cmd decide.Command, actor eventlog.Actor, cause eventlog.Cause) decide.Env {
	now := w.engine.cfg.Clock.Now()
	env := decide.Env{
		Now: eventlog.At(now), Engine: w.engine.name, Jitter: w.engine.cfg.Jitter(), Policies: w.engine.cfg.Policies,
		Run: eventlog.RunID(w.engine.ids.next(now)), Session: eventlog.SessionID(w.engine.ids.next(now)),
		Hold: w.engine.hold() != nil, Actor: actor, Cause: cause,
	}
	if _, recovers := cmd.(decide.Recover); recovers {
		env.Quiet = w.quietOf(s)
	}
	def, version := s.Definition(), s.Version
	if d, ok := cmd.(decide.Deploy); ok {
		def, version = &d.Definition, "deploying"
	}
	if len(def.Producers) == 0 {
		return env
	}
	if version != w.scheduled || version == "deploying" {
		w.schedules, w.scheduled = map[eventlog.Handler]schedule.Schedule{}, version
		for _, p := range def.Producers {
			parsed, err := schedule.Parse(p)
			if err != nil {
				w.log.Error("a deployed schedule cannot be read any more; the producer will not run by itself", "handler", p.Name, "error", err)
				continue
			}
			w.schedules[p.Name] = parsed
		}
	}
	env.NextDue = make(map[eventlog.Handler]eventlog.Instant, len(w.schedules))
	for name, parsed := range w.schedules {
		env.NextDue[name] = eventlog.At(parsed.Next(now))
	}
	return env
}

func startsMutation(facts []eventlog.Fact) *eventlog.MutationStarted {
	for _, f := range facts {
		if started, ok := f.(*eventlog.MutationStarted); ok {
			return started
		}
	}
	return nil
}
