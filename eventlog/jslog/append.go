package jslog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// Append implements eventlog.Log.
func (l *Log) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	written, err := l.appendAll(ctx, []eventlog.Entry{e})
	if err != nil {
		return eventlog.Written{}, err
	}
	return written[0], nil
}

// AppendGroup implements eventlog.GroupLog: the entries are consecutive messages of one batch, of which the first alone
// is fenced (C10). Where there are no batches, or they do not all fit into one, each follows the one before by itself.
func (l *Log) AppendGroup(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	size, fits := 0, true
	for _, e := range entries {
		size += len(e.Stored) + headerRoom
		fits = fits && len(e.Stored) <= l.maxSize && checkKind(e.Kind) == nil
	}
	if len(entries) > l.MaxGroup() || size > l.cfg.MaxBatchBytes || !fits {
		return eventlog.AppendInOrder(ctx, l, entries)
	}
	return l.appendAll(ctx, entries)
}

// maxGroup bounds a group, so that the entries of other workflows do not wait long behind it.
const maxGroup = 32

// MaxGroup implements eventlog.GroupLog.
func (l *Log) MaxGroup() int {
	if !l.grouping {
		return 1
	}
	return min(maxGroup, l.cfg.MaxBatch)
}

// appendAll hands entries of one workflow to the committer of their partition and waits for their answers.
func (l *Log) appendAll(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	first, format := entries[0], 0
	if err := first.Workflow.ValidateOwner(); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	for _, e := range entries {
		if err := checkKind(e.Kind); err != nil {
			return nil, fmt.Errorf("append to %s: %w", e.Workflow, err)
		}
		if len(e.Stored) > l.maxSize {
			return nil, fmt.Errorf("append %s revision %d of %d bytes, the log takes %d: %w",
				e.Workflow, e.Expected.Revision+1, len(e.Stored), l.maxSize, eventlog.ErrTooLarge)
		}
		format = max(format, e.Format)
	}
	p := l.PartitionOf(first.Workflow)
	if format > eventlog.FormatFirst {
		if err := l.raiseFormat(ctx, p, format, l.cfg.HoldFormat); err != nil {
			return nil, fmt.Errorf("append to %s: %w", first.Workflow, err)
		}
	}
	follows := l.partitions[p].aside.last(first.Workflow, first.Expected.Seq)
	if follows == 0 && len(l.partitions[p].aside[""]) > 0 {
		var err error
		if follows, err = l.lastForeign(ctx, p, first.Workflow); err != nil {
			return nil, fmt.Errorf("append to %s: %w: %w", first.Workflow, eventlog.ErrUnconfirmed, err)
		}
	}
	requests := make([]*request, len(entries))
	for i, e := range entries {
		requests[i] = &request{
			ctx: ctx, entry: e, partition: p,
			subject: l.names.subject(p, e.Workflow, e.Kind), fence: l.names.fence(p, e.Workflow),
			follower:  i > 0,
			uncertain: l.isUnconfirmed(first),
			done:      make(chan result, 1),
		}
	}
	requests[0].follows, requests[0].expects, requests[0].followers = follows, follows, requests[1:]
	if !l.partitions[p].committer.enqueue(requests[0]) {
		requests[0].fail(requests[0].refuse(eventlog.ErrClosed))
	}
	return l.answers(ctx, requests)
}

// answers waits for the answers to the requests of one workflow.
func (l *Log) answers(ctx context.Context, requests []*request) ([]eventlog.Written, error) {
	written := make([]eventlog.Written, 0, len(requests))
	for _, r := range requests {
		var res result
		select {
		case res = <-r.done:
		case <-ctx.Done():
			// The committer may be sending it at this moment.
			res.err = fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, context.Cause(ctx))
		}
		l.noteFate(r.entry, res.err)
		if res.err != nil {
			return written, fmt.Errorf("append to %s at revision %d: %w", r.entry.Workflow, r.entry.Expected.Revision+1,
				res.err)
		}
		written = append(written, res.written)
	}
	return written, nil
}

// isUnconfirmed reports whether an earlier Append of this entry ended with ErrUnconfirmed.
func (l *Log) isUnconfirmed(e eventlog.Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unconfirmed[e.Workflow] == e.ID
}

// noteFate keeps the id of a workflow's unconfirmed append: a later attempt that is refused for
// want of space must not say that nothing was written.
func (l *Log) noteFate(e eventlog.Entry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case isUnconfirmed(err):
		l.unconfirmed[e.Workflow] = e.ID
	case l.unconfirmed[e.Workflow] == e.ID:
		delete(l.unconfirmed, e.Workflow)
	}
}

