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
	Workflows map[eventlog.WorkflowName]*DamagedPast
}

// DamagedPast is what was found first of a workflow's damaged past, and when.
type DamagedPast struct {
	Err   error
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

// problem keeps what was found, and reports whether it is new.
func (a *audit) problem(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := err.Error()
	if len(a.found.Problems) == mostProblems || slices.Contains(a.found.Problems, text) {
		return false
	}
	a.found.Problems = append(a.found.Problems, text)
	return true
}

// Damage returns what the check has found so far.
func (e *Engine) Damage() Damage {
	e.audit.mu.Lock()
	found := e.audit.found
	found.Problems = slices.Clone(found.Problems)
	e.audit.mu.Unlock()
	found.Workflows = map[eventlog.WorkflowName]*DamagedPast{}
	for a := range e.workflows() {
		if past := a.damagedBy(); past != nil && a.name != eventlog.Installation {
			found.Workflows[a.name] = past
		}
	}
	return found
}

// CheckLog reads the whole log once, while the workflows run. A start reads only what follows the store's
// checkpoint; damage before it is found here. What is found is logged and returned by Damage, and a workflow whose
// past is damaged begins nothing new. The state in memory is still right: it was folded when the records were
// whole. So a hole concerns only the workflows that lack revisions. A partition that does not answer is checked
// again, after the others, until it does. CheckLog returns early only when ctx ends, with its error.
func (e *Engine) CheckLog(ctx context.Context) error {
	select {
	case <-e.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	trouble := retry{pauses: storageTrouble}
	for left := slices.Clone(e.partitions); ; {
		var failed error
		left = slices.DeleteFunc(left, func(p *partition) bool {
			err := p.checkLog(ctx)
			if err != nil && failed == nil {
				failed = fmt.Errorf("check partition %d of the log: %w", p.number, err)
			}
			return err == nil
		})
		switch {
		case failed == nil:
			e.audit.mu.Lock()
			defer e.audit.mu.Unlock()
			e.audit.found.Done = true
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause, tell := trouble.failed(failed)
		if tell {
			e.log.Warn("the log cannot be checked for damage; it is tried again", "in", pause, "error", failed)
		}
		wait(ctx, pause)
	}
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

// damaged notes damage and keeps the workflow that it concerns from beginning anything. Damage of no known workflow
// is only logged: the missing revisions that follow show whose it is.
func (p *partition) damaged(name eventlog.WorkflowName, err error) {
	e := p.engine
	a, ok := p.workflow(name)
	if !ok {
		if e.audit.problem(err) {
			e.log.Error("the log is damaged", "partition", p.number, "error", err)
		}
		return
	}
	if a.stoppedBy() != nil || !a.damage.CompareAndSwap(nil, &DamagedPast{err, a.now()}) {
		return // it is known
	}
	e.audit.problem(err)
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
