package jslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// check looks for damage with which JetStream starts all the same: missing messages, a lost tail, a last message that
// cannot be read. It returns where the partition ends.
func (l *Log) check(ctx context.Context, p int, info *jetstream.StreamInfo) (point, error) {
	name, part := info.Config.Name, l.partitions[p]
	part.identity = identity(l.installation, p, info.Config.Metadata[metaEpoch])
	seen, err := l.survey(ctx, p)
	if err != nil {
		return point{}, err
	}
	if seen.odd != nil {
		return point{}, seen.odd
	}
	last := seen.last
	accepted := part.accepted
	if len(part.unrecorded) == 0 {
		// Sequences behind the end are used again, so what will stand there is not lost. (Where an acceptance was
		// interrupted, the repeated one has to find that itself.)
		accepted = accepted.upTo(last)
	}
	missing := seen.missing.without(accepted)

	// Nothing below the mark may be missing: it was acknowledged, and a request may have left after it.
	acknowledged := point{}
	if l.mark != nil {
		acknowledged = l.mark.at(p)
	}
	if last < acknowledged.seq {
		missing = missing.with(span{last + 1, acknowledged.seq}).without(accepted)
	}
	torn := spans(nil)
	for _, m := range missing {
		// Above the mark anything may be missing from a synced log. Where writes were not synced, only the end may be:
		// acknowledged transitions may have been in a hole, and what stands behind it does not say whose they were.
		end := m.to >= last || !l.unsynced()
		if l.mark == nil && !l.cfg.Unsynced || m.from <= acknowledged.seq || !end {
			return point{}, fmt.Errorf("%w: stream %s lacks the messages %s%s",
				eventlog.ErrDamaged, name, missing, l.belowMark(acknowledged))
		}
		torn = torn.with(m)
	}
	if acknowledged.seq > 0 {
		at, err := l.fetchUntilReachable(ctx, p, query{Seq: acknowledged.seq})
		if err != nil && !isMessageNotFound(err) {
			return point{}, err
		}
		if err != nil || eventlog.HashOf(at.Data) != acknowledged.hash {
			return point{}, fmt.Errorf("%w: stream %s: message %d is not the one that was acknowledged "+
				"(the high-water mark %s has its hash); the log was replaced or lost its end",
				eventlog.ErrDamaged, name, acknowledged.seq, l.cfg.Mark)
		}
	}
	now := part.losses
	now.accepted = accepted.with(torn...)
	if now.accepted.String() != part.accepted.String() {
		if err := l.recordLoss(ctx, p, now, false); err != nil {
			return point{}, err
		}
	}
	if torn != nil || seen.lostBytes > 0 {
		note := "nothing of it was acknowledged before a request left"
		if l.unsynced() {
			note = "writes were not synced, so some of it may have been acknowledged"
		}
		l.warn(fmt.Sprintf("stream %s lost its end when it was stopped (messages %q, %d bytes): %s", name, torn,
			seen.lostBytes, note))
	}
	return l.end(ctx, p, last, part.accepted)
}

// unsynced reports whether the log was last written, or will be, by a server that does not sync every
// write.
func (l *Log) unsynced() bool { return l.cfg.Unsynced || l.mark != nil && l.mark.unsynced }

func (l *Log) belowMark(acknowledged point) string {
	if l.mark == nil {
		return ""
	}
	return fmt.Sprintf(", acknowledged up to %d", acknowledged.seq)
}

// survey is what can be seen of a stream without reading it.
type survey struct {
	last      uint64
	missing   spans
	lostBytes uint64
	odd       error // what the server says of it contradicts itself
}

func (l *Log) survey(ctx context.Context, p int) (survey, error) {
	name := l.names.stream(p)
	var info *jetstream.StreamInfo
	err := l.untilReachable(ctx, func() error {
		s, err := l.js.Stream(ctx, name)
		if err == nil {
			info, err = s.Info(ctx, jetstream.WithDeletedDetails(true))
		}
		if err == nil {
			err = fromLeader(info)
		}
		return err
	})
	if err != nil {
		return survey{}, fmt.Errorf("look at stream %s: %w", name, err)
	}
	s := info.State
	seen := survey{last: s.LastSeq, missing: runs(s.Deleted)}
	if s.LastSeq == 0 {
		return survey{}, nil // the server lists sequence 0 of an empty stream as deleted
	}
	first := s.FirstSeq
	if s.Msgs == 0 {
		first = s.LastSeq + 1
	}
	if first > 1 {
		seen.missing = seen.missing.with(span{1, first - 1})
	}
	if s.Lost != nil {
		seen.lostBytes = s.Lost.Bytes
		for _, one := range runs(s.Lost.Msgs) {
			seen.missing = seen.missing.with(one)
		}
	}
	if present := s.LastSeq - min(seen.missing.count(), s.LastSeq); present != s.Msgs && s.Lost == nil {
		seen.odd = fmt.Errorf("%w: stream %s says it has %d messages up to %d, %d known to be missing",
			eventlog.ErrDamaged, name, s.Msgs, s.LastSeq, seen.missing.count())
	}
	// The end may be damaged without any sign: then the last message cannot be read.
	for seq := seen.last; seq > 0; seq-- {
		if (spans{{seq, seq}}).without(seen.missing) == nil {
			continue
		}
		_, err := l.fetchUntilReachable(ctx, p, query{Seq: seq})
		if err == nil {
			break
		}
		if !isMessageNotFound(err) {
			return survey{}, err
		}
		seen.missing = seen.missing.with(span{seq, seq})
	}
	return seen, nil
}

