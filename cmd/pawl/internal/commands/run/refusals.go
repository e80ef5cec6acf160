package run

import "sync"

// refusals are the files whose last deploy was refused. It is safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (r *refusals) add(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths == nil {
		r.paths = map[string]bool{}
	}
	r.paths[path] = true
}

// remove reports whether the file was among them.
func (r *refusals) remove(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.paths[path]
	delete(r.paths, path)
	return was
}

func (r *refusals) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.paths)
}
