package feed

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/pawl-run/pawl/eventlog"
)

// cursor is the place where publishing goes on.
type cursor struct {
	sequence uint64   // that of the feed's last message
	done     []uint64 // the last position of each partition that is published, at least in part
	// partial is the position of a transition of which only the first facts are published, and facts is their number;
	// zero for none.
	partial eventlog.Position
	facts   int
}

// next is the first position of each partition that is to be published.
func (c cursor) next() []uint64 {
	next := make([]uint64, len(c.done))
	for p, seq := range c.done {
		next[p] = seq + 1
	}
	if c.facts > 0 {
		next[c.partial.Partition] = c.partial.Seq
	}
	return next
}

// resume reads from the feed where publishing goes on: behind its last message. Where the log does not hold the
// transition of that message (since the log has lost its end), it is behind the newest message whose transition it
// holds.
func (f *Feeder) resume(ctx context.Context, stream jetstream.Stream) (cursor, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return cursor{}, fmt.Errorf("read the state of the feed: %w", err)
	}
	c := cursor{sequence: info.State.LastSeq, done: make([]uint64, f.cfg.Log.Partitions())}
	if info.State.Msgs == 0 {
		return c, nil
	}
	past := past{feeder: f, stream: stream, first: info.State.FirstSeq}
	last, found, err := past.newestHeld(ctx, info.State.LastSeq)
	if err != nil {
		return cursor{}, fmt.Errorf("find where the feed goes on: %w", err)
	}
	if last.sequence != info.State.LastSeq {
		f.cfg.Logger.Warn("the newest messages of the feed tell of transitions that the log does not hold, or cannot be "+
			"read; the feed goes on with what the log holds in their place",
			"from", last.sequence+1, "to", info.State.LastSeq)
	}
	if !found {
		return c, nil
	}
	copy(c.done, last.positions)
	if last.n < last.count {
		c.partial, c.facts = last.position, last.n
	}
	return c, nil
}

// past is what the feed's stream holds.
type past struct {
	feeder *Feeder
	stream jetstream.Stream
	first  uint64
}

// newestHeld is the newest message, at or before a sequence, whose transition the log holds. It goes back transition by
// transition: where the log lost its end more than once, messages that are held come behind others that are not.
func (p past) newestHeld(ctx context.Context, from uint64) (newest entry, found bool, err error) {
	for at := from; at >= p.first; {
		e, held, err := p.held(ctx, at)
		if err != nil || held {
			return e, held, err
		}
		at -= min(at, uint64(max(e.n, 1)))
	}
	return entry{}, false, nil
}

// held reports whether the log holds the transition of the message at that sequence. A message
// that is missing counts as not held.
func (p past) held(ctx context.Context, sequence uint64) (entry, bool, error) {
	m, err := p.stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return entry{}, false, nil
	}
	if err != nil {
		return entry{}, false, fmt.Errorf("read message %d of the feed: %w", sequence, err)
	}
	e, err := readEntry(sequence, m.Header)
	if err != nil {
		return entry{}, false, fmt.Errorf("message %d of the feed was not published by pawl (%s): %w", sequence,
			p.feeder.makeAgain(), err)
	}
	log := p.feeder.cfg.Log
	if len(e.positions) != log.Partitions() {
		return e, false, fmt.Errorf("message %d of the feed knows %d partitions, the log has %d; %s", sequence,
			len(e.positions), log.Partitions(), p.feeder.makeAgain())
	}
	for partition, seq := range e.positions {
		last, err := log.Last(ctx, partition)
		if err != nil || seq > last {
			return e, false, err
		}
	}
	if e.notice {
		return e, true, nil
	}
	held, err := Holds(ctx, log, e.position, e.transition)
	return e, held, err
}

// Holds reports whether the log holds that transition at a position. A record that cannot be read may be the
// transition, so it counts as held. A record that was accepted as lost counts as held too, since its position is not
// used again.
func Holds(ctx context.Context, log eventlog.Log, at eventlog.Position, id eventlog.TransitionID) (bool, error) {
	if last, err := log.Last(ctx, at.Partition); err != nil || at.Seq > last {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for r, err := range log.Read(ctx, at.Partition, at.Seq) {
		switch {
		case errors.Is(err, eventlog.ErrUnreadable), errors.Is(err, eventlog.ErrDamaged):
			return true, nil
		case err != nil:
			return false, err
		}
		return r.Position != at || r.ID == id, nil
	}
	return true, nil // no record is left from here to the end: all are set aside
}

// makeAgain says what an operator does about a stream that is not this log's feed. No NATS user may delete it.
func (f *Feeder) makeAgain() string {
	return "stop pawl and delete the folder jetstream/$G/streams/" + StreamName(f.cfg.Prefix) +
		" of its data directory; the feed is then made again from the log"
}
