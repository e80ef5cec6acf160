package subscription

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// againAfterLoss is how many transitions are delivered once more before the end of a log that has lost delivered ones:
// the facts that note an accepted loss are recorded there, in the place of the lost ones.
const againAfterLoss = 1000

// verified finds out whether the stream is that of the position, and what it has dropped. ready is false while the
// stream is being filled and does not hold again the messages that were delivered.
func (d *delivery) verified(ctx context.Context, stream jetstream.Stream, at position) (verified position, ready bool,
	err error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return at, false, fmt.Errorf("read the state of stream %s: %w", d.Stream, err)
	}
	first, last := max(info.State.FirstSeq, 1), info.State.LastSeq
	same, ready, err := d.isSame(ctx, stream, at, first, last)
	if err != nil || !ready {
		return at, false, err
	}
	switch {
	case same && at.ID == "" && at.Next > last+1: // no message was delivered yet, and the stream has lost its end
		if at.Next = last + 1; at.Begin != "" {
			at.Next = first
		}
	case !same:
		if at, err = d.anew(ctx, at, first); err != nil {
			return at, false, err
		}
	}
	if first > at.Next && last >= first {
		at.dropped(at.Next, first-1)
	}
	return at, true, nil
}

// isSame reports whether the stream holds the last message that was looked at, in its place; a message that is dropped
// counts as held, since nothing else is known of it. ready is false while the stream ends before it and the log still
// holds its fact, so that it will come.
func (d *delivery) isSame(ctx context.Context, stream jetstream.Stream, at position, first, last uint64) (same,
	ready bool, err error) {
	if at.ID == "" || at.LastSeq < first && first <= last {
		return true, true, nil
	}
	if at.LastSeq <= last {
		m, err := messageAt(ctx, stream, at.LastSeq)
		return err == nil && (m == nil || m.Header.Get("ce-id") == at.ID), true, err
	}
	// Messages that a killed process had not written yet, and those of a deleted stream, are filled in from the log.
	held, err := d.held(ctx, at)
	if err != nil || !held || at.Through == "" {
		return false, true, err
	}
	m, err := messageAt(ctx, stream, last)
	return false, err == nil && m != nil && reached(m.Header.Get("pawl-positions"), at.Through), err
}

// beginning is the sequence of the first message that may hold a fact behind the positions in begin, and that of the
// next message for a stream without facts of a log. Messages are looked at from the last one back: few engines publish
// much between the moment in which begin was read and this one.
func beginning(ctx context.Context, stream jetstream.Stream, begin string) (uint64, error) {
	if stream == nil {
		return 1, nil
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the state of stream %s: %w", stream.CachedInfo().Config.Name, err)
	}
	next := info.State.LastSeq + 1
	for begin != "" && next > max(info.State.FirstSeq, 1) {
		m, err := messageAt(ctx, stream, next-1)
		if err != nil {
			return 0, err
		}
		if m != nil {
			if through := m.Header.Get("pawl-positions"); through != "" && reached(begin, through) {
				break
			}
		}
		next--
	}
	return next, nil
}

// messageAt reads a message of the stream; nil for one that it does not hold.
func messageAt(ctx context.Context, stream jetstream.Stream, seq uint64) (*jetstream.RawStreamMsg, error) {
	m, err := stream.GetMsg(ctx, max(seq, 1))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read message %d of the stream: %w", seq, err)
	}
	return m, nil
}

// anew is the position in another stream: its beginning, with facts left out that were delivered. Where the log has
// lost those, it has since recorded others in their place.
func (d *delivery) anew(ctx context.Context, at position, first uint64) (position, error) {
	held, err := d.held(ctx, at)
	if err != nil {
		return at, err
	}
	begin := earlier(at.Through, 1)
	if !held {
		begin = earlier(lowest(at.Through, d.Begin), againAfterLoss)
	}
	d.logger.Warn("the stream is another one than before; the subscription goes on behind what it has delivered",
		"stream", d.Stream, "delivered", at.Through, "lost", !held)
	at.Next, at.Begin = first, begin
	at.last(place{})
	return at, nil
}

// held reports whether the log holds the fact that was delivered last.
func (d *delivery) held(ctx context.Context, at position) (bool, error) {
	recorded, err := eventlog.ParsePosition(at.Position)
	if at.Position == "" || err != nil || d.cfg.Holds == nil {
		return true, nil // the message was no fact of a log
	}
	id := at.ID[:max(0, strings.LastIndexByte(at.ID, '-'))]
	held, err := d.cfg.Holds(ctx, recorded, eventlog.TransitionID(id))
	if err != nil {
		return false, fmt.Errorf("look for transition %s in the log: %w", id, err)
	}
	return held, nil
}

// dropped notes that the stream does not hold these messages any more.
func (at *position) dropped(from, to uint64) {
	if at.Gap != nil {
		from = min(from, at.Gap.From)
	}
	at.Gap = &gap{from, to}
	at.Next = to + 1
}

// before reports whether the position of a fact is at or before these positions of the log, all in the form of the
// feed's headers.
func before(position, places string) bool {
	at, err := eventlog.ParsePosition(position)
	if err != nil || places == "" {
		return false
	}
	for p := range eachPlace(places) {
		if p.Partition == at.Partition {
			return at.Seq <= p.Seq
		}
	}
	return false
}

// reached reports whether the first positions are, in each partition, not before the others.
func reached(places, others string) bool {
	for p := range eachPlace(others) {
		if !before(p.String(), places) {
			return false
		}
	}
	return true
}

// earlier are the positions so many transitions before these. Perhaps not all facts of the transition at each of them
// are delivered.
func earlier(places string, by uint64) string {
	var all []string
	for p := range eachPlace(places) {
		p.Seq -= min(by, p.Seq)
		all = append(all, p.String())
	}
	return strings.Join(all, ",")
}

// lowest are the lower of the two positions of each partition in places.
func lowest(places, others string) string {
	var all []string
	for p := range eachPlace(places) {
		for other := range eachPlace(others) {
			if other.Partition == p.Partition {
				p.Seq = min(p.Seq, other.Seq)
			}
		}
		all = append(all, p.String())
	}
	return strings.Join(all, ",")
}

// eachPlace yields the positions that a header of the feed joins.
func eachPlace(places string) func(yield func(eventlog.Position) bool) {
	return func(yield func(eventlog.Position) bool) {
		for text := range strings.SplitSeq(places, ",") {
			if p, err := eventlog.ParsePosition(text); err == nil && !yield(p) {
				return
			}
		}
	}
}
