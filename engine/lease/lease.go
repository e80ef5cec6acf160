package lease

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errLost says why a lease ended that was not given back.
var errLost = errors.New("the lease could not be renewed in time")

// errHandOver says that another engine should have the partition.
var errHandOver = errors.New("another engine has fewer partitions")

// Lease is the right to run the workflows of one partition. Its methods are safe for concurrent use.
type Lease struct {
	keeper    *Keeper
	partition int
	entry     Entry
	revision  uint64 // only the partition's own loop uses it

	// ending ends, with the cause, when the work has to end: the lease is lost, or is to be given back.
	ending context.Context
	end    context.CancelCauseFunc
	over   chan struct{} // closed when it is lost or given back

	mu    sync.Mutex
	until time.Duration // by the clock that cannot be set
	timer *time.Timer
	gone  bool // lost or given back
}

func (k *Keeper) newLease(partition int, entry Entry, revision uint64, until time.Duration) *Lease {
	l := &Lease{keeper: k, partition: partition, entry: entry, revision: revision, until: until,
		over: make(chan struct{})}
	l.ending, l.end = context.WithCancelCause(context.Background())
	l.mu.Lock() // a lease that was given late may be over at once
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(until-k.cfg.Elapsed(), l.expire)
	return l
}

// Epoch is greater than that of all leases of the partition before.
func (l *Lease) Epoch() uint64 { return l.entry.Epoch }

// Ending is closed when the engine should end its work on the partition and give the lease back.
func (l *Lease) Ending() <-chan struct{} { return l.ending.Done() }

// Cause says why the lease is ending; nil while it is not.
func (l *Lease) Cause() error { return context.Cause(l.ending) }

// Over is closed when the lease is lost or given back.
func (l *Lease) Over() <-chan struct{} { return l.over }

// Holds reports whether no other engine can hold the partition now.
func (l *Lease) Holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.gone && l.keeper.cfg.Elapsed() < l.until
}

// GiveBack lets another engine take the partition at once. The engine must have ended its work. An entry that cannot be
// written now is taken once it is old.
func (l *Lease) GiveBack(ctx context.Context) error {
	l.lose(nil)
	return l.keeper.giveBack(ctx, l)
}

// renewed notes that a renewal was acknowledged; the lease holds until that time.
func (l *Lease) renewed(until time.Duration, revision uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision = revision
	if l.gone {
		return
	}
	l.until = until
	l.timer.Reset(until - l.keeper.cfg.Elapsed())
}

// expire ends the lease if its time is over by the clock that counts: the timer may ring too early.
func (l *Lease) expire() {
	l.mu.Lock()
	left := l.until - l.keeper.cfg.Elapsed()
	if !l.gone && left > 0 {
		l.timer.Reset(left)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	l.lose(errLost)
}

// lose ends the right to the partition at once.
func (l *Lease) lose(cause error) {
	l.mu.Lock()
	if !l.gone {
		close(l.over)
	}
	l.gone = true
	l.timer.Stop()
	l.mu.Unlock()
	l.end(cause)
}

func (l *Lease) isGone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}
