package runtask

import (
	"context"
	"errors"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// Task is work for a run that takes time. Its script, and what that waits for, works under the second context, which
// ends with the run. What it has found out is recorded under the first.
type Task func(ctx, script context.Context) error

// Set holds the scripts and questions that are at work for a workflow, one for a run: in goroutines of their own
// (Begin), or in that of the caller (Do). The zero value is ready for use.
//
// Locking: mu guards open and ended.
type Set struct {
	all sync.WaitGroup

	mu    sync.Mutex
	open  map[eventlog.RunID]context.CancelFunc // ends the script
	ended []outcome
}

// outcome says with which error the task of a run has ended.
type outcome struct {
	run eventlog.RunID
	err error
}

// Begin has the task work for the run in a goroutine of its own, unless the run has a task that is at work or not yet
// collected. It calls onEnd when the task has ended.
func (s *Set) Begin(ctx context.Context, run eventlog.RunID, do Task, onEnd func()) {
	script, opened := s.enter(ctx, run)
	if !opened {
		return
	}
	s.all.Go(func() {
		err := do(ctx, script)
		s.mu.Lock()
		s.ended = append(s.ended, outcome{run, err})
		s.mu.Unlock()
		onEnd()
	})
}

// ErrEntered says that a run has a task already: a fault of the caller.
var ErrEntered = errors.New("the run has a task that is not collected yet")

// Do runs the task in the goroutine of the caller, who has seen with Working that no task is left. If the run has a
// task all the same, Do does nothing and returns ErrEntered.
func (s *Set) Do(ctx context.Context, run eventlog.RunID, do Task) error {
	script, opened := s.enter(ctx, run)
	if !opened {
		return ErrEntered
	}
	defer s.leave(run)
	return do(ctx, script)
}

// enter notes that a task is at work for the run. It reports false where one is already.
func (s *Set) enter(ctx context.Context, run eventlog.RunID) (script context.Context, opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[run] != nil {
		return nil, false
	}
	if s.open == nil {
		s.open = map[eventlog.RunID]context.CancelFunc{}
	}
	script, s.open[run] = context.WithCancel(ctx)
	return script, true
}

func (s *Set) leave(run eventlog.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(run)
}

// close forgets the task of a run. Under mu.
func (s *Set) close(run eventlog.RunID) {
	s.open[run]()
	delete(s.open, run)
}

// Working reports whether tasks are at work, or have left something to collect.
func (s *Set) Working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// Stop ends the scripts of the runs that have ended: what they come to is not wanted any more. Without that they would
// keep processes and turns from other runs.
func (s *Set) Stop(isOver func(eventlog.RunID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for run, stop := range s.open {
		if isOver(run) {
			stop()
		}
	}
}

// Collect forgets the tasks that have ended, so that what their runs owe next may begin. It returns the error of
// the last that has failed.
func (s *Set) Collect() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, task := range s.ended {
		s.close(task.run)
		if task.err != nil {
			err = task.err
		}
	}
	s.ended = nil
	return err
}

// Wait returns once all tasks that were begun have ended.
func (s *Set) Wait() { s.all.Wait() }
