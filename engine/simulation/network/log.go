package network

import (
	"context"
	"fmt"
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// Log is a log as the engine of a link reads it. What it appends goes another way.
type Log struct {
	eventlog.Log
	Link *Link
}

// reach returns once the link reaches the log, or with ctx's error.
func (l Log) reach(ctx context.Context) error {
	if err := l.Link.Pass(ctx, ToLog); err != nil {
		return fmt.Errorf("reach the log: %w", err)
	}
	return nil
}

// Last implements eventlog.Log.
func (l Log) Last(ctx context.Context, partition int) (uint64, error) {
	if err := l.reach(ctx); err != nil {
		return 0, err
	}
	return l.Log.Last(ctx, partition)
}

// Read implements eventlog.Log.
func (l Log) Read(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.read(ctx, l.Log.Read(ctx, partition, from))
}

// ReadWorkflow implements eventlog.Log.
func (l Log) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName,
	from uint64) iter.Seq2[eventlog.Record, error] {
	return l.read(ctx, l.Log.ReadWorkflow(ctx, w, from))
}

func (l Log) read(ctx context.Context, all iter.Seq2[eventlog.Record, error]) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		if err := l.reach(ctx); err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		all(yield)
	}
}

// Watch implements eventlog.Log: the records come late where the engine follows late.
func (l Log) Watch(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range l.Log.Watch(ctx, partition, from) {
			if l.reach(ctx) != nil || l.Link.Pass(ctx, Following) != nil || !yield(r, err) {
				return
			}
		}
	}
}
