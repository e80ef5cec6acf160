package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// checkPart is how many records a check reads before it rests, for checkRest times as long as that took, at
	// most mostCheckRest: what is at work goes first.
	checkPart     = 256
	checkRest     = 3
	mostCheckRest = 100 * time.Millisecond
)

// Damage is what the check of the whole log has found.
type Damage struct {
	// Done is true once the log was read to where it ended when the check began.
	Done bool
	// Problems of the log, as a verification words them.
	Problems []string
	// Workflows begin nothing new: a part of their past is missing, or cannot be read or followed.
	Workflows map[eventlog.WorkflowName]error
	// Since is when the first of them was found; zero while there are none.
	Since eventlog.Instant
}

// audit is the state of the check of the whole log.
type audit struct {
	mu    sync.Mutex
	found Damage
	hurry chan struct{}
	once  sync.Once
}

// mostProblems bounds how many problems a check keeps: each workflow that is held keeps its own.
const mostProblems = 100

func (a *audit) problem(at eventlog.Instant, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found.Since == 0 {
		a.found.Since = at
	}
	if text := err.Error(); len(a.found.Problems) < mostProblems && !slices.Contains(a.found.Problems, text) {
		a.found.Problems = append(a.found.Problems, text)
	}
}

// Damage returns what the check has found so far.
func (e *Engine) Damage() Damage {
	e.audit.mu.Lock()
	found := e.audit.found
	found.Problems = slices.Clone(found.Problems)
	e.audit.mu.Unlock()
	found.Workflows = map[eventlog.WorkflowName]error{}
	for a := range e.workflows() {
		if err := a.damagedBy(); err != nil && a.name != eventlog.Installation {
			found.Workflows[a.name] = err
		}
	}
	return found
}

// CheckLog reads the whole log beside the work, once: a start reads it from the store's checkpoint on, and what
// is damaged below that shows only here. What it finds is told, and in Damage; a workflow whose past is damaged
// begins nothing new from then on. The state in memory is not in doubt: it was folded when the records were
// whole. That is why a hole concerns only the workflows whose revisions it lacks. It returns when ctx ends, with
// its error, or when the log does not answer.
func (e *Engine) CheckLog(ctx context.Context) error {
	select {
	case <-e.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, p := range e.partitions {
		if err := p.checkLog(ctx); err != nil {
			return fmt.Errorf("check partition %d of the log: %w", p.number, err)
		}
	}
	e.audit.mu.Lock()
	defer e.audit.mu.Unlock()
	e.audit.found.Done = true
	return nil
}

// HurryCheck lets CheckLog read on without rests: there is nothing else to do.
func (e *Engine) HurryCheck() { e.audit.once.Do(func() { close(e.audit.hurry) }) }

func (p *partition) checkLog(ctx context.Context) error {
	e := p.engine
	last, err := e.cfg.Log.Last(ctx, p.number)
	if err != nil {
		return err
	}
	// A workflow in memory is no further than the log: what it has at this moment must be found there.
	heads := map[eventlog.WorkflowName]eventlog.Head{}
	for _, r := range p.all() {
		if head := r.workflow.state().Head; head.Seq <= last {
			heads[r.workflow.name] = head
		}
	}
	var chain eventlog.Chain
	n, began := 0, time.Now()
	for r, err := range e.cfg.Log.Read(ctx, p.number, 1) {
		if r.Position.Seq > last {
			break
		}
		if n++; n%checkPart == 0 {
			if err := e.rest(ctx, time.Since(began)); err != nil {
				return err
			}
			began = time.Now()
		}
		switch {
		case err == nil:
			if wrong := chain.Check(r); wrong != nil {
				p.damaged(r.Workflow, wrong)
			}
		case errors.Is(err, eventlog.ErrUnreadable), errors.Is(err, eventlog.ErrDamaged):
			p.damaged(r.Workflow, err)
		default:
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for name, head := range heads {
		if found := chain.Head(name); found.Revision < head.Revision {
			p.damaged(name, fmt.Errorf("%w: %s lacks revisions %d to %d; see `pawl verify`", eventlog.ErrDamaged, name, found.Revision+1, head.Revision))
		}
	}
	return nil
}

// rest waits a multiple of what the last part took, unless there is a hurry.
func (e *Engine) rest(ctx context.Context, took time.Duration) error {
	pause := time.NewTimer(min(checkRest*took, mostCheckRest))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-e.audit.hurry:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// damaged notes damage of the log, and keeps the workflow it concerns from beginning anything. Without one it is
// told alone: whose past it is shows in what follows.
func (p *partition) damaged(name eventlog.WorkflowName, err error) {
	e := p.engine
	a, ok := p.workflow(name)
	if !ok {
		e.audit.problem(eventlog.At(e.cfg.Clock.Now()), err)
		e.log.Error("the log is damaged", "partition", p.number, "error", err)
		return
	}
	if a.stoppedBy() != nil || !a.damage.CompareAndSwap(nil, &err) {
		return // it is known
	}
	e.audit.problem(eventlog.At(e.cfg.Clock.Now()), err)
	a.log.Error("the log of this workflow is damaged: it begins nothing new, the others go on; stop the engine, keep a copy of its data, then: pawl verify --accept-loss", "error", err)
	a.nudge()
}

// held is what keeps the workflow from beginning anything.
func (a *aggregate) held() decide.HoldReason {
	switch {
	case a.damagedBy() != nil:
		return decide.HeldByDamage
	case a.engine.hold() != nil:
		return decide.HeldByEngine
	}
	return decide.NotHeld
}
