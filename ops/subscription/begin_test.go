package subscription

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/outgoing"
)

// What an engine does first is delivered, although it is killed before it has delivered anything: where the
// subscription begins is stored before the engine works. An engine that starts later does not move it.
func TestFirstFactsOfAKilledEngine(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	s.publish("w", "run.started") // before there was a subscription
	killed := s.engine()
	if err := killed.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := s.publish("w", "run.failed")
	next, _ := s.start()
	if err := next.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := s.publish("w", "run.committed")
	s.receives(second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) != 2 || s.got[0].ID != first {
		t.Errorf("delivered %+v, want %s and %s", s.got, first, second)
	}
}

// Two engines that start at the same time agree on where a new subscription begins: the sooner one decides.
func TestTheSoonerEngineDecidesTheBeginning(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	d := s.engine()
	store, err := openPositions(t.Context(), d.cfg, d.js)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []uint64{7, 9} { // both have found none
		if at, err := store.create(t.Context(), "all", position{Next: next}); err != nil || at.Next != 7 {
			t.Errorf("begins at %d: %v", at.Next, err)
		}
	}
}

// run lets the engine deliver until the test or the function ends it.
func (s *site) run(d *Deliveries) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	s.t.Cleanup(stop)
	return stop
}

// stored is the stored position of a subscription.
func (s *site) stored(name string) (at position, found bool) {
	s.t.Helper()
	d := s.engine()
	store, err := openPositions(s.t.Context(), d.cfg, d.js)
	if err == nil {
		at, found, err = store.load(s.t.Context(), name)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return at, found
}

// What the engine records before the beginning could be stored is delivered: it lies behind the end of the log at the
// start of the engine.
func TestABeginningThatIsStoredLate(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	s.publish("w", "run.started") // before there was a subscription
	d := s.engine()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Begin(gone); err == nil {
		t.Fatal("it is stored")
	}
	want := []string{s.publish("w", "run.failed"), s.publish("w", "run.committed")}
	s.run(d)
	if got := s.received(2); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("received %v, want %v", got, want)
	}
}

// A subscription whose position cannot be read does not keep the others from beginning.
func TestABeginningThatFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	if err := s.engine().Begin(t.Context()); err != nil { // makes the stream of the positions
		t.Fatal(err)
	}
	if _, err := s.js.Publish(t.Context(), "pawl.subscription.damaged", []byte("{")); err != nil {
		t.Fatal(err)
	}
	to, err := outgoing.New(outgoing.Config{URL: s.server.URL, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	var both []Subscription
	for _, name := range []string{"damaged", "good"} {
		both = append(both, Subscription{Name: name, Target: to, Stream: "PAWL_FEED", Subjects: []string{"pawl.feed.>"},
			Begin: "0:0"})
	}
	d, err := New(Config{Conn: s.nc, Holds: s.holds, Subscriptions: both,
		Policy: schedule.Transient{Base: time.Millisecond, Factor: 1, Max: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan error, 1)
	go func() { began <- d.Begin(ctx) }()
	for end := time.After(deadline); ; {
		if _, found := s.stored("good"); found {
			break
		}
		select {
		case <-end:
			t.Fatal("the other subscription never began")
		default:
		}
	}
	cancel()
	if err := <-began; err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the damaged position is no error: %v", err)
	}
}

// The log has lost its end behind the beginning of a subscription, which begins at the new end then: what is recorded
// in the place of the lost is delivered, also if the engine that found the loss was killed at once.
func TestALogThatLostTheBeginning(t *testing.T) {
	t.Parallel()
	for _, delivered := range []int{0, 1} {
		t.Run(fmt.Sprint(delivered, " delivered"), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 100)
			for range 10 {
				s.publish("w", "run.committed")
			}
			first := s.engine()
			if err := first.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			if delivered > 0 {
				stop := s.run(first)
				s.receives(s.publish("w", "run.committed"))
				s.caughtUp(first)
				stop()
			}
			s.position = 5
			if err := s.engine().Begin(t.Context()); err != nil { // it is killed then
				t.Fatal(err)
			}
			var want []string
			for at := 6; at <= 12; at++ {
				want = append(want, s.publishAs("w", "run.failed", at, fmt.Sprint("01OTHER", at)))
			}
			s.position = 12
			s.start()
			s.receives(s.publish("w", "run.failed"))
			got := s.received(0)
			if !strings.Contains(strings.Join(got, " "), strings.Join(want, " ")) {
				t.Errorf("received %s, want also %v", got, want)
			}
			if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("received one twice: %v", got)
			}
		})
	}
}

// Engines of a cluster that start at the same time begin, although the stream of the positions has no leader yet, and
// although they write the same positions.
func TestEnginesOfAClusterBegin(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three servers")
	}
	t.Parallel()
	c := natstest.NewCluster(t, 3, natstest.Fast)
	for round := range 3 {
		var all sync.WaitGroup
		for i := range 3 {
			nc := c.Connect(i)
			defer nc.Close()
			to, err := outgoing.New(outgoing.Config{URL: "http://127.0.0.1:1", Private: true})
			if err != nil {
				t.Fatal(err)
			}
			var several []Subscription
			for n := range 5 {
				several = append(several, Subscription{Name: fmt.Sprintf("r%d_%d", round, n), Target: to, Stream: "PAWL_FEED",
					Subjects: []string{"pawl.feed.>"}, Begin: fmt.Sprintf("0:%d", i)})
			}
			d, err := New(Config{Conn: nc, Replicas: 3, Subscriptions: several,
				Policy: schedule.Transient{Base: time.Millisecond, Factor: 1, Max: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				if err := d.Begin(ctx); err != nil {
					t.Errorf("round %d, engine %d: %v", round, i, err)
				}
			})
		}
		all.Wait()
	}
}
