package engine

import "github.com/pawl-run/pawl/eventlog"

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
