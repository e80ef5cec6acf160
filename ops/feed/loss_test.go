package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// heard is what was logged.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) logger() *slog.Logger { return slog.New(slog.NewTextHandler(h, nil)) }

func (h *heard) says(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.text.String(), text)
}

// TestDamageIsAnnounced: what cannot be read is told in its place; what was accepted as lost is passed over.
func TestDamageIsAnnounced(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.record("a", 2)
	spoiled := s.record("b", 2)
	s.record("a", 1)
	lost := s.record("c", 1)
	s.record("a", 1)
	ofAll := s.record(eventlog.Installation, 1)
	atEnd := s.record("c", 1)
	want := s.expected(s.log, "pawl")
	s.log.Spoil(spoiled.Position)
	s.log.Spoil(ofAll.Position)
	s.log.Lose(lost.Position)
	s.log.Lose(atEnd.Position)
	var told heard
	c := s.config()
	c.Logger = told.logger()
	f, stop := s.feeder(c)
	s.caughtUp(f)
	stop()
	got := s.published("")
	if len(got) != 5 {
		t.Fatalf("%d messages: %+v", len(got), got)
	}
	notice := got[2]
	var said Unreadable
	if err := json.Unmarshal([]byte(notice.Data), &said); err != nil || said.Seq != 2 || said.Problem == "" ||
		notice.Subject != "pawl.feed.b.log.unreadable" && notice.Subject != "pawl.feed._log.log.unreadable" ||
		notice.Header[headerType] != "pawl.log.unreadable.v1" || notice.Header[headerPositions] != "0:2" {
		t.Errorf("the damage is announced as %+v", notice)
	}
	s.same(append(got[:2:2], got[3:]...), append(want[:2:2], want[4], want[6]))
	if !told.says("part of the log that cannot be read") {
		t.Error("nothing is said of it")
	}
	// Another feeder goes on behind, also where the announcement is the last message.
	c.Prefix = "again"
	n := 0
	c.Publish = nil
	kill := make(chan struct{})
	killed(&c, 3, true, sync.OnceFunc(func() { close(kill) }))
	_, stop = s.feeder(c)
	<-kill
	stop()
	c.Publish = nil
	f, _ = s.feeder(c)
	s.caughtUp(f)
	for _, m := range s.published("again") {
		if m.Header[headerType] == "pawl.log.unreadable.v1" {
			n++
		}
	}
	if all := s.published("again"); len(all) != 5 || n != 1 {
		t.Errorf("%d announcements in %d messages", n, len(all))
	}
}

// copyOf makes a log of the first transitions of another one, as one that has lost its end.
func copyOf(t *testing.T, log *memlog.Log, n int) *memlog.Log {
	t.Helper()
	short := memlog.New(memlog.Config{})
	for r, err := range log.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Position.Seq > uint64(n) {
			break
		}
		stored, err := eventlog.Encode(r.Transition)
		if err != nil {
			t.Fatal(err)
		}
		short.PutRaw(r.Workflow, stored)
	}
	return short
}

// TestLogLostItsEnd: the feed tells of what is gone. It goes on with what the log holds in its place, however much that
// is, and says so.
func TestLogLostItsEnd(t *testing.T) {
	t.Parallel()
	for _, kept := range []int{0, 1, 6, 19, 20} {
		t.Run(fmt.Sprint(kept), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			heads := map[int]eventlog.Head{}
			for i := range 20 {
				heads[i] = s.heads["w"]
				s.record("w", 1+i%3)
			}
			heads[20] = s.heads["w"]
			f, stop := s.feeder(s.config())
			s.caughtUp(f)
			stop()
			before := s.published("")
			s.log = copyOf(t, s.log, kept)
			s.heads["w"] = heads[kept]
			already := len(s.expected(s.log, "pawl"))
			for range 3 {
				s.record("w", 2)
			}
			var told heard
			c := s.config()
			c.Logger = told.logger()
			f, stop = s.feeder(c)
			s.caughtUp(f)
			stop()
			want := append(before, s.expected(s.log, "pawl")[already:]...)
			s.same(s.published(""), want)
			if told.says("does not hold") != (kept < 20) {
				t.Errorf("logged %q", told.text.String())
			}
			// Once is enough.
			f, _ = s.feeder(c)
			f.Observe(s.record("w", 1))
			s.caughtUp(f)
			s.same(s.published(""), append(want, s.expected(s.log, "pawl")[already+6:]...))
		})
	}
}

