package engine

// Held counts what memory keeps of records that the checkpoint does not cover yet: positions dealt with
// beyond a gap, and entities that are not written to the store.
func (e *Engine) Held() (ahead, dirty int) {
	for _, p := range e.partitions {
		p.mu.Lock()
		ahead += len(p.progress.ahead)
		p.mu.Unlock()
		for _, w := range p.all() {
			w.mu.Lock()
			dirty += len(w.dirty) + len(w.flushing)
			w.mu.Unlock()
		}
	}
	return ahead, dirty
}
