package csv

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// lockAgain is how long after a call that did not get its file it is tried again.
const lockAgain = time.Second

// locks keep the calls of this process apart at each file. Reads share a file, a change has it alone, and all of them
// get it in the order in which they come: reads that overlap without end do not keep a change waiting. The lock of the
// file itself, which keeps processes apart, has no order.
type locks struct {
	mu sync.Mutex
	// of has a lock for each file that a call holds or waits for.
	of map[string]*lock
}

type lock struct {
	// shares are taken one by one by reads, and all at once by a change.
	shares *semaphore.Weighted
	calls  int
}

const allShares = 1 << 30

// take waits for a file. release gives it back.
func (l *locks) take(ctx context.Context, call connector.Call, name string, alone bool) (release func(),
	failure *eventlog.Failure) {
	l.mu.Lock()
	at := l.of[name]
	if at == nil {
		at = &lock{shares: semaphore.NewWeighted(allShares)}
		l.of[name] = at
	}
	at.calls++
	l.mu.Unlock()
	shares := int64(1)
	if alone {
		shares = allShares
	}
	if at.shares.Acquire(ctx, shares) != nil {
		l.leave(name, at)
		return nil, connector.HeldBack(ctx, call, lockAgain, "other calls worked on "+name+" for as long as it could wait")
	}
	return func() {
		at.shares.Release(shares)
		l.leave(name, at)
	}, nil
}

// leave forgets a lock that no call holds or waits for.
func (l *locks) leave(name string, at *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.calls--; at.calls == 0 {
		delete(l.of, name)
	}
}
