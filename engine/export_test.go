package engine

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