// TestFeedLostItsEnd: after a power failure the feed may have lost what followers have read already. It comes again
// with the same sequences, so a follower that goes on behind the one it knows meets nothing twice and misses nothing; a
// durable consumer may be sent a fact twice.
func TestFeedLostItsEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	start := func(log *memlog.Log) (*site, *embeddednats.Server) {
		server := natstest.NewServer(t, natstest.InDir(dir))
		return siteOn(t, natstest.Connect(t, server), log), server
	}
	s, server := start(memlog.New(memlog.Config{}))
	f, stop := s.feeder(s.config())
	for range 10 {
		f.Observe(s.record("w", 2))
	}
	s.caughtUp(f)
	if mode := s.stream("").CachedInfo().Config.PersistMode; mode != jetstream.AsyncPersistMode {
		t.Errorf("persist mode %v", mode)
	}
	stop()
	s.nc.Close()
	server.Shutdown()
	messages := filepath.Join(dir, "jetstream", "$G", "streams", "PAWL_FEED", "msgs")
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(messages)); err != nil {
		t.Fatal(err)
	}
	made, heads := s.made, s.heads

	s, server = start(s.log)
	s.made, s.heads = made, heads
	f, stop = s.feeder(s.config())
	for range 10 {
		f.Observe(s.record("w", 2))
	}
	s.caughtUp(f)
	durable, err := s.stream("").CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "follower",
		AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if got := fetched(t, durable, 40); got[0] != 1 || got[39] != 40 {
		t.Fatalf("the follower got %v", got)
	}
	want := s.published("")
	stop()
	s.nc.Close()
	server.Shutdown()
	if err := os.RemoveAll(messages); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(messages, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	made, heads = s.made, s.heads

	s, _ = start(s.log)
	s.made, s.heads = made, heads
	if last := s.stream("").CachedInfo().State.LastSeq; last != 20 {
		t.Fatalf("the feed ends at %d", last)
	}
	// A follower that keeps the sequence itself may be there before the feeder is.
	byItself, err := s.stream("").OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 41})
	if err != nil {
		t.Fatal(err)
	}
	f, _ = s.feeder(s.config())
	s.caughtUp(f)
	s.same(s.published(""), want)
	for range 3 {
		f.Observe(s.record("w", 1))
	}
	s.caughtUp(f)
	for want := uint64(41); want <= 43; want++ {
		m, err := byItself.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream != want {
			t.Errorf("message %d came, %v; want %d", meta.Sequence.Stream, err, want)
		}
	}
	// The server puts a durable consumer back to where the feed ended: it is given what it has had once more, and
	// misses nothing.
	if durable, err = s.stream("").Consumer(t.Context(), "follower"); err != nil {
		t.Fatal(err)
	}
	if got := fetched(t, durable, 23); got[0] != 21 || got[22] != 43 {
		t.Errorf("then it got %v", got)
	}
}

// fetched takes so many messages and returns their sequences.
func fetched(t *testing.T, c jetstream.Consumer, n int) (sequences []uint64) {
	t.Helper()
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err == nil {
			err = m.DoubleAck(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		sequences = append(sequences, meta.Sequence.Stream)
	}
	if len(sequences) < n {
		t.Errorf("%d messages came of %d", len(sequences), n)
	}
	return sequences
}

// TestStreamIsDeleted: it is made again and filled from the beginning of the log, also while the feeder runs.
func TestStreamIsDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	var told heard
	c := s.config()
	c.Logger = told.logger()
	f, _ := s.feeder(c)
	f.Observe(s.record("w", 3))
	s.caughtUp(f)
	if err := s.js.DeleteStream(t.Context(), "PAWL_FEED"); err != nil {
		t.Fatal(err)
	}
	f.Observe(s.record("w", 2))
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
	if !told.says("made again") {
		t.Errorf("logged %q", told.text.String())
	}
}

