package engine

import (
	"context"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Held counts what memory keeps of records that the checkpoint does not cover yet: positions dealt with
// beyond a gap, and entities that are not written to the store.
func (e *Engine) Held() (ahead, dirty int) {
	for _, p := range e.partitions {
		p.mu.Lock()
		ahead += p.progress.Held()
		p.mu.Unlock()
		for _, r := range p.all() {
			dirty += r.workflow.memory.Unstored()
		}
	}
	return ahead, dirty
}

// Waiting counts the commands that wait to be recorded on a workflow.
func (e *Engine) Waiting(name eventlog.WorkflowName) int {
	a, ok := e.partitions[e.process.Config.Log.PartitionOf(name)].workflow(name)
	if !ok {
		return 0
	}
	a.proposals.mu.Lock()
	defer a.proposals.mu.Unlock()
	return len(a.proposals.waiting)
}

// Do does what the state owed at some time, with the workflow as it is now.
func (e *Engine) Do(ctx context.Context, s *projections.State, todo decide.Todo) error {
	r, _ := e.partitionOf(s.Name).runner(s.Name)
	_, work := r.task(s, todo)
	return work(ctx, ctx)
}
