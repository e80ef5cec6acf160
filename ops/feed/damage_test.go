package feed

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// holed is a log that lacks a range of messages. As the one on JetStream does, it tells of it once, where the reading
// meets it.
type holed struct {
	eventlog.Log
	from, to uint64
}

func (l holed) Read(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		told := false
		for r, err := range l.Log.Read(ctx, partition, from) {
			if seq := r.Position.Seq; seq >= l.from && seq <= l.to {
				if told {
					continue
				}
				told = true
				r = eventlog.Record{Position: r.Position}
				err = fmt.Errorf("%w: the messages %d to %d are missing", eventlog.ErrDamaged, seq, l.to)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestDamagedRangeIsAnnouncedOnce: its announcement covers all of it, so a feeder that starts behind the announcement
// does not tell of the rest again.
func TestDamagedRangeIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	for name, hole := range map[string]struct {
		from, to  uint64
		positions string
	}{
		"in the middle": {3, 5, "0:5"}, "at the end": {6, 8, "0:8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			for range 8 {
				s.record("w", 1)
			}
			c := s.config()
			c.Log = holed{s.log, hole.from, hole.to}
			kill := make(chan struct{})
			killed(&c, int(hole.from), true, sync.OnceFunc(func() { close(kill) }))
			_, stop := s.feeder(c)
			<-kill
			stop()
			c.Publish = nil
			for range 2 {
				f, stop := s.feeder(c)
				s.caughtUp(f)
				stop()
			}
			whole := s.expected(s.log, "pawl")
			got := s.published("")
			notice := got[hole.from-1]
			s.same(slices.Delete(got, int(hole.from)-1, int(hole.from)), slices.Delete(whole, int(hole.from)-1, int(hole.to)))
			if notice.Header[headerPosition] != fmt.Sprintf("0:%d", hole.from) ||
				notice.Header[headerPositions] != hole.positions || notice.Subject != "pawl.feed._log.log.unreadable" {
				t.Errorf("announced as %+v", notice)
			}
		})
	}
}

// TestDamageBesideDamage: two records that stand beside each other are two problems.
func TestDamageBesideDamage(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.record("a", 1)
	s.log.Spoil(s.record("b", 1).Position)
	s.log.Spoil(s.record("c", 1).Position)
	f, _ := s.feeder(s.config())
	s.caughtUp(f)
	var got []string
	for _, m := range s.published("") {
		got = append(got, m.Subject+" "+m.Header[headerPositions])
	}
	want := []string{"pawl.feed.a.event.consumed 0:1", "pawl.feed.b.log.unreadable 0:2", "pawl.feed.c.log.unreadable 0:3"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestFactThatCannotBeEncoded: it is announced like what cannot be read, and the feed goes on.
func TestFactThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	c := s.config()
	c.Idle, c.MissingWait = time.Hour, time.Hour // the record comes from memory
	f, stop := s.feeder(c)
	s.record("w", 1)
	s.caughtUp(f) // from here on the feeder reads no log
	r := s.record("w", 3)
	want := s.expected(s.log, "pawl")[:2]
	r.Facts = []eventlog.Fact{r.Facts[0], &eventlog.EventPublished{Payload: []byte("{")}, r.Facts[2]}
	f.Observe(r)
	s.caughtUp(f)
	stop()
	f, _ = s.feeder(c)
	s.caughtUp(f)
	f.Observe(s.record("w", 1))
	s.caughtUp(f)
	got := s.published("")
	if len(got) != 4 || got[2].Subject != "pawl.feed.w.log.unreadable" || got[2].Header[headerPosition] != "0:2" {
		t.Fatalf("published %+v", got)
	}
	s.same(slices.Delete(got, 2, 3), append(want, s.expected(s.log, "pawl")[4]))
}

// TestLagFallsWhileCatchingUp: what is acknowledged counts at once, not only when the end of the log is reached.
func TestLagFallsWhileCatchingUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	const all = 2*groupMessages + 10
	for range all {
		s.record("w", 1)
	}
	var f *Feeder
	var lag uint64
	c, sent := s.config(), 0
	c.Publish = func(m *nats.Msg) error {
		if sent++; sent == groupMessages+1 {
			lag = f.backlog.lag(0)
		}
		return s.nc.PublishMsg(m)
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	s.caughtUp(f)
	cancel()
	<-ended
	if lag != all-groupMessages {
		t.Errorf("the lag is %d when the second group of %d begins", lag, all)
	}
}

// TestLogLostItsEndTwice: what the log holds stands in the feed behind what it does not hold, and is found there.
func TestLogLostItsEndTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	heads := map[int]eventlog.Head{}
	record := func(from, n int) {
		for i := range n {
			s.record("w", 1+i%2)
			heads[from+i] = s.heads["w"]
		}
	}
	publish := func() []message {
		f, stop := s.feeder(s.config())
		s.caughtUp(f)
		stop()
		return s.published("")
	}
	record(1, 20)
	publish()
	s.log, s.heads["w"] = copyOf(t, s.log, 5), heads[5]
	record(6, 4)
	before := publish()
	s.log, s.heads["w"] = copyOf(t, s.log, 7), heads[7]
	known := len(s.expected(s.log, "pawl"))
	s.same(publish(), before)
	record(8, 2)
	s.same(publish(), append(before, s.expected(s.log, "pawl")[known:]...))
}

// TestFolderIsDeleted: an operator does as the messages say.
func TestFolderIsDeleted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	start := func(log *memlog.Log) (*site, *embeddednats.Server) {
		server := natstest.NewServer(t, natstest.InDir(dir))
		return siteOn(t, natstest.Connect(t, server), log), server
	}
	s, server := start(memlog.New(memlog.Config{}))
	f, stop := s.feeder(s.config())
	for range 5 {
		f.Observe(s.record("w", 2))
	}
	s.caughtUp(f)
	stop()
	s.nc.Close()
	server.Shutdown()
	folder := filepath.Join(dir, "jetstream", "$G", "streams", "PAWL_FEED")
	if _, err := os.Stat(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	s, _ = start(s.log)
	f, _ = s.feeder(s.config())
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
}
