package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// session reads the stream from one position on, and saves the position.
type session struct {
	*delivery
	store  *positions
	stream jetstream.Stream
	out    *outbox
	// begin are the positions of the log up to which facts are left out.
	begin string

	// keeping guards the position. It is never held while a message waits for room.
	keeping sync.Mutex
	at      position

	// reading guards the fields below. It is held while a message passes from the stream to the outbox.
	reading sync.Mutex
	// looked is the sequence of the stream up to which all messages are in the outbox, or not chosen.
	looked uint64
	// announced says that messages which were dropped before the session began are announced to the receiver.
	announced bool
}

// run delivers until ctx ends or something fails; it returns nil after the subscription was parked.
func (s *session) run(ctx context.Context, at position) (err error) {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.at, s.begin, s.looked = at, at.Begin, at.Next-1
	s.mu.Lock()
	s.delivery.now = s
	s.mu.Unlock()
	ended := make(chan error, 2)
	var parts sync.WaitGroup
	parts.Go(func() { ended <- s.read(ctx, at) })
	parts.Go(func() { ended <- s.keep(ctx) })
	var why *parked
	select {
	case err = <-ended:
	case p := <-s.out.stuck:
		why = &p
	case <-ctx.Done():
	}
	cancel()
	parts.Wait()
	s.out.running.Wait()
	s.mu.Lock()
	s.delivery.now = nil
	s.mu.Unlock()
	last, stop := context.WithTimeout(context.WithoutCancel(outer), lastSave)
	defer stop()
	if why != nil {
		s.keeping.Lock()
		defer s.keeping.Unlock()
		s.advance()
		s.park(outer, s.store, s.at, *why)
		return nil
	}
	return errors.Join(err, s.save(last))
}

// read passes the messages of the stream to the outbox, from a position on.
func (s *session) read(ctx context.Context, from position) error {
	if from.Gap != nil {
		if err := s.announce(ctx); err != nil {
			return err
		}
	}
	s.reading.Lock()
	s.announced = true
	s.reading.Unlock()
	consumer, err := s.js.OrderedConsumer(ctx, s.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: s.Subjects,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from.Next})
	if err != nil {
		return fmt.Errorf("read stream %s: %w", s.Stream, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(maxAttempts))
	if err != nil {
		return fmt.Errorf("read stream %s: %w", s.Stream, err)
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	defer messages.Stop()
	for {
		m, err := messages.Next()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read stream %s: %w", s.Stream, err)
		}
		if err := s.take(ctx, m); err != nil {
			return err
		}
	}
}

// take passes one message to the outbox.
func (s *session) take(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("read stream %s: %w", s.Stream, err)
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	seq := meta.Sequence.Stream
	if seq <= s.looked { // the feed has published it again after a kill
		return nil
	}
	if seq > s.looked+1 {
		info, err := s.stream.Info(ctx)
		if err != nil {
			return fmt.Errorf("read the state of stream %s: %w", s.Stream, err)
		}
		if err := s.passDropped(ctx, min(info.State.FirstSeq, seq)); err != nil || ctx.Err() != nil {
			return err
		}
	}
	h := m.Headers()
	message, err := event(h, m.Data())
	if err != nil {
		return fmt.Errorf("message %d of stream %s: %w", seq, s.Stream, err)
	}
	if !s.skips(message.ID) && !before(h.Get("pawl-position"), s.begin) {
		err = s.out.add(ctx, item{seq: seq, line: h.Get("ce-partitionkey"), message: message, kind: h.Get("ce-type"),
			recorded: meta.Timestamp, at: place{id: message.ID, seq: seq, position: h.Get("pawl-position"),
				through: h.Get("pawl-positions")}})
	}
	if err != nil {
		return nil // ctx has ended
	}
	s.looked = seq
	return nil
}

// skips reports whether a person chose to leave the message undelivered.
func (s *session) skips(id string) bool {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	return slices.Contains(s.at.Skipped, id)
}

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
