package engine

import (
	"context"
	"sync"
)

// inFlight counts what an engine has under way and must see the end of: calls that have left and whose
// settlement is not recorded, decisions that are on their way into the log. An engine waits for them
// when it ends, and lets none begin after that.
type inFlight struct {
	mu    sync.Mutex
	open  int
	ended bool
	none  chan struct{} // closed when the last one is done; nil while nothing waits for that
}

// begin counts one more; false says that the engine has ended and nothing may begin.
func (f *inFlight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.open++
	return true
}

func (f *inFlight) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open--; f.open == 0 && f.none != nil {
		close(f.none)
		f.none = nil
	}
}

// rest waits until nothing is under way, or ctx ends: then it reports false. One that begins meanwhile is
// waited for as well.
func (f *inFlight) rest(ctx context.Context) bool {
	for {
		f.mu.Lock()
		if f.open == 0 {
			f.mu.Unlock()
			return true
		}
		if f.none == nil {
			f.none = make(chan struct{})
		}
		none := f.none
		f.mu.Unlock()
		select {
		case <-none:
		case <-ctx.Done():
			return false
		}
	}
}

// end waits until nothing is under way, and lets nothing begin after that.
func (f *inFlight) end() {
	for {
		f.rest(context.Background())
		f.mu.Lock()
		if f.open == 0 {
			f.ended = true
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
	}
}
