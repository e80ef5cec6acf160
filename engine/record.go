package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// record is the only way state changes: decide on the newest state, append at its head, apply. What waits together is
// written together, each decided on the state that the one before leaves (C10). A write of another process means: catch
// up and decide again. After the decision is handed to the log, the engine finishes it and does what follows, even if
// the caller leaves. Errors: those of decide.Decide, eventlog.ErrTooLarge, eventlog.ErrFull, eventlog.ErrUnconfirmed.
// When ctx ends: its error, with ErrNothingRecorded while the command still waited, with ErrUnknownOutcome once it was
// taken.
func (a *aggregate) record(ctx context.Context, cmd decide.Command, actor eventlog.Actor,
	cause eventlog.Cause) (decide.Decision, error) {
	if !a.engine.Decisions.Begin() {
		return decide.Decision{}, a.nothingRecorded(errEnded)
	}
	p := &proposal{ctx: ctx, cmd: cmd, actor: actor, cause: cause, answered: make(chan struct{}),
		withdrawn: make(chan struct{})}
	a.proposals.add(p)
	a.engine.Goroutines.Go(a.engine.Life, func() { a.recordWaiting(p) })
	select {
	case <-p.answered:
		return p.decision, p.err
	case <-ctx.Done():
	}
	if a.proposals.withdraw(p) {
		a.engine.Decisions.Done()
		a.engine.Idle.Notify()
		return decide.Decision{}, a.nothingRecorded(ctx.Err())
	}
	select {
	case <-p.answered:
		return p.decision, p.err
	default:
		return decide.Decision{}, fmt.Errorf("record on %s: %w: %w", a.name, process.ErrUnknownOutcome, ctx.Err())
	}
}

// recordWaiting takes the lock and records the group at the head of the queue, which need not contain p. Each proposal
// starts one such call, so each is taken in the end. It gives up when p is withdrawn.
func (a *aggregate) recordWaiting(p *proposal) {
	select {
	case a.recording <- struct{}{}:
	case <-p.withdrawn:
		return
	}
	group := a.proposals.take(a.engine.Config.MaxGroup)
	a.recordGroup(group)
	a.endRecording()
	for _, p := range group {
		close(p.answered)
		a.engine.Decisions.Done()
	}
}

// recordGroup answers each proposal of the group, under recording. Reading and writing go on when a caller's ctx ends;
// nothing new of that caller is handed to the log then.
func (a *aggregate) recordGroup(group []*proposal) {
	if len(group) == 0 {
		return
	}
	life := a.engine.Life
	switch _, err := a.finishAppend(life); { // what others have left
	case errors.Is(err, eventlog.ErrUnconfirmed), process.LogUnwritable(err):
		refuseAll(group, fmt.Errorf("%w: %w", process.ErrNothingRecorded, err))
		return
	case err != nil && !errors.Is(err, eventlog.ErrConflict):
		refuseAll(group, err)
		return
	}
	for len(group) > 0 {
		if err := a.ready(life); err != nil {
			refuseAll(group, err)
			return
		}
		decided := group[:a.decideAll(group)]
		written, err := a.finishAppend(life)
		group = group[a.settled(decided, written, err):]
		if a.pendingAppend != nil { // nothing else is appended before its fate is known
			refuseAll(group, fmt.Errorf("%w: %w", process.ErrNothingRecorded, err))
			return
		}
	}
}

// ready catches up with the log, if need be, and says why nothing can be decided.
func (a *aggregate) ready(life context.Context) error {
	if life.Err() != nil {
		return a.nothingRecorded(errEnded)
	}
	if a.behind.Load() {
		if err := a.catchUp(life); errors.Is(err, process.ErrStopped) {
			return err
		} else if err != nil {
			return fmt.Errorf("%w: %w", process.ErrNothingRecorded, err)
		}
	}
	if err := a.stoppedBy(); err != nil {
		return fmt.Errorf("%w: %w", process.ErrStopped, err)
	}
	a.evict()
	return nil
}

// maxGroupBytes bounds what is written together: other appends wait behind it.
const maxGroupBytes = 1 << 20

// decideAll decides the proposals in their order, each on the state that the one before leaves, and makes what is to
// be written the pending append. It returns how many it has decided; a group that grows too large ends before the rest.
// The sequences of that state are provisional: they rise, as the real ones will, and no fact holds one.
func (a *aggregate) decideAll(group []*proposal) int {
	base := a.state()
	owned := a.journal.tenure()
	s, pending, size, n := base, &pendingAppend{decided: owned}, 0, 0
	for ; n < len(group); n++ {
		p := group[n]
		p.decision, p.err, p.before, p.isEntry = decide.Decision{}, nil, len(pending.entries), false
		if err := p.ctx.Err(); err != nil {
			p.refuse(a.nothingRecorded(err))
			continue
		}
		if !mayRecord(p.cmd, owned) {
			p.refuse(a.nothingRecorded(process.ErrNotOwner))
			continue
		}
		var env decide.Env
		var err error
		if env, s, base, err = a.decide(p, s, base); err != nil {
			p.refuse(err)
			continue
		}
		if p.decision.Empty() {
			continue
		}
		t := p.decision.Transition(a.name, env)
		entry, err := a.entry(t, s.Head)
		if err != nil {
			p.refuse(err)
			continue
		}
		if size += len(entry.Stored); size > maxGroupBytes && len(pending.entries) > 0 {
			break
		}
		t.ID = entry.ID
		pending.add(entry, t, p.decision.Folded)
		p.isEntry = true
		if n+1 == len(group) {
			continue
		}
		r := pending.record(p.before, a.partition, s.Head.Seq+1)
		next, err := a.fold(s, &r, p.decision.Folded)
		if err != nil {
			n++ // the workflow is stopped when the record is applied for good
			break
		}
		s = next
	}
	if len(pending.entries) > 0 {
		if base != a.state() {
			a.memory.Hydrated(base) // it differs only by the history that was read
		}
		a.pendingAppend = pending
	}
	return n
}

