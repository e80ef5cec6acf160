package jslog

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// barrier acknowledges the entries after which a request leaves, once the mark that covers them is on the disk: a power
// cut then never loses unnoticed what led to the request. The committer goes on during a sync, and the entries that
// come meanwhile share the next one.
type barrier struct {
	log *Log

	mu      sync.Mutex
	waiting []passage
	syncing bool
}

// passage is an entry that is in the log, at seq.
type passage struct {
	*request
	seq uint64
}

// pass takes entries that the mark has observed, and does not wait.
func (b *barrier) pass(entries ...passage) {
	if len(entries) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, entries...)
	if !b.syncing {
		b.syncing = true
		b.log.confirming.Go(b.sync)
	}
}

// sync syncs the mark until no append waits for it.
func (b *barrier) sync() {
	for {
		b.mu.Lock()
		group := b.waiting
		b.waiting = nil
		b.syncing = len(group) > 0
		b.mu.Unlock()
		if len(group) == 0 {
			return
		}
		err := b.log.mark.sync()
		for _, entry := range group {
			if err != nil {
				entry.fail(barrierError(err))
				continue
			}
			entry.succeed(entry.seq, false)
		}
	}
}

// barrierError: the entry is in the log, but it may not be acknowledged. Appending it again
// finds it and tries the mark again.
func barrierError(err error) error {
	if isNoSpace(err) {
		err = errors.Join(err, eventlog.ErrFull)
	}
	return fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, err)
}
