package enginetest

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// CrashPoint says where a process dies.
type CrashPoint int

// The crash points around one append.
const (
	// BeforeAppend: nothing of it is written.
	BeforeAppend CrashPoint = iota
	// AfterAppend: it is durable, and the process never learns it.
	AfterAppend
)

// CrashLog is a log as seen by one process that dies at a chosen append. From then on every call
// of that process fails with ErrClosed; the log below goes on for the next process.
type CrashLog struct {
	eventlog.Log

	mu    sync.Mutex
	count int
	at    int // dies at the at-th append; 0 never
	point CrashPoint
	dead  bool
}

// NewCrashLog wraps the log for one process.
func NewCrashLog(below eventlog.Log, at int, point CrashPoint) *CrashLog {
	return &CrashLog{Log: below, at: at, point: point}
}

// Kill makes the process die now.
func (l *CrashLog) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

// Dead reports whether the process has died.
func (l *CrashLog) Dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// Appends returns how many appends were tried.
func (l *CrashLog) Appends() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Append implements eventlog.Log.
func (l *CrashLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return eventlog.Written{}, eventlog.ErrClosed
	}
	l.count++
	die := l.at != 0 && l.count == l.at
	if die {
		l.dead = true
	}
	l.mu.Unlock()
	switch {
	case die && l.point == BeforeAppend:
		return eventlog.Written{}, eventlog.ErrClosed
	case die:
		if _, err := l.Log.Append(ctx, e); err != nil {
			return eventlog.Written{}, err
		}
		return eventlog.Written{}, eventlog.ErrClosed
	}
	return l.Log.Append(ctx, e)
}

// Close does nothing: the log outlives the process.
func (l *CrashLog) Close() error { return nil }
