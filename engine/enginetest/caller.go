package enginetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// Moment is a point of one append at which a [CallerLog] lets something happen.
type Moment int

// The moments of an append.
const (
	// Asked: nothing of it is written yet.
	Asked Moment = iota
	// Durable: it is written, and no caller knows it yet.
	Durable
	// AckRecovered: it is written, its acknowledgement was lost, and the log finds out by itself how it ended, as
	// eventlog.Log allows.
	AckRecovered
)

// CallerLog is a log that lets a test act while one chosen append is under way.
type CallerLog struct {
	eventlog.Log
	at     int // the at-th append; 0 never
	moment Moment
	act    func(context.Context, eventlog.Entry)

	mu    sync.Mutex
	count int
}

// NewCallerLog wraps the log; act is called once, within the at-th append and with its context.
func NewCallerLog(below eventlog.Log, at int, moment Moment, act func(context.Context, eventlog.Entry)) *CallerLog {
	return &CallerLog{Log: below, at: at, moment: moment, act: act}
}

// Appends returns how many appends were tried.
func (l *CallerLog) Appends() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Append implements eventlog.Log.
func (l *CallerLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	l.mu.Lock()
	l.count++
	chosen := l.at != 0 && l.count == l.at
	l.mu.Unlock()
	if chosen && l.moment == Asked {
		l.act(ctx, e)
	}
	written, err := l.Log.Append(ctx, e)
	if !chosen || err != nil || l.moment == Asked {
		return written, err
	}
	l.act(ctx, e)
	if err := context.Cause(ctx); err != nil {
		return eventlog.Written{}, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, err)
	}
	if l.moment == AckRecovered {
		return l.Log.Append(ctx, e) // the same entry again: where it stands, and whether others have gone on
	}
	return written, err
}

// Close does nothing: the log outlives the engines.
func (l *CallerLog) Close() error { return nil }
