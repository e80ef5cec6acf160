package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// record is the only way state changes: decide on the newest state, append at its head, apply.
// A write of another process means: catch up and decide again. The caller may go away at any moment: from
// the moment the decision is handed to the log it is the engine's, which sees it settled and does what
// follows. Errors: those of decide.Decide, eventlog.ErrTooLarge, eventlog.ErrFull, eventlog.ErrUnconfirmed;
// when ctx ends, its error, and ErrUnknownOutcome unless nothing was handed to the log.
func (a *aggregate) record(ctx context.Context, cmd decide.Command, actor eventlog.Actor,
	cause eventlog.Cause) (decide.Decision, error) {
	if err := a.beginRecording(ctx); err != nil {
		return decide.Decision{}, err
	}
	type answer struct {
		decision decide.Decision
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		defer a.engine.recordings.Done()
		decision, err := a.recordNow(ctx, cmd, actor, cause)
		a.endRecording()
		answered <- answer{decision, err}
	}()
	select {
	case a := <-answered:
		return a.decision, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answered:
		return a.decision, a.err
	default:
		return decide.Decision{}, fmt.Errorf("record on %s: %w: %w", a.name, ErrUnknownOutcome, ctx.Err())
	}
}

// beginRecording locks for a recording whose end the engine waits for. It refuses once the engine has ended.
func (a *aggregate) beginRecording(ctx context.Context) error {
	if err := a.lock(ctx); err != nil {
		return fmt.Errorf("record on %s: %w: %w", a.name, ErrNothingRecorded, err)
	}
	if !a.engine.recordings.Begin() {
		a.endRecording()
		return fmt.Errorf("record on %s: %w: the engine has ended: %w", a.name, ErrNothingRecorded, eventlog.ErrClosed)
	}
	return nil
}

// recordNow is record, under recording. Reading and writing go on when ctx ends; nothing new is handed to the
// log then.
func (a *aggregate) recordNow(ctx context.Context, cmd decide.Command, actor eventlog.Actor,
	cause eventlog.Cause) (decide.Decision, error) {
	life := a.engine.life
	switch err := a.finishAppend(life); { // what others have left
	case errors.Is(err, eventlog.ErrUnconfirmed), logUnwritable(err):
		return decide.Decision{}, fmt.Errorf("%w: %w", ErrNothingRecorded, err)
	case err != nil && !errors.Is(err, eventlog.ErrConflict):
		return decide.Decision{}, err
	}
	for {
		if a.behind.Load() {
			if err := a.catchUp(life); errors.Is(err, errStopped) {
				return decide.Decision{}, err
			} else if err != nil {
				return decide.Decision{}, fmt.Errorf("%w: %w", ErrNothingRecorded, err)
			}
		}
		if err := a.stoppedBy(); err != nil {
			return decide.Decision{}, fmt.Errorf("%w: %w", errStopped, err)
		}
		a.evict()
		s, known, err := a.loadHistory(cmd)
		if err != nil {
			return decide.Decision{}, err
		}
		env := a.env(&s, cmd, actor, cause)
		decision, err := a.engine.cfg.Decide(s, a.name, env, known, cmd)
		if err != nil {
			return decide.Decision{}, a.refused(err)
		}
		if decision.Empty() {
			return decision, nil
		}
		t := decision.Transition(a.name, env)
		t.ID = eventlog.TransitionID(a.engine.ids.Next(a.engine.cfg.Clock.Now()))
		entry, err := eventlog.NewEntry(t, s.Head)
		switch {
		case errors.Is(err, eventlog.ErrTooLarge):
			return decide.Decision{}, err
		case err != nil:
			return decide.Decision{}, fmt.Errorf("%w: %w", errDefect, err)
		}
		// The loss of a revocation must be noticed as well: the token would open the engine again.
		entry.Barrier = startsMutation(t.Facts) || a.name == eventlog.Installation
		if size, most := len(entry.Stored), a.engine.cfg.Log.MaxSize(); size > most {
			return decide.Decision{}, fmt.Errorf("%w: %s of %s would take %d bytes, at most %d fit", eventlog.ErrTooLarge,
				t.Kind, a.name, size, most)
		}
		if err := ctx.Err(); err != nil {
			return decide.Decision{}, fmt.Errorf("record on %s: %w: %w", a.name, ErrNothingRecorded, err)
		}
		a.memory.Hydrated(s) // hydrated: nothing else has changed
		a.pendingAppend = &pendingAppend{entry: entry, transition: t}
		if err := a.finishAppend(life); errors.Is(err, eventlog.ErrConflict) {
			continue
		} else if err != nil {
			return decision, err
		}
		a.warn(cmd, decision.Warnings)
		return decision, nil
	}
}

