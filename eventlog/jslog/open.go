package jslog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// Open opens the log, creating it if it never existed, and checks that it is whole as far as
// that can be seen without reading it. Errors: ErrDamaged, ErrNewerFormat, a partition count
// other than the log's, a stream that is not a log, or a connection that does not work. The
// connection stays the caller's; it must not be closed before the Log.
//
// A cluster without a leader is waited for until ctx ends.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	l, infos, err := prepare(ctx, nc, cfg, nil)
	if err != nil {
		return nil, err
	}
	if err := l.start(ctx, infos); err != nil {
		l.cancel()
		if l.mark != nil {
			err = errors.Join(err, l.mark.close())
		}
		return nil, err
	}
	return l, nil
}

// prepare makes a Log that knows its streams and its mark, without any check of their content.
func prepare(ctx context.Context, nc *nats.Conn, cfg Config, accepting *Lost) (*Log, []*jetstream.StreamInfo, error) {
	cfg, err := cfg.withDefaults(nc)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(cfg.ReadTimeout))
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	l := &Log{
		nc: nc, js: &guarded{JetStream: js, before: cfg.BeforeUpdate}, cfg: cfg, names: names{cfg.Prefix},
		session:     rand.Text(),
		maxSize:     int(min(nc.MaxPayload()-headerRoom, maxTransition)),
		accepting:   accepting,
		closing:     make(chan struct{}),
		unconfirmed: make(map[eventlog.WorkflowName]eventlog.TransitionID),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if cfg.Mark != "" {
		if l.mark, err = openMark(cfg.Mark, &l.counters.marks, l.markFailed); err != nil && !l.accept(err) {
			l.cancel()
			return nil, nil, fmt.Errorf("open log: %w", err)
		}
	}
	if l.cfg.KeepMark && l.mark != nil {
		l.cfg.Unsynced = l.mark.unsynced
	}
	infos, err := l.streams(ctx)
	if err == nil {
		err = l.endCompression(ctx, infos)
	}
	if err != nil {
		l.cancel()
		return nil, nil, errors.Join(fmt.Errorf("open log: %w", err), l.mark.close())
	}
	return l, infos, nil
}

func (l *Log) start(ctx context.Context, infos []*jetstream.StreamInfo) error {
	ends := make([]point, len(infos))
	for p, info := range infos {
		end, err := l.check(ctx, p, info)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		ends[p] = end
	}
	if err := l.resumeMark(ends); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.grouping = true
	for p, info := range infos {
		l.grouping = l.grouping && info.Config.AllowAtomicPublish && info.Config.Replicas == 1
		if info.Config.Replicas > 1 {
			l.maxElection = maxElection
			if l.cfg.AckTimeout == defaultAck {
				l.cfg.AckTimeout = replicatedAck
			}
		}
		c, err := newCommitter(l, p, info.Config)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		l.partitions[p].committer = c
	}
	for _, p := range l.partitions {
		go p.committer.run()
	}
	return nil
}

// resumeMark creates the mark where there is none. The mark is only ever raised: what is above
// it may be an append of the last moment that was not acknowledged.
func (l *Log) resumeMark(ends []point) error {
	if l.cfg.Mark == "" || l.cfg.KeepMark && (l.mark == nil || l.cfg.LookOnly) {
		return nil
	}
	switch {
	case l.mark == nil:
		for _, end := range ends {
			if end.seq > 0 && !l.cfg.Unsynced {
				l.warn(fmt.Sprintf("there was no high-water mark at %s: "+
					"whether the log lost its newest transitions before this start cannot be told", l.cfg.Mark))
				break
			}
		}
		if l.cfg.Unsynced {
			ends = make([]point, len(ends)) // it says that the log exists, and no more
		}
		return l.replaceMark(ends)
	case l.cfg.Unsynced && !l.mark.unsynced:
		return l.replaceMark(l.mark.points) // what was synced stays marked
	case l.mark.unsynced && !l.cfg.Unsynced:
		return l.replaceMark(ends)
	}
	for p, end := range ends {
		l.mark.observe(p, end)
	}
	return l.mark.sync()
}

// replaceMark writes a mark at these points in the place of what was there.
func (l *Log) replaceMark(points []point) error {
	m, err := createMark(l.cfg.Mark, l.installation, points, l.cfg.Unsynced, &l.counters.marks, l.markFailed)
	if err != nil {
		return err
	}
	err = l.mark.close()
	l.mark = m
	return err
}

// Close implements eventlog.Log. It waits for the appends that were sent: those that were
// answered succeed, the others end with ErrUnconfirmed.
func (l *Log) Close() error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	l.mu.Unlock()
	if !already {
		close(l.closing)
		l.cancel()
	}
	for _, p := range l.partitions {
		p.committer.close()
	}
	l.confirming.Wait()
	if err := l.mark.close(); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}
