package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// proposal is a command that waits to be recorded, and then what became of it.
type proposal struct {
	ctx   context.Context // its caller's
	cmd   decide.Command
	actor eventlog.Actor
	cause eventlog.Cause

	// The answer: decision and err. before is how many entries of the group stand before it. The answer counts once those
	// are written, and its own entry too if it has one (isEntry).
	decision decide.Decision
	err      error
	before   int
	isEntry  bool

	answered  chan struct{} // closed once the answer counts
	withdrawn chan struct{} // closed when its caller has gone before it was taken
}

// refuse answers with the error alone.
func (p *proposal) refuse(err error) { p.decision, p.err = decide.Decision{}, err }

// proposals are the commands that wait for the recording lock, in the order in which they came.
//
// Locking: mu.
type proposals struct {
	mu      sync.Mutex
	waiting []*proposal
}

func (q *proposals) add(p *proposal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, p)
}

// withdraw takes back a proposal whose caller has gone. False: it was taken already.
func (q *proposals) withdraw(p *proposal) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, p)
	if at < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	close(p.withdrawn)
	return true
}

// take takes the first proposal, and up to so many in all where they may be written together.
func (q *proposals) take(most int) []*proposal {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(1, len(q.waiting))
	for n > 0 && n < min(most, len(q.waiting)) && mayShare(q.waiting[n-1].cmd) && mayShare(q.waiting[n].cmd) {
		n++
	}
	taken := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return taken
}

func (q *proposals) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 0
}

// mayShare reports whether the command may be decided on a state whose append is still under way (C10). Only frequent
// commands may; the others read more than the state, or change what the engine derives from it.
func mayShare(cmd decide.Command) bool {
	switch cmd.(type) {
	case decide.Push, decide.Tick, decide.FinishPrepare, decide.FinishMutate, decide.SettleMutation, decide.CommitRun,
		decide.FailRun:
		return true
	}
	return false
}

// settled answers the proposals whose fate the append has decided: the first written entries are in the log, and the
// next one failed with err. It returns how many proposals it answered; the others are decided again.
func (a *aggregate) settled(decided []*proposal, written int, err error) int {
	final := errors.Is(err, eventlog.ErrUnconfirmed) || process.LogUnwritable(err) || errors.Is(err, projections.ErrBroken)
	for i, p := range decided {
		switch {
		case err == nil, p.before < written, p.before == written && !p.isEntry: // all that it needs is written
			if p.isEntry {
				a.warn(p.cmd, p.decision.Warnings)
			}
		case errors.Is(err, eventlog.ErrConflict): // it and the rest were decided on a head that is not the log's
			return i
		case p.isEntry:
			p.err = err
			if !final { // it alone is refused: what follows was decided on it
				return i + 1
			}
		default: // what it was decided on may not be written
			p.refuse(fmt.Errorf("%w: %w", process.ErrNothingRecorded, err))
		}
	}
	return len(decided)
}

// warn writes into the run log what was ignored of what prepare returned: the author of the script reads it there.
func (a *aggregate) warn(cmd decide.Command, warnings []string) {
	prepared, ok := cmd.(decide.FinishPrepare)
	log := a.engine.Config.RunLog
	if len(warnings) == 0 || !ok || log == nil {
		return
	}
	lines := make([]sandbox.LogLine, len(warnings))
	for i, text := range warnings {
		lines[i] = sandbox.LogLine{At: a.engine.Config.Clock.Now(), Level: "warn", Text: "prepare: " + text}
	}
	handler := eventlog.Handler("")
	if run := a.state().Run(prepared.Run); run != nil {
		handler = run.Handler
	}
	log(a.name, prepared.Run, handler, lines)
}

// refuseAll answers a whole group with one error.
func refuseAll(group []*proposal, err error) {
	for _, p := range group {
		p.refuse(err)
	}
}
