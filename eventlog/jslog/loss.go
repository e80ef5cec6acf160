package jslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// AcceptLoss makes a damaged log usable again: it writes down, in the metadata of its streams,
// which sequences are missing, and sets the high-water mark to what is left. Readers then pass
// over those sequences without an error; whether a workflow's past is still whole is for an
// [eventlog.Chain] to say. The engine must be stopped. A stream that is gone altogether cannot be
// accepted.
func AcceptLoss(ctx context.Context, nc *nats.Conn, cfg Config) (Lost, error) {
	var found Lost
	l, infos, err := prepare(ctx, nc, cfg, &found)
	if err != nil {
		return found, err
	}
	defer l.cancel()
	defer func() { _ = l.mark.close() }()
	ends := make([]point, len(infos))
	for p, info := range infos {
		if ends[p], err = l.acceptIn(ctx, p, info.Config.Name); err != nil {
			return found, fmt.Errorf("accept loss: %w", err)
		}
	}
	if cfg.Mark != "" && len(found.Lines) > 0 {
		if l.cfg.Unsynced {
			ends = make([]point, len(ends))
		}
		m, err := createMark(cfg.Mark, l.installation, ends, l.cfg.Unsynced, &l.counters.marks, l.markFailed)
		if err != nil {
			return found, fmt.Errorf("accept loss: %w", err)
		}
		if err := m.close(); err != nil {
			return found, fmt.Errorf("accept loss: %w", err)
		}
	}
	return found, nil
}

// acceptIn accepts what a partition lacks, and returns where it ends.
func (l *Log) acceptIn(ctx context.Context, p int, name string) (point, error) {
	seen, err := l.survey(ctx, p)
	if err != nil {
		return point{}, err
	}
	missing, err := l.unreadable(ctx, p, seen)
	if err != nil {
		return point{}, err
	}
	// An earlier acceptance may have been interrupted before it told what it found, so that is told again. Sequences
	// behind the end are used again.
	part := l.partitions[p]
	missing = missing.without(part.accepted).with(part.unrecorded.upTo(seen.last)...)
	found, before := l.accepting, len(l.accepting.Lines)
	if part.endLost {
		found.end("stream %s: perhaps its newest messages", name)
	}
	if missing, err = l.againstMark(ctx, p, name, seen.last, missing); err != nil {
		return point{}, err
	}
	if missing != nil {
		found.hole("stream %s: messages %s", name, missing)
	}
	if seen.odd != nil && missing == nil {
		found.end("%v", seen.odd)
	}
	now, err := l.forgetBehind(ctx, p, name, seen.last)
	if err != nil {
		return point{}, err
	}
	if len(found.Lines) > before || found.End {
		now.accepted = now.accepted.with(missing...)
		now.unrecorded, now.endLost = missing.within(maxUnrecorded), found.End
		if err := l.cfg.BeforeAccept(*found); err != nil {
			return point{}, err
		}
		if err := l.recordLoss(ctx, p, now, true); err != nil {
			return point{}, err
		}
	}
	return l.end(ctx, p, seen.last, part.accepted)
}

// againstMark looks for the last message that was acknowledged, and returns what is missing with it. The mark is
// replaced after the acceptance is written down: it may still name a message that an interrupted one has accepted.
func (l *Log) againstMark(ctx context.Context, p int, name string, last uint64, missing spans) (spans, error) {
	if l.mark == nil {
		return missing, nil
	}
	at := l.mark.at(p)
	if at.seq > last {
		l.accepting.end("stream %s: the end from %d to %d", name, last+1, at.seq)
		return missing, nil
	}
	if at.seq == 0 {
		return missing, nil
	}
	m, err := l.fetchUntilReachable(ctx, p, query{Seq: at.seq})
	switch {
	case isMessageNotFound(err):
		return missing.with(span{at.seq, at.seq}), nil
	case err != nil:
		return nil, err
	case eventlog.HashOf(m.Data) != at.hash:
		l.accepting.end("stream %s: message %d is another one than was acknowledged", name, at.seq)
	}
	return missing, nil
}

// forgetBehind returns what is known of losses, without what was accepted as lost and what was set aside behind the
// end, and of a workflow behind its own last message. Those sequences are used again: what will stand there counts, and
// an append is fenced on what is there.
func (l *Log) forgetBehind(ctx context.Context, p int, name string, last uint64) (losses, error) {
	part, aside := l.partitions[p], asides{}
	for workflow, some := range part.aside {
		end := last
		if workflow != "" {
			fence := l.names.fence(p, workflow)
			m, err := l.fetchUntilReachable(ctx, p, query{Last: fence})
			if isMessageNotFound(err) { // or it is there and damaged, with others before it
				m, err = l.lastReadable(ctx, p, fence)
			}
			if err != nil {
				return losses{}, fmt.Errorf("look for the last message of %s: %w", workflow, err)
			}
			end = min(end, m.Seq)
		}
		if kept := some.upTo(end); kept != nil {
			aside[workflow] = kept
		}
	}
	now := part.losses
	now.accepted, now.aside = now.accepted.upTo(last), aside
	if now.accepted.String() != part.accepted.String() || now.aside.String() != part.aside.String() {
		l.accepting.end("stream %s: messages that an earlier acceptance had given up, and what followed them", name)
	}
	return now, nil
}

// unreadable reads the partition and returns what cannot be read of it. The server's list of missing messages lacks
// those that it finds damaged only when they are asked for.
func (l *Log) unreadable(ctx context.Context, p int, seen survey) (spans, error) {
	part, missing := l.partitions[p], seen.missing
	// What is known to be missing must not be waited for.
	before := part.accepted
	for _, s := range missing {
		part.accepted = part.accepted.with(s)
	}
	defer func() { part.accepted = before }()
	next, failed := uint64(1), error(nil)
	all := l.newReader(p, 1, "")
	all.all = true
	all.run(ctx, seen.last, func(r eventlog.Record, err error) bool {
		switch {
		case err != nil && r.Position.Seq == 0:
			failed = err
			return false
		case errors.Is(err, eventlog.ErrDamaged) && !errors.Is(err, eventlog.ErrUnreadable):
			return true // where it ends shows in what follows
		}
		if r.Position.Seq > next {
			missing = missing.with(span{next, r.Position.Seq - 1})
		}
		next = r.Position.Seq + 1
		return true
	})
	if failed != nil {
		return nil, failed
	}
	if next <= seen.last {
		missing = missing.with(span{next, seen.last})
	}
	return missing, nil
}
