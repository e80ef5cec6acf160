package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// checkPart is how many records a check reads before it rests, for checkRest times as long as that took, at most
	// maxCheckRest: the work of the workflows goes first.
	checkPart    = 256
	checkRest    = 3
	maxCheckRest = 100 * time.Millisecond
)

// Damage is what is known to be wrong with the log: found by the check of the whole log, by a verification, or by
// what else has read it. A log does not heal by being read again, so it stands until a verification says otherwise.
type Damage struct {
	// Done is true once the check has read the log to where it ended when the check began.
	Done bool
	// Problems of the log, as a verification words them, each once; More is how many are left out.
	Problems []string
	More     int
	// Workflows begin nothing new: a part of their past is missing, or cannot be read or followed.
	Workflows map[eventlog.WorkflowName]*DamagedPast
}

// audit is the state of the check of the whole log, and what is known of damage.
type audit struct {
	mu       sync.Mutex
	done     bool
	problems []finding
	more     int     // problems beyond maxProblems
	last     Finding // the newest one
	hurry    chan struct{}
	once     sync.Once
}

type finding struct {
	n       Finding
	problem string
}

// maxProblems bounds how many problems are kept: each workflow that is held keeps its own.
const maxProblems = 100

// add keeps a problem, unless there are too many already, and reports whether it is new. The caller holds mu.
func (a *audit) add(problem string) bool {
	a.last++
	if i := slices.IndexFunc(a.problems, func(f finding) bool { return f.problem == problem }); i >= 0 {
		a.problems[i].n = a.last
		return false
	}
	if len(a.problems) == maxProblems {
		a.more++
		return false
	}
	a.problems = append(a.problems, finding{a.last, problem})
	return true
}

func (a *audit) report(problem string) (Finding, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	isNew := a.add(problem)
	return a.last, isNew
}

// ReportDamage keeps damage that was met while the log was read or folded.
func (e *Engine) ReportDamage(problem string) { e.audit.report(problem) }

// LastFinding returns the newest finding. A verification asks for it before it begins, and hands it to Verified.
func (e *Engine) LastFinding() Finding {
	e.audit.mu.Lock()
	defer e.audit.mu.Unlock()
	return e.audit.last
}

// Verified replaces all findings up to began, which are older than a verification of the whole log, by the problems
// that the verification has found. If it has found none, no workflow is held for the older findings any more;
// otherwise those that are held stay held.
func (e *Engine) Verified(began Finding, problems []string) {
	e.audit.verified(began, problems)
	if len(problems) > 0 {
		return
	}
	for a := range e.workflows() {
		if past := a.damagedBy(); past != nil && past.found <= began && a.damage.CompareAndSwap(past, nil) {
			a.log.Info("the log of this workflow was verified and is whole: it goes on")
			a.nudge()
		}
	}
}

func (a *audit) verified(began Finding, problems []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	since := slices.DeleteFunc(a.problems, func(f finding) bool { return f.n <= began })
	a.problems, a.more = nil, 0
	for _, problem := range problems {
		a.add(problem)
	}
	for _, f := range since {
		a.add(f.problem)
	}
}

// Damage returns what is known of damage so far.
func (e *Engine) Damage() Damage {
	e.audit.mu.Lock()
	found := Damage{Done: e.audit.done, Workflows: map[eventlog.WorkflowName]*DamagedPast{}}
	for _, f := range e.audit.problems {
		found.Problems = append(found.Problems, f.problem)
	}
	found.More = e.audit.more
	e.audit.mu.Unlock()
	for a := range e.workflows() {
		if past := a.damagedBy(); past != nil && a.name != eventlog.Installation {
			found.Workflows[a.name] = past
		}
	}
	return found
}

// CheckLog reads the whole log once, while the workflows run. A start reads only what follows the store's
// checkpoint; damage before it is found here. Findings are logged and returned by Damage, and a workflow whose
// past is damaged begins nothing new. The state in memory is still right: it was folded when the records were
// whole. So a hole concerns only the workflows that lack revisions. A partition that does not answer is checked
// again, after the others, until it does. CheckLog returns early only when ctx ends, with its error.
func (e *Engine) CheckLog(ctx context.Context) error {
	select {
	case <-e.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	retries := schedule.Pacer{Pauses: process.StoragePauses}
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
			e.audit.done = true
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause, shouldLog := retries.Failed(failed)
		if shouldLog {
			e.process.Log.Warn("the log cannot be checked for damage; it is tried again", "in", pause, "error", failed)
		}
		clock.Sleep(ctx, pause)
	}
}

// HurryCheck lets CheckLog read on without rests: there is nothing else to do.
func (e *Engine) HurryCheck() { e.audit.once.Do(func() { close(e.audit.hurry) }) }

func (p *partition) checkLog(ctx context.Context) error {
	e := p.engine
	last, err := e.process.Config.Log.Last(ctx, p.number)
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
	for r, err := range e.process.Config.Log.Read(ctx, p.number, 1) {
		if r.Position.Seq > last {
			break
		}
		if n++; n%checkPart == 0 {
			if err := e.pauseAfter(ctx, time.Since(began)); err != nil {
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
			p.damaged(name, fmt.Errorf("%w: %s lacks revisions %d to %d", eventlog.ErrDamaged, name, found.Revision+1,
				head.Revision))
		}
	}
	return nil
}

// pauseAfter waits a multiple of what the last part took, unless there is a hurry.
func (e *Engine) pauseAfter(ctx context.Context, took time.Duration) error {
	pause := time.NewTimer(min(checkRest*took, maxCheckRest))
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
		if _, isNew := e.audit.report(err.Error()); isNew {
			e.process.Log.Error("the log is damaged", "partition", p.number, "error", err, "hint", hint.Of(hint.Verify))
		}
		return
	}
	if a.stoppedBy() != nil || a.damagedBy() != nil {
		return // it is known
	}
	found, _ := e.audit.report(err.Error())
	if !a.damage.CompareAndSwap(nil, &DamagedPast{err, a.now(), found}) {
		return
	}
	a.log.Error("the log of this workflow is damaged: it begins nothing new, the others go on", "error", err,
		"hint", hint.Of(hint.AcceptLoss))
	a.nudge()
}
