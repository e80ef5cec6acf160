package runtask_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/pawl-run/pawl/engine/runtask"
	"github.com/pawl-run/pawl/eventlog"
)

// A run has one task at a time; what it owes next begins once that has ended, and its error is told.
func TestC1_ARunHasOneTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all runtask.Set
		release, failed := make(chan struct{}), errors.New("it failed")
		begun, ended := map[eventlog.RunID]int{}, atomic.Int32{}
		begin := func(run eventlog.RunID) {
			all.Begin(t.Context(), run, func(context.Context, context.Context) error {
				begun[run]++
				<-release
				return failed
			}, func() { ended.Add(1) })
			synctest.Wait()
		}
		begin("R1")
		begin("R1")
		begin("R2")
		if begun["R1"] != 1 || begun["R2"] != 1 || all.Collect() != nil {
			t.Fatalf("begun: %v, want one for each run", begun)
		}
		close(release)
		all.Wait()
		do := func(_, script context.Context) error { begun["R2"]++; return script.Err() }
		if err := all.Do(t.Context(), "R2", do); !errors.Is(err, runtask.ErrEntered) || begun["R2"] != 1 {
			t.Errorf("before its task is collected, the run works %d times, with %v", begun["R2"], err)
		}
		if err := all.Collect(); ended.Load() != 2 || !errors.Is(err, failed) || all.Collect() != nil {
			t.Errorf("%d tasks have ended, with %v", ended.Load(), err)
		}
		if err := all.Do(t.Context(), "R2", do); err != nil || begun["R2"] != 2 || all.Working() {
			t.Errorf("after that the run works %d times, with %v; tasks are left: %t", begun["R2"], err, all.Working())
		}
		if begin("R1"); begun["R1"] != 2 {
			t.Error("what the run owes next does not begin")
		}
	})
}

// C8: the scripts of runs that have ended are stopped, and those of others go on. What a task has found out is recorded
// all the same: its other context has not ended.
func TestC8_TheScriptsOfEndedRunsStop(t *testing.T) {
	t.Parallel()
	var all runtask.Set
	stopped := make(chan eventlog.RunID, 2)
	release := make(chan struct{})
	for _, run := range []eventlog.RunID{"R1", "R2"} {
		all.Begin(t.Context(), run, func(ctx, script context.Context) error {
			select {
			case <-script.Done():
				stopped <- run
			case <-release:
			}
			return ctx.Err()
		}, func() {})
	}
	all.Stop(func(run eventlog.RunID) bool { return run == "R1" })
	if run := <-stopped; run != "R1" {
		t.Errorf("the script of %s is stopped", run)
	}
	close(release)
	all.Wait()
	if len(stopped) > 0 || !all.Working() {
		t.Errorf("%d more scripts are stopped; tasks are left to collect: %t", len(stopped), all.Working())
	}
	if err := all.Collect(); err != nil || all.Working() {
		t.Errorf("collected with %v; tasks are left after that: %t", err, all.Working())
	}
}
