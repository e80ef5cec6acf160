package engine

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// tasks are the scripts and questions of a workflow with a concurrent consumer: each is at work in a goroutine of its
// own, one for a run. What they find out goes through the aggregate's record like all else.
//
// Locking: open belongs to the runner's goroutine, mu guards what the tasks leave for it.
type tasks struct {
	open map[eventlog.RunID]bool
	all  sync.WaitGroup

	mu    sync.Mutex
	ended []taskEnd
}

// taskEnd says that the task of a run has ended, and with which error.
type taskEnd struct {
	run eventlog.RunID
	err error
}

// begin has do work for the run, unless it is at work for it already. Ended is called when it has ended.
func (t *tasks) begin(ctx context.Context, run eventlog.RunID, do func(context.Context) error, ended func()) {
	if t.open[run] {
		return
	}
	if t.open == nil {
		t.open = map[eventlog.RunID]bool{}
	}
	t.open[run] = true
	t.all.Go(func() {
		err := do(ctx)
		t.mu.Lock()
		t.ended = append(t.ended, taskEnd{run, err})
		t.mu.Unlock()
		ended()
	})
}

// collect forgets the tasks that have ended, so that what their runs owe next may begin. It returns the error of one.
func (t *tasks) collect() (err error) {
	t.mu.Lock()
	ended := t.ended
	t.ended = nil
	t.mu.Unlock()
	for _, end := range ended {
		delete(t.open, end.run)
		if end.err != nil {
			err = end.err
		}
	}
	return err
}

// wait returns once all tasks have ended.
func (t *tasks) wait() { t.all.Wait() }