// mayRecord reports whether the command may be decided here: only the owner decides, except that what became of a call
// is recorded with or without the lease.
func mayRecord(cmd decide.Command, owned *process.Tenure) bool {
	_, settles := cmd.(decide.SettleMutation)
	return settles || owned.Holds()
}

// refused passes a decision's refusals through and marks everything else as a defect.
func (a *aggregate) refused(err error) error {
	var refusal *decide.Refusal
	if errors.As(err, &refusal) || errors.Is(err, decide.ErrStale) || errors.Is(err, decide.ErrPrepareAgain) {
		return err
	}
	return fmt.Errorf("%w: %w", process.ErrDefect, err)
}

// decide decides the proposal on the state s. It returns both states with the history that was read for the decision,
// before it or because it missed it; base is the same pointer as before where nothing was found.
func (a *aggregate) decide(p *proposal, s, base *projections.State) (decide.Env, *projections.State,
	*projections.State, error) {
	env := a.env(s, p.cmd, p.actor, p.cause)
	unread := s.Unread(decide.Lookups(s, p.cmd))
	for {
		if len(unread) > 0 {
			rows, err := a.history(unread)
			if err != nil {
				return env, s, base, err
			}
			s = s.HydrateAll(unread, rows)
			if len(rows) > 0 {
				base = base.HydrateAll(unread, rows)
			}
		}
		a.lookAtCalls(&env, s, p.cmd)
		var missing *projections.Missing
		var err error
		p.decision, err = a.engine.Config.Decide(s, a.name, env, p.cmd)
		switch {
		case err == nil:
			return env, s, base, nil
		case !errors.As(err, &missing):
			return env, s, base, a.refused(err)
		}
		unread = missing.Keys
	}
}

// lookAtCalls adds to env what is known of calls: for Recover of those in flight, for Resolve of the one that it names.
func (a *aggregate) lookAtCalls(env *decide.Env, s *projections.State, cmd decide.Command) {
	switch c := cmd.(type) {
	case decide.Recover:
		env.Unseen = a.calls.unseenOf(s)
	case decide.Resolve:
		outlook := a.calls.outlook(s, c.Mutation)
		env.MayTakeEffect, env.Asking = outlook.MayTakeEffect, outlook.Asking
	}
}

func (a *aggregate) env(s *projections.State, cmd decide.Command, actor eventlog.Actor,
	cause eventlog.Cause) decide.Env {
	now := a.engine.Config.Clock.Now()
	env := decide.Env{
		Now: eventlog.At(now), Engine: a.engine.Name, Jitter: a.engine.Config.Jitter(), Policies: a.engine.Config.Policies,
		Run: eventlog.RunID(a.engine.IDs.Next(now)), Session: eventlog.SessionID(a.engine.IDs.Next(now)),
		Standstill: a.standstill(), Actor: actor, Cause: cause, MaxHeld: a.engine.Config.Policies.Held.Max,
	}
	for range freePlaces(s) {
		env.Runs = append(env.Runs, eventlog.RunID(a.engine.IDs.Next(now)))
	}
	if deploys, ok := cmd.(decide.Deploy); ok {
		a.deployEnv(&env, deploys, now)
	} else {
		env.NextDue = nextDue(a.currentSchedules(s), now)
	}
	return env
}

// deployEnv adds to env what a deploy has to know of its own definition and of the log.
func (a *aggregate) deployEnv(env *decide.Env, deploys decide.Deploy, now time.Time) {
	if keeper, keeps := a.engine.Config.Log.(eventlog.LossKeeper); keeps {
		env.NamesLost = keeper.NamesLost(a.partition)
	}
	env.NextDue = nextDue(a.parseSchedules(&deploys.Definition), now)
}

// currentSchedules are those of the current version's producers. They are parsed once for each version.
func (a *aggregate) currentSchedules(s *projections.State) map[eventlog.Handler]schedule.Schedule {
	if s.Version != a.scheduled {
		a.schedules, a.scheduled = a.parseSchedules(s.Definition()), s.Version
	}
	return a.schedules
}

func (a *aggregate) parseSchedules(def *eventlog.Definition) map[eventlog.Handler]schedule.Schedule {
	schedules := make(map[eventlog.Handler]schedule.Schedule, len(def.Producers))
	for _, p := range def.Producers {
		parsed, err := schedule.Parse(p)
		if err != nil {
			a.log.Error("a deployed schedule cannot be read any more; the producer will not run by itself", "handler", p.Name,
				"error", err)
			continue
		}
		schedules[p.Name] = parsed
	}
	return schedules
}

// nextDue is when each producer runs next after now (S2).
func nextDue(schedules map[eventlog.Handler]schedule.Schedule, now time.Time) map[eventlog.Handler]eventlog.Instant {
	due := make(map[eventlog.Handler]eventlog.Instant, len(schedules))
	for name, parsed := range schedules {
		due[name] = eventlog.At(parsed.Next(now))
	}
	return due
}

// maxBegun bounds the runs that one transition begins, so that what else is recorded does not wait long for them.
const maxBegun = 32

// freePlaces is how many runs of concurrent consumers may begin with one transition.
func freePlaces(s *projections.State) (free int) {
	for _, c := range s.Definition().Consumers {
		if c.Concurrent() {
			free += c.Concurrency + 1 - s.Places(c.Name) // what is recorded may end a run
		}
	}
	return max(0, min(free, maxBegun))
}