// raiseFormat makes the partition's stream say that it holds what an older version does not know, before
// the first such message is written: an older one then refuses the log by its format, and does not take
// that message for damage. It never lowers what the stream says. With held it leaves the stream as it is, and refuses
// an entry that needs a newer format.
func (l *Log) raiseFormat(ctx context.Context, p, want int, held bool) error {
	f := &l.partitions[p].format
	f.raising.Lock()
	defer f.raising.Unlock()
	if want <= f.known {
		return nil
	}
	return l.raise(ctx, p, want, held)
}

// raise is raiseFormat, but asks the stream even if its format is known already. The caller holds the lock of the
// format.
func (l *Log) raise(ctx context.Context, p, want int, held bool) error {
	says := 0
	err := l.retry(ctx, func() error {
		info, err := l.info(ctx, l.names.stream(p))
		if err != nil {
			return err
		}
		cfg := info.Config
		// What cannot be read as a number was refused when the log was opened.
		if says, err = strconv.Atoi(cfg.Metadata[metaFormat]); err != nil || says >= want {
			return err
		}
		if held {
			return fmt.Errorf("%w: it has format %d, and this needs %d", eventlog.ErrHeldFormat, says, want)
		}
		cfg.Metadata = maps.Clone(cfg.Metadata)
		cfg.Metadata[metaFormat] = strconv.Itoa(want)
		_, err = l.js.UpdateStream(ctx, cfg)
		return err
	})
	if errors.Is(err, eventlog.ErrHeldFormat) {
		return err
	}
	if err != nil {
		// Nothing of the entry was handed to the stream, or an earlier try has raised the format already.
		return fmt.Errorf("%w: say that the log has format %d: %w", eventlog.ErrUnconfirmed, want, err)
	}
	l.partitions[p].format.known = max(want, says)
	return nil
}

// keepFormat raises the format again where the stream says an older one than before. Two programs that read a stream's
// configuration and then write it may each undo what the other one has changed: JetStream compares nothing. A leader
// that was deposed and does not know it yet may say an older format too, so the older format must last for some time.
func (l *Log) keepFormat(ctx context.Context, p int, cfg jetstream.StreamConfig) error {
	says, err := strconv.Atoi(cfg.Metadata[metaFormat])
	f := &l.partitions[p].format
	if err != nil || l.cfg.LookOnly || !f.raising.TryLock() {
		return err // or it is being raised
	}
	defer f.raising.Unlock()
	if f.lower.least = l.maxElection; says >= f.known {
		f.lower.reset()
		return nil
	}
	if f.lower.failed(); !f.lower.over(1) {
		return nil
	}
	f.lower.reset()
	l.cfg.Logger.Warn("the stream's configuration names an older log format than before: another program has changed it "+
		"at the same time; the format is written again", "stream", cfg.Name, "says", says, "said", f.known)
	return l.raise(ctx, p, f.known, false)
}

// RaiseFormat lets the log hold what needs the format: those that do not read it are refused from then on. It never
// lowers what the log says. After an error some partitions may have it; it may be repeated.
func (l *Log) RaiseFormat(ctx context.Context, format int) error {
	if format > eventlog.FormatVersion {
		return fmt.Errorf("%w: %d, this pawl knows up to %d", eventlog.ErrNewerFormat, format, eventlog.FormatVersion)
	}
	for p := range l.partitions {
		if err := l.raiseFormat(ctx, p, format, false); err != nil {
			return err
		}
	}
	return nil
}

// Admits implements eventlog.FormatHolder.
func (l *Log) Admits(ctx context.Context, p, format int) error {
	if err := l.usable(p); err != nil || !l.cfg.HoldFormat {
		return err
	}
	return l.raiseFormat(ctx, p, format, true)
}

// Format is the newest format that each partition may hold.
func (l *Log) Format(ctx context.Context) (int, error) {
	lowest := eventlog.FormatVersion
	for p := range l.partitions {
		err := l.retry(ctx, func() error {
			info, err := l.info(ctx, l.names.stream(p))
			if err != nil {
				return err
			}
			says, err := strconv.Atoi(info.Config.Metadata[metaFormat])
			lowest = min(lowest, says)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("read the format of the log: %w", err)
		}
	}
	return lowest, nil
}

// lastForeign is for a workflow that has no transition yet: the sequence of the last foreign message under its name,
// which was set aside since it belongs to no workflow. The first transition follows it. It is 0 when there is none.
func (l *Log) lastForeign(ctx context.Context, p int, w eventlog.WorkflowName) (uint64, error) {
	aside, last := l.partitions[p].aside, uint64(0)
	for _, s := range aside[""] {
		for at := s.from; at <= s.to; at++ {
			m, err := l.fetchAgain(ctx, p, query{Seq: at, Next: l.names.fence(p, w)})
			if isMessageNotFound(err) {
				return last, nil
			}
			if err != nil {
				return 0, fmt.Errorf("look for foreign messages: %w", err)
			}
			if !aside.hold("", m.Seq) {
				return last, nil
			}
			last, at = m.Seq, m.Seq
		}
	}
	return last, nil
}
