package subscription

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// resume ends a parking, and checks that what it skips is what is recorded.
func (s *site) resume(d *Deliveries, r Resumption) (skipped *eventlog.SkippedMessage, err error) {
	s.t.Helper()
	var recorded *eventlog.SkippedMessage
	r.By, r.Record = "ann", func(m *eventlog.SkippedMessage) error { recorded = m; return nil }
	_, skipped, err = d.Resume(s.t.Context(), r)
	if skipped != recorded {
		s.t.Errorf("%v is skipped, and %v is recorded", skipped, recorded)
	}
	return skipped, err
}

// A message that its receiver refuses for ever is left out if a person says so, also over a restart that reads it
// again: all others are delivered, those before it included.
func TestRefusedMessageIsSkipped(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	d, stop := s.begun()
	s.mu.Lock()
	s.answer = func(delivered) int { return http.StatusInternalServerError }
	s.mu.Unlock()
	first := s.publish("v", "run.committed") // it still fails when the next one is refused
	<-s.came
	poison := s.publish("w", "run.failed")
	last := s.publish("w", "run.committed")
	s.mu.Lock()
	s.answer = func(e delivered) int {
		switch e.ID {
		case poison:
			return http.StatusGone
		case first:
			return http.StatusInternalServerError
		}
		return http.StatusOK
	}
	s.mu.Unlock()
	s.parked(d)
	if skipped, err := s.resume(d, Resumption{Name: "all", Skip: true}); err != nil || skipped.ID != poison {
		t.Fatalf("%+v is skipped, %v", skipped, err)
	}
	s.receives(last)
	stop()
	s.mu.Lock()
	s.got = nil
	s.mu.Unlock()
	s.start()
	s.receives(last) // it stands behind the first one, and so comes again
	s.mu.Lock()
	s.answer = func(delivered) int { return http.StatusOK }
	s.mu.Unlock()
	s.receives(first)
	if got := s.received(0); slices.Contains(got, poison) {
		t.Errorf("received %v, which holds %s", got, poison)
	}
}

// parked waits until the subscription is.
func (s *site) parked(d *Deliveries) {
	s.t.Helper()
	for d.List()[0].State != StateParked {
		s.caughtUp(d) // it returns while attempts fail
	}
}

// The announcement of a gap may be refused as well, and then be skipped.
func TestRefusedAnnouncementIsSkipped(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	d, stop := s.begun()
	s.publish("w", "run.committed")
	s.caughtUp(d)
	stop()
	for range 15 { // the stream holds 10
		s.publish("w", "run.committed")
	}
	s.mu.Lock()
	s.answer = func(e delivered) int {
		if e.Type == typeGap {
			return http.StatusGone
		}
		return http.StatusOK
	}
	s.mu.Unlock()
	d, _ = s.start()
	s.parked(d)
	if skipped, err := s.resume(d, Resumption{Name: "all", Skip: true}); err != nil || skipped.Type != typeGap {
		t.Fatalf("%+v is skipped, %v", skipped, err)
	}
	s.caughtUp(d)
	if got := s.received(11); got[1] != "01TEST7-1" || len(got) != 11 {
		t.Errorf("received %v", got)
	}
}

// A session that cannot save what it is about to announce says which messages it is about, to which subscription, and
// why.
func TestAnnouncementCannotBeSaved(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	d, stop := s.begun()
	stop()
	store, err := openPositions(t.Context(), d.cfg, s.js)
	if err == nil {
		err = s.js.DeleteStream(t.Context(), d.cfg.positionStream())
	}
	if err != nil {
		t.Fatal(err)
	}
	at := position{Next: 6, Gap: &gap{3, 5}}
	err = (&session{delivery: d.all[0], store: store, at: at}).read(t.Context(), at)
	const what = "announce that messages 3 to 5 of stream PAWL_FEED were dropped, to subscription all: "
	if !errors.Is(err, jetstream.ErrNoStreamResponse) || !strings.HasPrefix(err.Error(), what) {
		t.Errorf("it ended with %v", err)
	}
}

// A parking that an earlier version has kept names no message: there is nothing to skip.
func TestNothingToSkip(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	d, stop := s.begun()
	stop()
	store, err := openPositions(t.Context(), d.cfg, s.js)
	if err == nil {
		err = store.save(t.Context(), "all", position{Next: 1, Parked: &parked{Error: "no"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	d, _ = s.start()
	s.caughtUp(d)
	if _, err := s.resume(d, Resumption{Name: "all", Skip: true}); !errors.Is(err, ErrNotNoted) {
		t.Errorf("skipped what is not known: %v", err)
	}
	if _, err := s.resume(d, Resumption{Name: "all"}); err != nil {
		t.Error(err)
	}
}
