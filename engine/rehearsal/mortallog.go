package rehearsal

import (
	"context"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// mortalLog is the log as one engine sees it, which dies right after a transition with a chosen fact is written: it
// never learns that, and every call of it fails from then on. The log below goes on for the next engine.
type mortalLog struct {
	eventlog.Log

	mu   sync.Mutex
	at   eventlog.FactType // dies with it; empty never
	dead bool
	died chan struct{}
}

func newMortalLog(below eventlog.Log, at eventlog.FactType) *mortalLog {
	return &mortalLog{Log: below, at: at, died: make(chan struct{})}
}

// dieAt says with which fact it dies from here on.
func (l *mortalLog) dieAt(fact eventlog.FactType) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = fact
}

// armed reports whether it is still to die.
func (l *mortalLog) armed() (eventlog.FactType, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, l.at != "" && !l.dead
}

// Append implements eventlog.Log.
func (l *mortalLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return eventlog.Written{}, eventlog.ErrClosed
	}
	die := false
	if l.at != "" {
		if t, err := eventlog.Decode(e.Stored); err == nil {
			die = slices.ContainsFunc(t.Facts, func(f eventlog.Fact) bool { return f.FactType() == l.at })
		}
	}
	l.mu.Unlock()
	written, err := l.Log.Append(ctx, e)
	if !die || err != nil {
		return written, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	close(l.died)
	return eventlog.Written{}, eventlog.ErrClosed
}

// Close does nothing: the log outlives the engine.
func (l *mortalLog) Close() error { return nil }