// TestStreamKeepsItsContent: nobody removes messages by mistake, and limits are those of the configuration.
func TestStreamKeepsItsContent(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	f, stop := s.feeder(s.config())
	f.Observe(s.record("w", 3))
	s.caughtUp(f)
	stop()
	stream := s.stream("")
	if err := stream.Purge(t.Context()); err == nil {
		t.Error("it can be purged")
	}
	if err := stream.DeleteMsg(t.Context(), 1); err == nil {
		t.Error("a message can be deleted")
	}
	if got := stream.CachedInfo().Config; got.MaxBytes != 2*LeastBytes || got.Discard != jetstream.DiscardOld {
		t.Errorf("the stream keeps %+v", got)
	}
	changed := stream.CachedInfo().Config
	changed.MaxMsgs = 100
	if _, err := s.js.UpdateStream(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	c := s.config()
	c.MaxBytes = LeastBytes
	var updated []string
	c.BeforeUpdate = func(stream string) error { updated = append(updated, stream); return nil }
	f, stop = s.feeder(c)
	// Far more than the stream keeps: the oldest go, and the feed still knows where it is.
	for range 30 {
		f.Observe(s.recordFacts("w", &eventlog.LossAccepted{Detail: strings.Repeat("x", 500_000)}))
	}
	s.caughtUp(f)
	stop()
	if fmt.Sprint(updated) != "[PAWL_FEED]" {
		t.Errorf("updated %v", updated)
	}
	info := s.stream("").CachedInfo()
	if info.Config.MaxMsgs > 0 || info.Config.MaxBytes != LeastBytes || info.State.Bytes > LeastBytes ||
		info.State.LastSeq != 33 || info.State.FirstSeq < 10 {
		t.Errorf("%+v of %+v", info.State, info.Config)
	}
	f, _ = s.feeder(c)
	f.Observe(s.record("w", 1))
	s.caughtUp(f)
	if last := s.stream("").CachedInfo().State.LastSeq; last != 34 {
		t.Errorf("the feed ends at %d", last)
	}
}

// TestLargeFacts: what a message cannot carry is left out, and the message says where it stands.
func TestLargeFacts(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	c := s.config()
	f, _ := s.feeder(c)
	f.Observe(s.recordFacts("w", &eventlog.WorkflowPaused{}, &eventlog.LossAccepted{Detail: strings.Repeat("x", 2<<20)},
		&eventlog.LossAccepted{Detail: strings.Repeat("x", 900<<10)}))
	s.caughtUp(f)
	got, want := s.published(""), s.expected(s.log, "pawl")
	large := &want[1]
	large.Data, large.Header[headerData] = "", "omitted"
	delete(large.Header, headerDataType)
	delete(large.Header, headerContent)
	s.same(got, want)
}

// TestForeignFeed: the feed of another log is left alone.
func TestForeignFeed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	f, stop := s.feeder(s.config())
	f.Observe(s.record("w", 1))
	s.caughtUp(f)
	stop()
	c := s.config()
	c.Installation = "OTHER"
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.publishUntil(t.Context()); err == nil || !strings.Contains(err.Error(), "jetstream/$G/streams/PAWL_FEED") {
		t.Errorf("got %v", err)
	}
	if last := s.stream("").CachedInfo().State.LastSeq; last != 1 {
		t.Errorf("the feed ends at %d", last)
	}
}

// TestDiskIsFull: the feed waits, and goes on where it stopped.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	var mu sync.Mutex
	full, asked := errors.New("no space"), make(chan struct{}, 1)
	c := s.config()
	c.DiskSpace = func() error {
		mu.Lock()
		defer mu.Unlock()
		select {
		case asked <- struct{}{}:
		default:
		}
		return full
	}
	f, _ := s.feeder(c)
	f.Observe(s.record("w", 2))
	for range 3 {
		<-asked
	}
	if lag := f.backlog.lag(0); lag != 1 {
		t.Errorf("lag %d", lag)
	}
	mu.Lock()
	full = nil
	mu.Unlock()
	s.caughtUp(f)
	s.same(s.published(""), s.expected(s.log, "pawl"))
}
