package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// TestEveryFactOnceInOrder: whether a record is observed in order, out of order, late or not at all.
func TestEveryFactOnceInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	workflows := []eventlog.WorkflowName{"one", "two", "three", eventlog.Installation}
	f, _ := s.feeder(s.config())
	chance := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var some []eventlog.Record
		for range 1 + chance.IntN(12) {
			some = append(some, s.record(workflows[chance.IntN(len(workflows))], 1+chance.IntN(5)))
		}
		chance.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		for _, r := range some {
			if chance.IntN(10) > 0 {
				f.Observe(r)
			}
		}
	}
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
	if lag := f.backlog.lag(0); lag != 0 {
		t.Errorf("lag %d", lag)
	}
	// What comes late is not published again, and nothing stays in memory.
	for r, err := range s.log.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		f.Observe(r)
	}
	f.Observe(s.record("one", 1))
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
	if f.backlog.count != 0 || f.backlog.bytes != 0 || len(f.backlog.records[0]) != 0 {
		t.Errorf("%d records with %d bytes wait", f.backlog.count, f.backlog.bytes)
	}
}

// TestObservedIsNotRead: what the engine tells is published without the log being read.
func TestObservedIsNotRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	c := s.config()
	c.Idle, c.MissingWait = time.Hour, time.Hour
	f, _ := s.feeder(c)
	s.caughtUp(f)
	first, second, third := s.record("w", 2), s.record("w", 1), s.record("v", 1)
	f.Observe(third)
	f.Observe(second)
	f.Observe(first)
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
}

// TestBacklogIsBounded: what memory does not hold is read from the log.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	f, err := New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	for range backlogRecords + 100 {
		f.Observe(s.record("w", 1))
	}
	if f.backlog.count != backlogRecords {
		t.Errorf("%d records wait", f.backlog.count)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	s.caughtUp(f)
	cancel()
	<-ended
	s.same(s.published(""), s.expected(s.log, "pawl"))
}

// killed is a publisher that ends its feeder at message n: before it sends it, or right after. What was sent stays
// sent, and its acknowledgement is never seen.
func killed(c *Config, n int, after bool, kill func()) {
	nc, sent := c.Conn, 0
	c.Publish = func(m *nats.Msg) error {
		if sent++; sent < n {
			return nc.PublishMsg(m)
		}
		if sent == n && after {
			if err := nc.PublishMsg(m); err != nil {
				return err
			}
		}
		kill()
		return errors.New("killed")
	}
}

// TestKilledAtEveryMessage: the process ends before or after any message, also in the middle of a transition, and the
// next one goes on there.
func TestKilledAtEveryMessage(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for i := range 6 {
		s.record("a", 1+i%3)
		s.record(eventlog.Installation, 1)
		s.record("b", 2)
	}
	total := len(s.expected(s.log, "pawl"))
	for n := 1; n <= total; n++ {
		for _, after := range []bool{false, true} {
			c := s.config()
			c.Prefix = fmt.Sprintf("k%d%t", n, after)
			s.goesOnAfterKill(c, n, after)
		}
	}
}

// goesOnAfterKill kills a feeder at its message n, before or after the server has it, and wants that the next one
// publishes the rest.
func (s *site) goesOnAfterKill(c Config, n int, after bool) {
	s.t.Helper()
	kill := make(chan struct{})
	killed(&c, n, after, sync.OnceFunc(func() { close(kill) }))
	_, stop := s.feeder(c)
	select {
	case <-kill:
	case <-time.After(deadline):
		s.t.Fatal("the feeder publishes nothing")
	}
	stop()
	c.Publish = nil
	f, stop := s.feeder(c)
	s.caughtUp(f)
	stop()
	s.same(s.published(c.Prefix), s.expected(s.log, c.Prefix))
}

// TestKilledInALargeTransition: one that goes in several groups goes on at the fact where it stopped.
func TestKilledInALargeTransition(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.record("w", 1)
	s.record("w", 2*groupMessages+100)
	s.record("w", 1)
	for _, n := range []int{2, groupMessages, groupMessages + 1, 2*groupMessages + 3} {
		c := s.config()
		c.Prefix = fmt.Sprintf("large%d", n)
		s.goesOnAfterKill(c, n, true)
	}
}

// TestAcknowledgementIsLost: the feeder looks itself what became of what it sent.
func TestAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	c := s.config()
	c.AckTimeout = 50 * time.Millisecond
	var mu sync.Mutex
	lost := 0
	c.Publish = func(m *nats.Msg) error {
		mu.Lock()
		defer mu.Unlock()
		if m.Reply != "" && lost < 3 {
			lost++
			m.Reply = ""
		}
		return s.nc.PublishMsg(m)
	}
	f, _ := s.feeder(c)
	for range 10 {
		f.Observe(s.record("w", 3))
	}
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
	mu.Lock()
	defer mu.Unlock()
	if lost != 3 {
		t.Errorf("%d acknowledgements were lost", lost)
	}
}

// TestTwoFeeders: they get into each other's way, and each fact is published once.
func TestTwoFeeders(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one, _ := s.feeder(s.config())
	two, _ := s.feeder(s.config())
	for i := range 300 {
		r := s.record("w", 1+i%4)
		one.Observe(r)
		two.Observe(r)
	}
	s.caughtUp(one)
	s.caughtUp(two)
	s.same(s.published(""), s.expected(s.log, "pawl"))
}

// TestPartitions: each partition in its order, every position in each message.
func TestPartitions(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	c := s.config()
	kill := make(chan struct{})
	killed(&c, 40, true, sync.OnceFunc(func() { close(kill) }))
	f, stop := s.feeder(c)
	want := map[string][]string{}
	for i := range 100 {
		w := eventlog.WorkflowName(fmt.Sprintf("w%d", i%7))
		r := s.record(w, 1+i%3)
		for n := range r.Facts {
			key := fmt.Sprint(r.Position.Partition)
			want[key] = append(want[key], fmt.Sprintf("%s-%d", r.ID, n+1))
		}
		f.Observe(r)
	}
	<-kill
	stop()
	c.Publish = nil
	f, _ = s.feeder(c)
	s.caughtUp(f)
	got := map[string][]string{}
	for _, m := range s.published("") {
		partition, seq, _ := strings.Cut(m.Header[headerPosition], ":")
		got[partition] = append(got[partition], m.Header[headerID])
		all := strings.Split(m.Header[headerPositions], ",")
		if len(all) != 3 || !strings.Contains(m.Header[headerPositions], partition+":"+seq) {
			t.Fatalf("positions %s of a message at %s", all, m.Header[headerPosition])
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if mode := s.stream("").CachedInfo().Config.PersistMode; mode != jetstream.DefaultPersistMode {
		t.Errorf("what is lost would come again in another order, and is not synced: %v", mode)
	}
}

func (s *site) stream(prefix string) jetstream.Stream {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), StreamName(prefix))
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}
