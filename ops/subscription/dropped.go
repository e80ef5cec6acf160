package subscription

import (
	"context"
	"fmt"
	"time"
)

// passDropped announces the messages that the stream has dropped unread: the stream now begins at first. The caller
// locks reading.
func (s *session) passDropped(ctx context.Context, first uint64) error {
	if first <= s.looked+1 || !s.out.empty(ctx) {
		return nil
	}
	s.keeping.Lock()
	s.advance()
	s.at.dropped(s.looked+1, first-1)
	s.keeping.Unlock()
	return s.announce(ctx)
}

// announce delivers the announcement of dropped messages. It fails if the position cannot be saved, or when ctx ends
// first: no message behind the dropped ones may be delivered then, and the next session begins with the announcement.
func (s *session) announce(ctx context.Context) error {
	s.keeping.Lock()
	lost, err := *s.at.Gap, s.store.save(ctx, s.Name, s.at)
	s.keeping.Unlock()
	failed := func(err error) error {
		return fmt.Errorf("announce that messages %d to %d of stream %s were dropped, to subscription %s: %w", lost.From,
			lost.To, s.Stream, s.Name, err)
	}
	if err != nil {
		return failed(err)
	}
	s.logger.Warn("messages were dropped before they were delivered, and the receiver is told so: the feed keeps no more "+
		"than feed-bytes; the log still has its facts", "stream", s.Stream, "from", lost.From, "to", lost.To)
	s.figures.gaps.WithLabelValues(s.Name).Inc()
	message, err := lost.announcement(s.Stream, "/pawl/subscription/"+s.Name, time.Now())
	if err != nil {
		panic("unreachable: numbers and texts are written as JSON: " + err.Error())
	}
	err = s.out.add(ctx, item{seq: lost.To, message: message, kind: typeGap, recorded: time.Now()})
	if err != nil {
		return failed(err)
	}
	if !s.out.empty(ctx) {
		return failed(ctx.Err())
	}
	s.looked = max(s.looked, lost.To)
	s.keeping.Lock()
	s.at.Gap = nil
	s.keeping.Unlock()
	return nil
}
