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

// keep saves the position from time to time until ctx ends.
func (s *session) keep(ctx context.Context) error {
	ticks, idle := time.NewTicker(saveEvery), time.Now()
	defer ticks.Stop()
	warned := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if time.Since(idle) >= idleEvery {
			idle = time.Now()
			if err := s.followIdle(ctx); err != nil {
				return err
			}
		}
		if err := s.save(ctx); err != nil && ctx.Err() == nil && err.Error() != warned {
			warned = err.Error()
			s.logger.Warn("the position is not kept; after a restart some messages may be delivered twice", "error", err)
		}
	}
}

// save saves the position if it has changed.
func (s *session) save(ctx context.Context) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	before := s.at
	s.advance()
	if samePosition(before, s.at) {
		return nil
	}
	if err := s.store.save(ctx, s.Name, s.at); err != nil {
		s.at = before
		return err
	}
	s.mu.Lock()
	s.delivery.at = s.at
	s.mu.Unlock()
	return nil
}

// advance moves the position behind the delivered messages. The caller locks keeping.
func (s *session) advance() {
	now := s.out.progress()
	if p := now.passed; p.seq >= s.at.Next {
		s.at.Next = p.seq + 1
		if p.at.id != "" {
			s.at.last(p.at)
		}
	}
	s.at.FailingSince = nil
	if !now.failingSince.IsZero() {
		since := now.failingSince.UTC()
		s.at.FailingSince = &since
	}
}

func samePosition(a, b position) bool {
	same := func(x, y *time.Time) bool { return x == nil && y == nil || x != nil && y != nil && x.Equal(*y) }
	return a.Next == b.Next && a.ID == b.ID && same(a.FailingSince, b.FailingSince) && (a.Gap == nil) == (b.Gap == nil)
}

// followIdle moves the position to the end of a stream that has no more messages for the subscription. So messages of
// others that the stream drops later are no gap.
func (s *session) followIdle(ctx context.Context) error {
	state, ok := s.caughtUp(ctx)
	if !ok || state.Msgs == 0 {
		return nil
	}
	last := state.LastSeq
	m, err := s.stream.GetMsg(ctx, last)
	if err != nil || !s.reading.TryLock() {
		return nil // a message has come, so the position is moved the next time
	}
	defer s.reading.Unlock()
	// Messages that were dropped since the last time may have been for the subscription.
	if err := s.passDropped(ctx, state.FirstSeq); err != nil || ctx.Err() != nil {
		return err
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if last > s.looked && s.out.progress().waiting == 0 {
		s.advance()
		s.looked = last
		s.at.Next = last + 1
		s.at.last(placeOf(m))
		if err := s.store.save(ctx, s.Name, s.at); err != nil {
			return fmt.Errorf("follow stream %s: %w", s.Stream, err)
		}
	}
	return nil
}

// caughtUp reports whether every message of the stream, in the returned state, is delivered or not chosen. It asks the
// stream, since a consumer gets a message only some time after the stream has it.
func (s *session) caughtUp(ctx context.Context) (state jetstream.StreamState, ok bool) {
	info, err := s.stream.Info(ctx)
	if err != nil || !s.reading.TryLock() {
		return state, false // another message is being passed to the outbox, and waits for room
	}
	defer s.reading.Unlock()
	if !s.announced || s.out.progress().waiting > 0 {
		return state, false
	}
	for _, subject := range s.Subjects {
		m, err := s.stream.GetMsg(ctx, s.looked+1, jetstream.WithGetMsgSubject(subject))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil, m.Sequence <= info.State.LastSeq:
			return state, false
		}
	}
	return info.State, true
}