// end reads the partition's last message.
func (l *Log) end(ctx context.Context, p int, last uint64, accepted spans) (point, error) {
	for ; last > 0; last-- {
		if (spans{{last, last}}).without(accepted) == nil {
			continue
		}
		m, err := l.fetchUntilReachable(ctx, p, query{Seq: last})
		if err != nil {
			return point{}, err
		}
		return point{last, eventlog.HashOf(m.Data)}, nil
	}
	return point{}, nil
}

// finding is what stands in the log after the head that an entry was decided on.
type finding struct {
	seq      uint64 // the entry itself
	conflict bool   // only others' messages
	last     uint64 // the workflow's last message
}

// lookUp reads the workflow's messages after the expected one from the stream's leader. An
// expected sequence is passed only once, so if others stand there and the entry does not, it
// never will.
func (l *Log) lookUp(ctx context.Context, r *request) (finding, error) {
	var f finding
	last, err := l.fetch(ctx, r.partition, query{Last: r.fence})
	if err != nil && !isMessageNotFound(err) {
		return f, err
	}
	f.last = last.Seq
	between := l.newReader(r.partition, r.follows+1, r.fence)
	for between.next <= f.last {
		m, err := l.fetch(ctx, r.partition, query{Seq: between.next, Next: r.fence})
		if isMessageNotFound(err) { // the search ends at a damaged message, with others behind it
			if m, err = between.probe(ctx, f.last); err == nil && m.Seq == 0 {
				err = errBehind
			}
		}
		if err != nil {
			return f, err
		}
		// The bytes hold the entry's random id, so equal bytes are this entry and no other's.
		if eventlog.HashOf(m.Data) == r.entry.Hash() {
			f.seq = m.Seq
			return f, nil
		}
		between.next = m.Seq + 1
	}
	f.conflict = f.last > r.follows
	return f, nil
}

// followLost lets the entry follow a message although the server knows none of the workflow, or an older one, as its
// last: it searches for the last message and cannot read it. It reports whether the entry may follow: the message is
// there, nothing of the workflow stands behind it, and all that is missing behind it was accepted as lost. The entry is
// then fenced on what the server knows, so any message that is written meanwhile still refuses it.
func (l *Log) followLost(ctx context.Context, r *request, serverLast uint64) (bool, error) {
	part := l.partitions[r.partition]
	behind := part.accepted.without(spans{{0, r.follows}})
	if len(behind) == 0 || r.expects == serverLast {
		return false, nil
	}
	m, err := l.fetch(ctx, r.partition, query{Seq: r.follows})
	switch {
	case isMessageNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case l.names.workflow(m.Subject) != r.entry.Workflow,
		r.follows == r.entry.Expected.Seq && eventlog.HashOf(m.Data) != r.entry.Expected.Hash:
		return false, nil
	}
	last, err := l.Last(ctx, r.partition)
	if err != nil {
		return false, err
	}
	follows, failed := true, error(nil)
	after := l.newReader(r.partition, r.follows+1, "")
	after.all = true
	after.run(ctx, last, func(record eventlog.Record, err error) bool {
		switch {
		case err != nil && record.Position.Seq == 0:
			failed = fmt.Errorf("read what stands behind %d: %w", r.follows, err)
		case record.Workflow == r.entry.Workflow, errors.Is(err, eventlog.ErrDamaged) &&
			!errors.Is(err, eventlog.ErrUnreadable):
			follows = false
		}
		return follows && failed == nil
	})
	if failed == nil && follows {
		r.expects = serverLast
	}
	return follows, failed
}

// CheckPlace implements eventlog.PlaceChecker.
func (l *Log) CheckPlace(ctx context.Context, p int, seq uint64, hash eventlog.Hash) error {
	if err := l.usable(p); err != nil {
		return err
	}
	m, err := l.fetchSurely(ctx, p, query{Seq: seq}, new(absences))
	switch {
	case err == nil && eventlog.HashOf(m.Data) == hash:
		return nil
	case err == nil:
		return fmt.Errorf("%w: stream %s: message %d is not the one that this engine has read there before",
			eventlog.ErrDamaged, l.names.stream(p), seq)
	case isMessageNotFound(err):
		return fmt.Errorf("%w: stream %s lacks message %d, which this engine has read there before",
			eventlog.ErrDamaged, l.names.stream(p), seq)
	}
	return fmt.Errorf("look for message %d of partition %d: %w", seq, p, err)
}
