package jslog

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

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

// HoldMark keeps the mark from being written until release.
func (l *Log) HoldMark() (release func()) {
	l.mark.syncing.Lock()
	return l.mark.syncing.Unlock
}

// FailMark makes every write of the mark fail until restore.
func (l *Log) FailMark() (restore func(), err error) {
	readOnly, err := os.Open(l.mark.file.Name())
	if err != nil {
		return nil, err
	}
	swap := func(f *os.File) *os.File {
		l.mark.syncing.Lock()
		defer l.mark.syncing.Unlock()
		old := l.mark.file
		l.mark.file = f
		return old
	}
	whole := swap(readOnly)
	return func() { _ = swap(whole).Close() }, nil
}

// Marked is up to where the mark in the file covers partition 0.
func Marked(path string) (uint64, error) {
	m, err := openMark(path, new(atomic.Uint64), nil)
	if err != nil {
		return 0, err
	}
	return m.at(0).seq, m.file.Close()
}

// Closing is closed when Close begins.
func (l *Log) Closing() <-chan struct{} { return l.closing }

// Jump reads as a consumer does that comes to the message at seq when the one at from is the next.
func (l *Log) Jump(ctx context.Context, from, seq uint64, yield func(eventlog.Record, error) bool) bool {
	return l.newReader(0, from, "").fill(ctx, seq, yield)
}

// SetMaxElection makes the log wait as one whose streams have several replicas.
func (l *Log) SetMaxElection(least time.Duration) { l.maxElection = least }

// MaxBehind is how often an entry is refused by a log that lacks what it follows, before that is damage on one server.
const MaxBehind = maxBehind

// Through is the log as one that asks the servers of another connection.
func (l *Log) Through(nc *nats.Conn, maxElection time.Duration) *Log {
	return &Log{nc: nc, cfg: l.cfg, names: l.names, partitions: l.partitions, closing: l.closing,
		maxElection: maxElection}
}

// LookUp looks for an entry as for one that was refused by its fence.
func (l *Log) LookUp(ctx context.Context, e eventlog.Entry) error {
	p := l.PartitionOf(e.Workflow)
	_, err := l.lookUp(ctx, &request{ctx: ctx, entry: e, partition: p, subject: l.names.subject(p, e.Workflow, e.Kind),
		fence: l.names.fence(p, e.Workflow), follows: e.Expected.Seq, expects: e.Expected.Seq})
	return err
}
