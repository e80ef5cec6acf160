package subscription

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A feed that was deleted and filled again has other sequences: nothing lacks, and what was delivered before the last
// fact is not sent again.
func TestFeedThatIsFilledAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	d, stop := s.begun()
	for range 5 {
		s.publish("w", "run.committed")
	}
	s.caughtUp(d)
	stop()
	if err := s.js.DeleteStream(t.Context(), "PAWL_FEED"); err != nil {
		t.Fatal(err)
	}
	s.stream(100)
	for i := range 7 {
		s.publishAt("other", "log.unreadable", 1000+i) // what moves all sequences
	}
	s.position = 0
	for range 8 {
		s.publish("w", "run.committed")
	}
	s.position = 2000
	d, _ = s.start()
	s.caughtUp(d)
	got := slices.DeleteFunc(s.received(9)[5:], func(id string) bool { return len(id) == len("01TEST1000-1") })
	if want := []string{"01TEST5-1", "01TEST6-1", "01TEST7-1", "01TEST8-1"}; !slices.Equal(got, want) {
		t.Errorf("received %v, want %v", got, want)
	}
}

// The position follows a stream in which nothing is chosen, and passes over nothing that the stream has just taken in:
// its consumer hears of that a little later.
func TestThePositionPassesOverNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, -1)
	d, _ := s.begun("pawl.feed.w.>")
	d.all[0].mu.Lock()
	now := d.all[0].now
	d.all[0].mu.Unlock()
	for range 500 {
		id := s.publish("w", "run.committed")
		if err := now.followIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.receives(id)
	}
}

// A feed that is being filled again may have fewer messages than before, and other sequences: nothing lacks.
func TestFeedThatIsBeingFilledAgain(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]int{"less than was delivered": 2, "as much as was delivered": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 100)
			d, stop := s.begun()
			for i := range 6 {
				s.publishAt("other", "log.unreadable", 1000+i) // what is not there afterwards
			}
			for range 5 {
				s.publish("w", "run.committed")
			}
			s.caughtUp(d)
			stop()
			if err := s.js.DeleteStream(t.Context(), "PAWL_FEED"); err != nil {
				t.Fatal(err)
			}
			s.stream(100)
			for s.position = 0; s.position < again; {
				s.publish("w", "run.committed")
			}
			s.start()
			for s.position < 8 {
				s.publish("w", "run.committed")
			}
			s.receives("01TEST8-1")
			got := s.received(0)
			if got = got[11:]; got[0] == "01TEST5-1" { // of which not all may have been delivered
				got = got[1:]
			}
			if want := []string{"01TEST6-1", "01TEST7-1", "01TEST8-1"}; !slices.Equal(got, want) {
				t.Errorf("received %v, want %v", got, want)
			}
		})
	}
}

// A log that has lost its end, and the feed with it, records something else there: that is delivered, also where there
// is as much of it as was delivered before.
func TestLogThatLostItsEnd(t *testing.T) {
	t.Parallel()
	for name, refilled := range map[string]int{"the feed is shorter": 7, "the feed is as long": 12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 100)
			d, stop := s.begun()
			for range 10 {
				s.publish("w", "run.committed")
			}
			s.caughtUp(d)
			stop()
			if err := s.js.DeleteStream(t.Context(), "PAWL_FEED"); err != nil {
				t.Fatal(err)
			}
			s.stream(100)
			for s.position = 0; s.position < 5; {
				s.publish("w", "run.committed")
			}
			var want []string
			other := func(position int) {
				want = append(want, s.publishAs("w", "run.failed", position, fmt.Sprintf("01OTHER%d", position)))
			}
			for position := 6; position <= refilled; position++ {
				other(position)
			}
			for position := refilled + 1; position <= 12; position++ { // recorded, and not published yet
				s.mu.Lock()
				s.log[uint64(position)] = fmt.Sprintf("01OTHER%d", position)
				s.mu.Unlock()
			}
			s.start()
			for position := refilled + 1; position <= 12; position++ {
				other(position)
			}
			s.receives("01OTHER12-1")
			got := slices.DeleteFunc(s.received(0), func(id string) bool { return strings.HasPrefix(id, "01TEST") })
			if !slices.Equal(got, want) {
				t.Errorf("received %v, want %v", got, want)
			}
		})
	}
}

// A person may resume a subscription while its parking is not kept yet, as on a full disk: the parking is not kept
// afterwards.
func TestAParkingThatWasResumedIsNotKept(t *testing.T) {
	t.Parallel()
	d := &delivery{}
	if !d.keepParked(t.Context(), nil, position{Parked: &parked{}}) { // nil keeps nothing
		t.Error("it is tried again")
	}
}
