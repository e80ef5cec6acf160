package jslog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t testing.TB, nc *nats.Conn, cfg jslog.Config) *jslog.Log {
	t.Helper()
	l, err := jslog.Open(t.Context(), nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func harness(t *testing.T, nc, other *nats.Conn, cfg jslog.Config) logtest.Harness {
	cfg.AckTimeout = 200 * time.Millisecond
	l := mustOpen(t, nc, cfg)
	return logtest.Harness{
		Log: l,
		Second: func() eventlog.Log {
			second := cfg
			if second.Mark != "" {
				second.Mark += "2" // each engine has its own
			}
			return mustOpen(t, other, second)
		},
		LoseAnswers: func(on bool) {
			if !on {
				l.DropAnswers(nil)
				return
			}
			l.DropAnswers(func(eventlog.Entry) bool { return true })
		},
		PutRaw: func(w eventlog.WorkflowName, kind eventlog.FactType, b []byte) eventlog.Position {
			prefix := cfg.Prefix
			if prefix == "" {
				prefix = jslog.DefaultPrefix
			}
			return putRaw(t, nc, fmt.Sprintf("%s.log.%d.%s.%s", prefix, l.PartitionOf(w), w, kind), l.PartitionOf(w), b)
		},
	}
}

func putRaw(t testing.TB, nc *nats.Conn, subject string, partition int, b []byte) eventlog.Position {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ack, err := js.Publish(t.Context(), subject, b)
	if err != nil {
		t.Fatal(err)
	}
	return eventlog.Position{Partition: partition, Seq: ack.Sequence}
}

// smallPayload makes the server's limit the one that counts: the largest transition must fit into
// it with its headers.
func smallPayload(c *embeddednats.Config) { c.MaxPayload = 512 << 10 }

func TestConformanceOneServer(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: all that is wanted of a log, in four ways; package memlog has it in a quick look")
	}
	t.Parallel()
	for _, c := range []struct {
		name   string
		cfg    jslog.Config
		staged bool
	}{
		{"plain", jslog.Config{BatchFrom: 1000}, false},
		{"batches", jslog.Config{BatchFrom: 2}, false},
		{"batches staged in memory", jslog.Config{BatchFrom: 2}, true},
		{"staged in memory", jslog.Config{}, true},
		{"partitions and mark", jslog.Config{Partitions: 3}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "staged in memory" {
				t.Skip("left out by -short, which looks only at how an engine of its own server writes")
			}
			logtest.Run(t, func(t *testing.T) logtest.Harness {
				s := natstest.NewServer(t, natstest.Fast, smallPayload)
				cfg := c.cfg
				if c.staged {
					cfg.Stage = s.StageInMemory
				}
				if cfg.Partitions > 1 {
					cfg.Mark, cfg.EmbeddedSync = filepath.Join(t.TempDir(), "mark"), true
				}
				return harness(t, natstest.Connect(t, s), natstest.Connect(t, s), cfg)
			})
		})
	}
}

