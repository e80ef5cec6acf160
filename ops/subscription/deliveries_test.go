package subscription

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/outgoing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline bounds what must happen by itself.
const deadline = time.Minute

// site is a feed, a receiver, and what was published.
type site struct {
	t      *testing.T
	nc     *nats.Conn
	js     jetstream.JetStream
	server *httptest.Server
	// position is where the log ends.
	position int

	mu     sync.Mutex
	log    map[uint64]string // the transitions, by their position
	answer func(delivered) int
	got    []delivered
	came   chan struct{}
}

// delivered is what a receiver is sent.
type delivered struct {
	ID, Type, PartitionKey, Sequence, PawlPosition string
	Data                                           json.RawMessage
}

// newSite makes a feed that keeps so many messages.
func newSite(t *testing.T, most int64) *site {
	t.Helper()
	s := &site{t: t, nc: natstest.Connect(t, natstest.NewServer(t, natstest.Fast)),
		came: make(chan struct{}, 1), log: map[uint64]string{}}
	s.answer = func(delivered) int { return http.StatusOK }
	var err error
	if s.js, err = jetstream.New(s.nc); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	s.stream(most)
	return s
}

// stream makes the feed's.
func (s *site) stream(most int64) {
	s.t.Helper()
	if _, err := s.js.CreateStream(s.t.Context(), jetstream.StreamConfig{Name: "PAWL_FEED",
		Subjects: []string{"pawl.feed.>"}, MaxBytes: 1 << 20, MaxMsgs: most, Discard: jetstream.DiscardOld}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var e delivered
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil || e.ID != r.Header.Get("Webhook-Id") {
		s.t.Errorf("received %q: %v", body, err)
	}
	s.mu.Lock()
	status := s.answer(e)
	if status == http.StatusOK {
		s.got = append(s.got, e)
	}
	s.mu.Unlock()
	w.WriteHeader(status)
	select {
	case s.came <- struct{}{}:
	default:
	}
}

// publish records and publishes a fact, and returns its id.
func (s *site) publish(workflow, kind string) string {
	s.t.Helper()
	s.position++
	return s.publishAt(workflow, kind, s.position)
}

func (s *site) publishAt(workflow, kind string, position int) string {
	s.t.Helper()
	return s.publishAs(workflow, kind, position, fmt.Sprintf("01TEST%d", position))
}

// publishAs records a transition and publishes it.
func (s *site) publishAs(workflow, kind string, position int, transition string) string {
	s.t.Helper()
	s.mu.Lock()
	s.log[uint64(position)] = transition
	s.mu.Unlock()
	m := nats.NewMsg("pawl.feed." + workflow + "." + kind)
	id := transition + "-1"
	for name, value := range map[string]string{"ce-specversion": "1.0", "ce-id": id, "ce-type": "pawl." + kind + ".v1",
		"ce-partitionkey": workflow, "pawl-position": fmt.Sprintf("0:%d", position),
		"pawl-positions": fmt.Sprintf("0:%d", position), "ce-datacontenttype": "application/json"} {
		m.Header.Set(name, value)
	}
	m.Data = fmt.Appendf(nil, `{"n":%d}`, position)
	if _, err := s.js.PublishMsg(s.t.Context(), m); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// engine is one with the subscription, which starts where the log ends now.
func (s *site) engine(subjects ...string) *Deliveries {
	s.t.Helper()
	to, err := outgoing.New(outgoing.Config{URL: s.server.URL, Private: true})
	if err != nil {
		s.t.Fatal(err)
	}
	if subjects == nil {
		subjects = []string{"pawl.feed.>"}
	}
	d, err := New(Config{Conn: s.nc, Holds: s.holds,
		Policy: schedule.Transient{Base: time.Millisecond, Factor: 1, Max: 10 * time.Millisecond},
		Logger: slog.New(slog.NewTextHandler(s.t.Output(), nil)),
		Subscriptions: []Subscription{{Name: "all", Target: to, Stream: "PAWL_FEED", Subjects: subjects,
			Begin: fmt.Sprintf("0:%d", s.position)}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// start delivers until the test or the function ends it.
func (s *site) start(subjects ...string) (*Deliveries, func()) {
	s.t.Helper()
	d := s.engine(subjects...)
	if err := d.Begin(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return d, s.run(d)
}

// holds says that the log holds what was published last at a position.
func (s *site) holds(_ context.Context, at eventlog.Position, id eventlog.TransitionID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[at.Seq] == string(id), nil
}

// begun is start, once the subscription knows where it begins.
func (s *site) begun(subjects ...string) (*Deliveries, func()) {
	s.t.Helper()
	d, stop := s.start(subjects...)
	s.caughtUp(d)
	return d, stop
}

func (s *site) caughtUp(d *Deliveries) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	if err := d.Await(ctx); err != nil {
		s.t.Fatalf("not all is delivered: %v; %+v", err, d.List())
	}
}

// receives waits until the receiver has accepted that message.
func (s *site) receives(id string) {
	s.t.Helper()
	for got := s.received(0); !slices.Contains(got, id); {
		got = s.received(len(got) + 1)
	}
}

// received waits until the receiver has accepted so many messages, and returns their ids.
func (s *site) received(n int) (ids []string) {
	s.t.Helper()
	timeout := time.After(deadline)
	for {
		s.mu.Lock()
		got := slices.Clone(s.got)
		s.mu.Unlock()
		if len(got) >= n {
			for _, e := range got {
				ids = append(ids, e.ID)
			}
			return ids
		}
		select {
		case <-s.came:
		case <-timeout:
			s.t.Fatalf("%d messages were received, want %d", len(got), n)
		}
	}
}

// Every fact reaches a receiver that refuses one attempt in four, in the order of its workflow, although the engine is
// stopped again and again; a new subscription begins with what is recorded after its first start.
func TestEachFactInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, -1)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	s.publish("before", "run.committed")
	late := s.position + 1
	s.position++ // recorded before it begins, and published afterwards
	d, stop := s.begun()
	s.publishAt("before", "run.committed", late)
	s.mu.Lock()
	luck := rand.New(rand.NewPCG(seed, 2))
	s.answer = func(delivered) int { return []int{200, 500, 200, 200}[luck.IntN(4)] }
	s.mu.Unlock()
	want := map[string][]string{}
	for range 12 {
		for range 1 + chance.IntN(20) {
			workflow := []string{"a", "b", "c"}[chance.IntN(3)]
			want[workflow] = append(want[workflow], s.publish(workflow, "run.committed"))
		}
		if chance.IntN(2) == 0 {
			stop()
			d, stop = s.start()
		}
	}
	last := s.publish("end", "run.committed")
	s.receives(last)
	for { // the others may still be tried again
		if s.caughtUp(d); d.all[0].status().Waiting == 0 {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got, seen := map[string][]string{}, map[string]bool{}
	for _, e := range s.got {
		if !seen[e.ID] {
			seen[e.ID] = true
			got[e.PartitionKey] = append(got[e.PartitionKey], e.ID)
		}
	}
	if len(got) != len(want)+1 {
		t.Errorf("received of %d workflows, want %d", len(got), len(want)+1)
	}
	for workflow := range want {
		if !slices.Equal(got[workflow], want[workflow]) {
			t.Errorf("of %s\n got %v\nwant %v", workflow, got[workflow], want[workflow])
		}
	}
}

// A receiver that wants no more parks the subscription, also over a restart, until it is resumed; then nothing lacks.
func TestParkedUntilResumed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	d, stop := s.begun()
	s.mu.Lock()
	s.answer = func(delivered) int { return http.StatusGone }
	s.mu.Unlock()
	ids := []string{s.publish("w", "run.failed"), s.publish("w", "run.committed")}
	s.caughtUp(d)
	for range 2 {
		got := d.List()[0]
		if got.State != StateParked || got.Since == 0 || got.Oldest == 0 || got.Error == nil ||
			!slices.Equal(got.Commands, []string{"pawl subscriptions resume all", "pawl subscriptions resume all --skip"}) ||
			got.Refused == nil || *got.Refused != (eventlog.SkippedMessage{ID: ids[0], Type: "pawl.run.failed.v1",
			Workflow: "w"}) {
			t.Fatalf("%+v", got)
		}
		stop()
		d, stop = s.start()
		s.caughtUp(d)
	}
	if _, err := s.resume(d, Resumption{Name: "none"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("resumed what is not there: %v", err)
	}
	s.mu.Lock()
	if len(s.got) != 0 {
		t.Errorf("%d messages were accepted", len(s.got))
	}
	s.answer = func(delivered) int { return http.StatusOK }
	s.mu.Unlock()
	full := errors.New("the disk is full")
	if _, _, err := d.Resume(t.Context(), Resumption{Name: "all", Record: func(*eventlog.SkippedMessage) error {
		return full
	}}); !errors.Is(err, full) || d.List()[0].State != StateParked {
		t.Errorf("resumed what was not recorded: %v, %+v", err, d.List()[0])
	}
	if skipped, err := s.resume(d, Resumption{Name: "all"}); err != nil || skipped != nil {
		t.Fatal(skipped, err)
	}
	if got := s.received(2); !slices.Equal(got, ids) {
		t.Errorf("received %v, want %v", got, ids)
	}
	if _, err := s.resume(d, Resumption{Name: "all"}); !errors.Is(err, ErrNotParked) {
		t.Errorf("resumed what is not parked: %v", err)
	}
}

// What the feed drops before it is delivered is announced in its place, once; the rest follows.
func TestGapIsAnnounced(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	d, stop := s.begun()
	s.publish("w", "run.committed")
	s.caughtUp(d)
	stop()
	for range 150 { // the stream holds 100
		s.publish("w", "run.committed")
	}
	d, stop = s.start()
	s.caughtUp(d)
	got := s.received(102)
	if got[1] != "gap.PAWL_FEED.2-51" || got[2] != "01TEST52-1" || got[101] != "01TEST151-1" {
		t.Errorf("received %v", got)
	}
	stop()
	d, _ = s.start()
	s.caughtUp(d)
	if n := len(s.received(0)); n != 102 {
		t.Errorf("after a restart %d were received", n)
	}
	// While it is read: the receiver is so slow that the stream drops what waits.
	hold := make(chan struct{})
	s.mu.Lock()
	s.answer = func(e delivered) int {
		if e.Type == typeGap {
			return http.StatusOK
		}
		s.mu.Unlock()
		<-hold
		s.mu.Lock()
		return http.StatusOK
	}
	s.mu.Unlock()
	for range 2 * (maxWaiting + 100) {
		s.publish("w", "run.committed")
	}
	close(hold)
	s.caughtUp(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	var gap struct{ From, To int }
	for i, e := range s.got[102:] {
		if e.Type == typeGap {
			if err := json.Unmarshal(e.Data, &gap); err != nil || i == 0 {
				t.Fatalf("announced as message %d: %v", i, err)
			}
			before, after := s.got[102+i-1], s.got[102+i+1]
			if before.ID != fmt.Sprintf("01TEST%d-1", gap.From-1) || after.ID != fmt.Sprintf("01TEST%d-1", gap.To+1) {
				t.Errorf("%+v stands between %s and %s", gap, before.ID, after.ID)
			}
		}
	}
	if gap.From == 0 || s.got[len(s.got)-1].ID != fmt.Sprintf("01TEST%d-1", s.position) {
		t.Errorf("no gap is announced among %d messages, or the last one lacks", len(s.got)-102)
	}
}

// Only what is chosen is delivered; the position follows all the same, so that what is dropped beside it is no gap.
func TestChosenFactsAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	subjects, err := FeedSubjects("pawl", []string{"event.*"}, []string{"w"})
	if err != nil {
		t.Fatal(err)
	}
	d, stop := s.begun(subjects...)
	s.publish("w", "run.committed")
	want := []string{s.publish("w", "event.consumed")}
	s.publish("v", "event.consumed")
	s.caughtUp(d)
	d.all[0].mu.Lock()
	now := d.all[0].now
	d.all[0].mu.Unlock()
	for range 10 {
		for range 60 {
			s.publish("v", "run.committed")
		}
		s.caughtUp(d)
		if err := now.followIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if now.at.Next != uint64(s.position+1) {
		t.Errorf("the position is %d, want %d", now.at.Next, s.position+1)
	}
	for range 50 {
		s.publish("v", "run.committed")
	}
	d, _ = s.start(subjects...)
	want = append(want, s.publish("w", "event.discarded"))
	s.caughtUp(d)
	if got := s.received(2); !slices.Equal(got, want) {
		t.Errorf("received %v, want %v", got, want)
	}
}

// Where several engines share a log, the one that delivers now may have parked a subscription, or resumed it, after
// another one has: each looks at what is kept, and goes on from there when it is its turn again.
func TestTurnsOfSeveralEngines(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	answer := func(status int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer = func(delivered) int { return status }
	}
	a, stop := s.begun()
	answer(http.StatusGone)
	first := s.publish("w", "run.failed")
	s.caughtUp(a)
	stop() // perhaps before the parking is kept: then the next engine parks it

	b, stop := s.start()
	s.caughtUp(b)
	answer(http.StatusOK)
	if _, err := s.resume(b, Resumption{Name: "all"}); err != nil {
		t.Fatal(err)
	}
	s.receives(first)
	answer(http.StatusGone)
	second := s.publish("w", "run.failed")
	for end := time.After(deadline); ; { // until it is kept
		got := a.List()[0]
		if got.Refused != nil && got.Refused.ID == second {
			break
		}
		select {
		case <-end:
			t.Fatalf("the engine that does not deliver says %+v, parked is %s", got, second)
		default:
		}
	}
	stop()
	skipped, err := s.resume(a, Resumption{Name: "all", Skip: true})
	if err != nil || skipped == nil || skipped.ID != second {
		t.Fatalf("skipped %+v, want %s: %v", skipped, second, err)
	}
	if _, err := s.resume(b, Resumption{Name: "all"}); !errors.Is(err, ErrNotParked) {
		t.Errorf("resumed what another engine has resumed: %v", err)
	}

	answer(http.StatusOK)
	third := s.publish("w", "run.failed")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx) // again
	}()
	s.receives(third)
	cancel()
	<-ended
	if got := s.received(2); !slices.Equal(got, []string{first, third}) {
		t.Errorf("received %v, want %v", got, []string{first, third})
	}
}
