package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

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