// lock keeps others from recording.
func (a *aggregate) lock(ctx context.Context) error {
	select {
	case a.recording <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endRecording ends a recording, and tells those that wait for rest: see quiet.
func (a *aggregate) endRecording() {
	<-a.recording
	a.engine.idle.Notify()
}

// refused passes a decision's refusals through and marks everything else as a defect.
func (a *aggregate) refused(err error) error {
	var refusal *decide.Refusal
	if errors.As(err, &refusal) || errors.Is(err, decide.ErrStale) || errors.Is(err, decide.ErrPrepareAgain) {
		return err
	}
	return fmt.Errorf("%w: %w", errDefect, err)
}

// loadHistory reads the history that the decision will look at.
func (a *aggregate) loadHistory(cmd decide.Command) (projections.State, decide.Known, error) {
	s := *a.state()
	known := decide.Known{}
	for {
		keys := decide.Names(&s, known, cmd)
		if len(keys) == 0 {
			return s, known, nil
		}
		rows, err := a.engine.cfg.Store.Get(a.name, keys)
		if err != nil {
			return s, nil, fmt.Errorf("read history of %s: %w", a.name, err)
		}
		for _, k := range keys {
			known[k] = true
		}
		s = s.Hydrate(rows...)
		a.memory.MayEvict(rows)
	}
}

func (a *aggregate) env(s *projections.State, cmd decide.Command, actor eventlog.Actor,
	cause eventlog.Cause) decide.Env {
	now := a.engine.cfg.Clock.Now()
	env := decide.Env{
		Now: eventlog.At(now), Engine: a.engine.name, Jitter: a.engine.cfg.Jitter(), Policies: a.engine.cfg.Policies,
		Run: eventlog.RunID(a.engine.ids.Next(now)), Session: eventlog.SessionID(a.engine.ids.Next(now)),
		Hold: a.held(), Actor: actor, Cause: cause, MostHeld: a.engine.cfg.Policies.Held.Max,
	}
	for range freePlaces(s) {
		env.Runs = append(env.Runs, eventlog.RunID(a.engine.ids.Next(now)))
	}
	if _, recovers := cmd.(decide.Recover); recovers {
		env.Unseen = a.outbox.unseenOf(s)
	}
	if resolves, ok := cmd.(decide.Resolve); ok {
		env.MayTakeEffect = a.outbox.mayTakeEffect(s, resolves.Mutation)
	}
	def, version := s.Definition(), s.Version
	if d, ok := cmd.(decide.Deploy); ok {
		if keeper, keeps := a.engine.cfg.Log.(eventlog.LossKeeper); keeps {
			env.NamesLost = keeper.NamesLost(a.partition)
		}
		def, version = &d.Definition, "deploying"
	}
	if len(def.Producers) == 0 {
		return env
	}
	if version != a.scheduled || version == "deploying" {
		a.schedules, a.scheduled = map[eventlog.Handler]schedule.Schedule{}, version
		for _, p := range def.Producers {
			parsed, err := schedule.Parse(p)
			if err != nil {
				a.log.Error("a deployed schedule cannot be read any more; the producer will not run by itself", "handler", p.Name,
					"error", err)
				continue
			}
			a.schedules[p.Name] = parsed
		}
	}
	env.NextDue = make(map[eventlog.Handler]eventlog.Instant, len(a.schedules))
	for name, parsed := range a.schedules {
		env.NextDue[name] = eventlog.At(parsed.Next(now))
	}
	return env
}

// mostBegun bounds the runs that one transition begins: what else is recorded shall not wait long for them.
const mostBegun = 32

// freePlaces is how many runs of concurrent consumers may begin with one transition.
func freePlaces(s *projections.State) (free int) {
	for _, c := range s.Definition().Consumers {
		if c.Concurrent() {
			free += c.Concurrency + 1 // what is recorded may end a run
			for range s.Active(c.Name) {
				free--
			}
		}
	}
	return max(0, min(free, mostBegun))
}

// warn writes into the run log what was ignored of what prepare returned: the author of the script reads it there.
func (a *aggregate) warn(cmd decide.Command, warnings []string) {
	prepared, ok := cmd.(decide.FinishPrepare)
	log := a.engine.cfg.RunLog
	if len(warnings) == 0 || !ok || log == nil {
		return
	}
	lines := make([]sandbox.LogLine, len(warnings))
	for i, text := range warnings {
		lines[i] = sandbox.LogLine{At: a.engine.cfg.Clock.Now(), Level: "warn", Text: "prepare: " + text}
	}
	log(a.name, prepared.Run, lines)
}
