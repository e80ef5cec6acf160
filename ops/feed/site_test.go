package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline bounds what must happen by itself.
const deadline = 2 * time.Minute

// site is a log, and a server for its feed.
type site struct {
	t     testing.TB
	nc    *nats.Conn
	js    jetstream.JetStream
	log   *memlog.Log
	heads map[eventlog.WorkflowName]eventlog.Head
	made  int
}

func newSite(t testing.TB, partitions int) *site {
	t.Helper()
	s := natstest.NewServer(t, natstest.Fast)
	return siteOn(t, natstest.Connect(t, s), memlog.New(memlog.Config{Partitions: partitions}))
}

func siteOn(t testing.TB, nc *nats.Conn, log *memlog.Log) *site {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &site{t: t, nc: nc, js: js, log: log, heads: map[eventlog.WorkflowName]eventlog.Head{}}
}

// config is that of a feeder that waits for nothing long. The server sets aside what a stream may keep, and there are
// many streams.
func (s *site) config() Config {
	return Config{Log: s.log, Conn: s.nc, Installation: "TEST", MaxBytes: 2 * LeastBytes, Idle: 5 * time.Millisecond,
		MissingWait: time.Millisecond, Pause: time.Millisecond, Logger: slog.New(slog.NewTextHandler(s.t.Output(), nil))}
}

// record appends a transition with so many facts, and returns it as an engine observes it.
func (s *site) record(w eventlog.WorkflowName, facts int) eventlog.Record {
	s.t.Helper()
	made := make([]eventlog.Fact, facts)
	for i := range made {
		s.made++
		made[i] = &eventlog.EventConsumed{Topic: "orders", MessageID: eventlog.MessageID(fmt.Sprintf("m%d", s.made)),
			Run: "01RUN"}
	}
	return s.recordFacts(w, made...)
}

func (s *site) recordFacts(w eventlog.WorkflowName, facts ...eventlog.Fact) eventlog.Record {
	s.t.Helper()
	s.made++
	t := eventlog.Transition{ID: eventlog.TransitionID(fmt.Sprintf("01TEST-%d", s.made)), Workflow: w,
		At: eventlog.At(time.Unix(1700000000, 0)).Add(time.Duration(s.made) * time.Millisecond), Actor: eventlog.System,
		Cause: eventlog.Cause{Kind: "test"}, Kind: facts[0].FactType(), Facts: facts}
	e, err := eventlog.NewEntry(t, s.heads[w])
	if err != nil {
		s.t.Fatal(err)
	}
	written, err := s.log.Append(s.t.Context(), e)
	if err != nil {
		s.t.Fatal(err)
	}
	s.heads[w] = written.Head
	t.Revision, t.Prev = e.Expected.Revision+1, e.Expected.Hash
	return eventlog.Record{Position: eventlog.Position{Partition: s.log.PartitionOf(w), Seq: written.Seq}, Hash: e.Hash(),
		Size: len(e.Stored), Transition: t}
}

// feeder starts one that ends with the test, or before by the function.
func (s *site) feeder(c Config) (*Feeder, func()) {
	s.t.Helper()
	f, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	stop := func() { cancel(); <-ended }
	s.t.Cleanup(stop)
	return f, stop
}

// caughtUp waits until the feeder has published all of the log.
func (s *site) caughtUp(f *Feeder) {
	s.t.Helper()
	for p := range s.log.Partitions() {
		last, err := s.log.Last(s.t.Context(), p)
		if err != nil {
			s.t.Fatal(err)
		}
		f.backlog.saw(p, last)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	if err := f.Await(ctx); err != nil {
		s.t.Fatalf("the feed does not catch up: %v", err)
	}
}

// message is what a follower gets.
type message struct {
	Subject string
	Header  map[string]string
	Data    string
}

// published reads the whole feed.
func (s *site) published(prefix string) []message {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), StreamName(prefix))
	if err != nil {
		s.t.Fatal(err)
	}
	state := stream.CachedInfo().State
	var all []message
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		m, err := stream.GetMsg(s.t.Context(), seq)
		if err != nil {
			s.t.Fatalf("message %d: %v", seq, err)
		}
		h := map[string]string{}
		for name, values := range m.Header {
			if !strings.HasPrefix(name, "Nats-") { // the server's own, and the fence
				h[name] = strings.Join(values, "|")
			}
		}
		all = append(all, message{m.Subject, h, string(m.Data)})
	}
	return all
}

// expected is what the feed must hold of the log's partition, read without the feeder.
func (s *site) expected(log eventlog.Log, prefix string) []message {
	s.t.Helper()
	var all []message
	for r, err := range log.Read(s.t.Context(), 0, 1) {
		if err != nil {
			s.t.Fatal(err)
		}
		if r.Workflow == eventlog.Installation {
			continue
		}
		for i, fact := range r.Facts {
			data, err := json.Marshal(fact)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, message{
				Subject: fmt.Sprintf("%s.feed.%s.%s", prefix, r.Workflow, fact.FactType()), Data: string(data),
				Header: map[string]string{
					"ce-specversion": "1.0", "ce-id": fmt.Sprintf("%s-%d", r.ID, i+1),
					"ce-source": "/pawl/TEST/" + string(r.Workflow),
					"ce-type":   fmt.Sprintf("pawl.%s.v%d", fact.FactType(), eventlog.VersionOf(fact)),
					"ce-time":   r.At.Time().Format(time.RFC3339Nano), "ce-datacontenttype": "application/json",
					"content-type": "application/json", "ce-partitionkey": string(r.Workflow),
					"ce-sequence": fmt.Sprintf("%020d", r.Revision), "pawl-count": fmt.Sprint(len(r.Facts)),
					"pawl-position":  fmt.Sprintf("0:%d", r.Position.Seq),
					"pawl-positions": fmt.Sprintf("0:%d", r.Position.Seq),
				},
			})
		}
	}
	return all
}

// same compares a feed with what it must be.
func (s *site) same(got, want []message) {
	s.t.Helper()
	equal := func(a, b message) bool {
		return a.Subject == b.Subject && a.Data == b.Data && maps.Equal(a.Header, b.Header)
	}
	if slices.EqualFunc(got, want, equal) {
		return
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			s.t.Fatalf("%d messages, want %d; the first that lacks: %+v", len(got), len(want), want[i])
		case i >= len(want):
			s.t.Fatalf("%d messages, want %d; the first that is too many: %+v", len(got), len(want), got[i])
		case !equal(got[i], want[i]):
			s.t.Fatalf("message %d of %d (want %d):\n got %+v\nwant %+v", i+1, len(got), len(want), got[i], want[i])
		}
	}
}
