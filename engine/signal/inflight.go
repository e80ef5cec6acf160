package signal

import (
	"context"
	"sync"
)

// InFlight counts what an engine has under way and must see the end of: calls that have left and whose
// settlement is not recorded, decisions that are on their way into the log. An engine waits for them
// when it ends, and lets none begin after that.
type InFlight struct {
	mu    sync.Mutex
	open  int
	ended bool
	none  chan struct{} // closed when the last one is done; nil while nothing waits for that
}

// Begin counts one more; false says that the engine has ended and nothing may begin.
func (f *InFlight) Begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.open++
	return true
}

// Done counts one less.
func (f *InFlight) Done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open--; f.open == 0 && f.none != nil {
		close(f.none)
		f.none = nil
	}
}

// Wait waits until nothing is under way, or ctx ends: then it reports false. One that begins meanwhile is
// waited for as well.
func (f *InFlight) Wait(ctx context.Context) bool {
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

// End waits until nothing is under way, and lets nothing begin after that.
func (f *InFlight) End() {
	for {
		f.Wait(context.Background())
		f.mu.Lock()
		if f.open == 0 {
			f.ended = true
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
	}
}
