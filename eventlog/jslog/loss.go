package jslog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// AcceptLoss makes a damaged log usable again: it writes down, in the metadata of its streams,
// which sequences are missing, and sets the high-water mark to what is left. Readers then pass
// over those sequences without an error; whether a workflow's past is still whole is for an
// [eventlog.Chain] to say. The engine must be stopped. It returns a line for everything accepted,
// none if nothing was missing. A stream that is gone altogether cannot be accepted.
func AcceptLoss(ctx context.Context, nc *nats.Conn, cfg Config) ([]string, error) {
	l, infos, err := prepare(ctx, nc, cfg)
	if err != nil {
		return nil, err
	}
	defer l.cancel()
	defer func() { _ = l.mark.close() }()
	var lines []string
	ends := make([]point, len(infos))
	for p, info := range infos {
		accepted, err := parseSpans(info.Config.Metadata[metaLost])
		if err != nil {
			return nil, fmt.Errorf("accept loss in %s: %w", info.Config.Name, err)
		}
		l.partitions[p].accepted = accepted
		seen, err := l.survey(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("accept loss: %w", err)
		}
		unreadable, err := l.unreadable(ctx, p, seen)
		if err != nil {
			return nil, fmt.Errorf("accept loss: %w", err)
		}
		missing := unreadable.without(accepted)
		tail, replaced := "", false
		if l.mark != nil {
			at := l.mark.at(p)
			if at.seq > seen.last {
				tail = fmt.Sprintf("stream %s: the end from %d to %d", info.Config.Name, seen.last+1, at.seq)
			} else if at.seq > 0 {
				m, err := l.fetchPatiently(ctx, p, query{Seq: at.seq})
				if err != nil && !isMessageNotFound(err) {
					return nil, fmt.Errorf("accept loss: %w", err)
				}
				replaced = err == nil && eventlog.HashOf(m.Data) != at.hash
			}
		}
		if missing != nil {
			lines = append(lines, fmt.Sprintf("stream %s: messages %s", info.Config.Name, missing))
		}
		if tail != "" {
			lines = append(lines, tail)
		}
		if replaced {
			lines = append(lines, fmt.Sprintf("stream %s: message %d is another one than was acknowledged", info.Config.Name, l.mark.at(p).seq))
		}
		if missing != nil || tail != "" || replaced {
			if err := l.recordLoss(ctx, p, missing, true); err != nil {
				return nil, err
			}
		}
		if ends[p], err = l.end(ctx, p, seen.last, l.partitions[p].accepted); err != nil {
			return nil, fmt.Errorf("accept loss: %w", err)
		}
	}
	if cfg.Mark != "" && len(lines) > 0 {
		m, err := createMark(cfg.Mark, l.installation, ends, &l.counters.marks, l.markFailed)
		if err != nil {
			return nil, fmt.Errorf("accept loss: %w", err)
		}
		if err := m.close(); err != nil {
			return nil, fmt.Errorf("accept loss: %w", err)
		}
	}
	return lines, nil
}

// unreadable reads the partition and returns what cannot be read of it: the server does not list
// among what is missing a message that it finds damaged only when it is asked for.
func (l *Log) unreadable(ctx context.Context, p int, seen survey) (spans, error) {
	part, missing := l.partitions[p], seen.missing
	// What is known to be missing must not be waited for.
	before := part.accepted
	for _, s := range missing {
		part.accepted = part.accepted.with(s)
	}
	defer func() { part.accepted = before }()
	next := uint64(1)
	for r, err := range l.Read(ctx, p, 1) {
		if err != nil && r.Position.Seq == 0 {
			return nil, err
		}
		if errors.Is(err, eventlog.ErrDamaged) {
			continue // where it ends shows in what follows
		}
		if r.Position.Seq > next {
			missing = missing.with(span{next, r.Position.Seq - 1})
		}
		next = r.Position.Seq + 1
	}
	if next <= seen.last {
		missing = missing.with(span{next, seen.last})
	}
	return missing, nil
}

// recordLoss writes accepted sequences into the stream's metadata. A new epoch makes every
// checkpoint on this partition worthless: sequences after a lost end are used again.
func (l *Log) recordLoss(ctx context.Context, p int, lost spans, newEpoch bool) error {
	part := l.partitions[p]
	info, err := l.info(ctx, l.names.stream(p))
	if err != nil {
		return fmt.Errorf("record loss: %w", err)
	}
	cfg := info.Config
	cfg.Metadata = maps.Clone(cfg.Metadata)
	for _, s := range lost {
		part.accepted = part.accepted.with(s)
	}
	if len(part.accepted) > 0 {
		cfg.Metadata[metaLost] = part.accepted.String()
	}
	if newEpoch {
		epoch, err := strconv.Atoi("0" + cfg.Metadata[metaEpoch])
		if err != nil {
			return fmt.Errorf("record loss in %s: %w", cfg.Name, err)
		}
		cfg.Metadata[metaEpoch] = strconv.Itoa(epoch + 1)
	}
	if _, err := l.js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("record loss in %s: %w", cfg.Name, err)
	}
	return nil
}
