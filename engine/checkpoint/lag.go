package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	// flushBytes is after how many bytes of records the store is written before its time.
	flushBytes = 2 << 20
	// maxLag is how many bytes of records may wait for the store: until they are there, memory must
	// hold what they changed. A push then waits for the store, and so does the start of a run if the
	// store cannot be written.
	maxLag = 8 << 20
)

// ErrLag says that the local store lacks too much.
var ErrLag = errors.New("the local store lacks too much that memory must hold until it is written")

// Lag is what a partition's store does not have yet, in bytes of records.
type Lag struct {
	mu sync.Mutex
	// waiting is not taken by a flush yet, underWay is taken and not committed.
	waiting, underWay int64
	err               error         // of the last flush
	changed           chan struct{} // closed when a flush ends
}

// Grow takes a record in, and reports whether the store should be written now.
func (l *Lag) Grow(bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += int64(bytes)
	return l.waiting >= flushBytes
}

// Due reports whether the store should be written now.
func (l *Lag) Due() bool { return l.Grow(0) }

// Begin notes that a flush takes what waits.
func (l *Lag) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay, l.waiting = l.waiting, 0
}

// End notes what the flush came to.
func (l *Lag) End(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.waiting += l.underWay
	}
	l.underWay, l.err = 0, err
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Stuck reports why the store cannot take what is too much already, nil while it can. The error is [ErrLag].
func (l *Lag) Stuck() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stuckLocked()
}

func (l *Lag) stuckLocked() error {
	if l.err == nil || l.waiting+l.underWay < maxLag {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrLag, l.err)
}

// Wait returns once the store lacks little enough to take more in; at once, with an error, when it
// cannot be written.
func (l *Lag) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		err := l.stuckLocked()
		if err != nil || l.waiting+l.underWay < maxLag {
			l.mu.Unlock()
			return err
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrLag, ctx.Err())
		}
	}
}