// TestStagedBatchesGather: where batches cost little, fewer go by themselves at once and what waits behind
// them goes together sooner.
func TestStagedBatchesGather(t *testing.T) {
	t.Parallel()
	const workflows, each = 24, 40
	for _, stage := range []bool{false, true} {
		s := natstest.NewServer(t, natstest.Fast)
		cfg, asked := jslog.Config{}, ""
		if stage {
			cfg.Stage = func(stream string) error { asked = stream; return nil }
		}
		l := mustOpen(t, natstest.Connect(t, s), cfg)
		var all sync.WaitGroup
		for n := range workflows {
			all.Go(func() {
				var head eventlog.Head
				for range each {
					var err error
					if head, err = logtest.Head(l.Append(t.Context(), logtest.Entry(t, named(n), head))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		stats := l.Stats()
		if got := stats.Batches > 0; got != stage || stats.Publishes+stats.BatchedMessages != workflows*each {
			t.Errorf("staged in memory %t: %+v for %d appends", stage, stats, workflows*each)
		}
		if stage && asked != streamName("") {
			t.Errorf("asked for stream %q", asked)
		}
	}
}

// TestStagingRefused: without the memory the log does as it always has.
func TestStagingRefused(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	l := mustOpen(t, natstest.Connect(t, s), jslog.Config{Stage: func(string) error { return errors.ErrUnsupported }})
	if _, err := l.Append(t.Context(), logtest.Entry(t, "w", eventlog.Head{})); err != nil {
		t.Error(err)
	}
}

func TestConformanceCluster(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 3, natstest.Fast, smallPayload)
	var n atomic.Int32
	logtest.Run(t, func(t *testing.T) logtest.Harness {
		prefix := fmt.Sprintf("t%d", n.Add(1))
		nc, err := c.Servers[0].Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		other, err := c.Servers[1].Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(other.Close)
		h := harness(t, nc, other, jslog.Config{Prefix: prefix, Replicas: 3})
		h.Log.(*jslog.Log).SetMaxElection(3 * time.Second) // a test of a log that lacks something waits for it
		h.RaceFor = 3 * time.Second
		h.Disturb = func(ctx context.Context) {
			if !c.StepDown(ctx, other, streamName(prefix)) && ctx.Err() == nil {
				t.Log("no leader to step down")
			}
		}
		return h
	})
}

func streamName(prefix string) string {
	if prefix == "" {
		prefix = jslog.DefaultPrefix
	}
	b := []byte(prefix)
	for i := range b {
		if b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b) + "_LOG_0"
}

// TestLostAnswerIsResolvedInside: one lost answer is no matter for the caller.
func TestLostAnswerIsResolvedInside(t *testing.T) {
	t.Parallel()
	for _, from := range []int{2, 1000} {
		s := natstest.NewServer(t, natstest.Fast)
		l := mustOpen(t, natstest.Connect(t, s), jslog.Config{AckTimeout: 50 * time.Millisecond, BatchFrom: from})
		var lost atomic.Int32
		l.DropAnswers(func(eventlog.Entry) bool { return lost.Add(1) <= 3 })
		results := make(chan error)
		for i := range 20 {
			go func() {
				_, err := l.Append(t.Context(), logtest.Entry(t, eventlog.WorkflowName(fmt.Sprintf("w%d", i)), eventlog.Head{}))
				results <- err
			}()
		}
		for range 20 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		last, err := l.Last(t.Context(), 0)
		if err != nil || last != 20 || lost.Load() < 3 {
			t.Errorf("last is %d, %v after %d answers; want 20 messages", last, err, lost.Load())
		}
	}
}

// TestLostAnswerHoldsNoOtherUp: while one workflow's answer is waited for, others are written.
func TestLostAnswerHoldsNoOtherUp(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for a lost answer")
	}
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	l := mustOpen(t, natstest.Connect(t, s), jslog.Config{AckTimeout: 3 * time.Second})
	var lost atomic.Int32
	waits := make(chan struct{}, 16)
	l.DropAnswers(func(e eventlog.Entry) bool {
		if e.Workflow != "a" || lost.Add(1) > 1 {
			return false
		}
		waits <- struct{}{}
		return true
	})
	ended := make(chan error, 1)
	go func() {
		_, err := l.Append(t.Context(), logtest.Entry(t, "a", eventlog.Head{}))
		ended <- err
	}()
	<-waits
	var head eventlog.Head
	for range 5 {
		var err error
		if head, err = logtest.Head(l.Append(t.Context(), logtest.Entry(t, "b", head))); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("the others were written only once the lost answer was given up (%v)", err)
	default:
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServerRestartsUnderAppends(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *embeddednats.Server {
		return natstest.NewServer(t, natstest.InDir(dir), func(c *embeddednats.Config) {
			c.ListenAddr, c.Insecure = "127.0.0.1:0", true
		})
	}
	s := start()
	// A connection finds the new server although it listens elsewhere.
	url := func() string { return s.ClientURL() }
	nc, err := nats.Connect(url(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := jslog.Open(t.Context(), nc, jslog.Config{AckTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	head, err := logtest.Head(l.Append(t.Context(), logtest.Entry(t, "a", eventlog.Head{})))
	if err != nil {
		t.Fatal(err)
	}
	watchUntil, stop := context.WithTimeout(t.Context(), 30*time.Second)
	watched := make(chan uint64, 8)
	go func() {
		defer close(watched)
		for r, err := range l.Watch(watchUntil, 0, 1) {
			if err != nil {
				t.Errorf("watch: %v", err)
				return
			}
			watched <- r.Position.Seq
		}
	}()
	defer func() {
		stop()
		for range watched { // until it has ended
		}
	}()
	if seq := <-watched; seq != 1 {
		t.Errorf("watched %d, want 1", seq)
	}
	addr := url()
	s.Shutdown()
	e := logtest.Entry(t, "a", head)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := l.Append(ctx, e); !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Fatalf("append without a server: %v, want ErrUnconfirmed", err)
	}
	s = natstest.NewServer(t, natstest.InDir(dir), func(c *embeddednats.Config) {
		c.ListenAddr, c.Insecure = addr[len("nats://"):], true
	})
	if got, err := l.Append(t.Context(), e); err != nil || got.Seq != 2 {
		t.Errorf("append the same entry after the restart: %+v, %v", got, err)
	}
	if seq, ok := <-watched; seq != 2 {
		t.Errorf("after the restart watched %d, %t; want 2", seq, ok)
	}
}

func TestOpenTwiceKeepsTheLog(t *testing.T) {
	t.Parallel()
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	s := natstest.NewServer(t, natstest.InDir(dir))
	cfg := jslog.Config{Partitions: 2, Mark: mark}
	l := mustOpen(t, natstest.Connect(t, s), cfg)
	id, installation := l.Identity(1), l.Installation()
	if _, err := l.Append(t.Context(), logtest.Entry(t, "a", eventlog.Head{})); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.Shutdown()

	s = natstest.NewServer(t, natstest.InDir(dir))
	l = mustOpen(t, natstest.Connect(t, s), jslog.Config{Mark: mark})
	if l.Partitions() != 2 || l.Identity(1) != id || l.Installation() != installation || len(l.Warnings()) != 0 {
		t.Errorf("reopened: %d partitions, %s, %s, %v", l.Partitions(), l.Identity(1), l.Installation(), l.Warnings())
	}
	cfg.Partitions = 3
	if _, err := jslog.Open(t.Context(), natstest.Connect(t, s), cfg); err == nil {
		t.Error("another number of partitions was accepted")
	}
}

// TestEnginesCreateTheLogTogether: two engines that start at the same time on an empty server end
// up with one log.
func TestEnginesCreateTheLogTogether(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	logs := make(chan *jslog.Log, 4)
	for range cap(logs) {
		nc := natstest.Connect(t, s)
		go func() {
			l, err := jslog.Open(t.Context(), nc, jslog.Config{Partitions: 5})
			if err != nil {
				t.Error(err)
			}
			logs <- l
		}()
	}
	installations := map[string]bool{}
	for range cap(logs) {
		if l := <-logs; l != nil {
			installations[l.Installation()] = true
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(installations) != 1 {
		t.Errorf("installations %v, want one", installations)
	}
}

func TestConnectionClosed(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, s)
	l := mustOpen(t, nc, jslog.Config{})
	nc.Close()
	if _, err := l.Append(t.Context(), logtest.Entry(t, "a", eventlog.Head{})); !errors.Is(err, eventlog.ErrUnconfirmed) ||
		!errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("append on a closed connection: %v", err)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	l := mustOpen(t, natstest.Connect(t, s), jslog.Config{Mark: filepath.Join(t.TempDir(), "mark"), EmbeddedSync: true})
	before := l.Stats()
	e := logtest.Entry(t, "a", eventlog.Head{})
	head, err := logtest.Head(l.Append(t.Context(), e))
	if err != nil {
		t.Fatal(err)
	}
	e = logtest.Entry(t, "a", head)
	e.Barrier = true
	if _, err := l.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got := l.Stats()
	if got.Publishes-before.Publishes != 2 || got.MarkSyncs-before.MarkSyncs != 1 || got.Batches != 0 {
		t.Errorf("stats %+v after %+v: want two publishes and, for the barrier, one sync", got, before)
	}
}
