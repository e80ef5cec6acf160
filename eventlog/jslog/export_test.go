package jslog

import "github.com/pawl-run/pawl/eventlog"

// DropAnswers makes the log lose every answer for which drop is true; nil loses none.
func (l *Log) DropAnswers(drop func(eventlog.Entry) bool) {
	if drop == nil {
		l.dropAnswer.Store(nil)
		return
	}
	l.dropAnswer.Store(&drop)
}

// SyncMark syncs the mark now instead of within a second.
func (l *Log) SyncMark() error { return l.mark.sync() }
