package jslog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// A server of a cluster that was killed again and again still holds all that was acknowledged meanwhile, and can lead.
func TestACopyOutlivesKilledServers(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 3)
	nc := c.Connect(0)
	l := mustOpen(t, nc, jslog.Config{Replicas: 3})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	head := eventlog.Head{}
	write := func() {
		for range 20 {
			e := logtest.Entry(t, "w", head)
			written, err := l.Append(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			head = e.HeadAt(written.Seq)
		}
	}
	for range 4 {
		write()
		c.Stop(2) // it notes how far its copy goes
		c.Start(t.Context(), 2)
		awaitCopies(t, js)
		write() // what is beyond that it takes from the cluster's log again
		kill(t, c, 2)
		awaitCopies(t, js)
	}
	write()
	kill(t, c, 2)
	awaitCopies(t, js) // a server that is behind is not elected, and to ask again and again keeps it from catching up
	lead(t, js, "n3")
	read := 0
	for r, err := range l.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatalf("after %d messages: %v", read, err)
		}
		if read++; r.Position.Seq == 180 {
			break
		}
	}
	if read != 180 {
		t.Errorf("the copy holds %d messages, want 180", read)
	}
}

// A log whose streams were given more replicas after they were made is not compressed any more.
func TestSeveralReplicasAreNotCompressed(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 3, natstest.Fast)
	nc := c.Connect(0)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	mustOpen(t, nc, jslog.Config{})
	compression := func() jetstream.StoreCompression {
		s, err := js.Stream(t.Context(), streamName(""))
		if err != nil {
			t.Fatal(err)
		}
		return s.CachedInfo().Config.Compression
	}
	if got := compression(); got != jetstream.S2Compression {
		t.Errorf("a log with one copy has compression %s", got)
	}
	s, err := js.Stream(t.Context(), streamName(""))
	if err != nil {
		t.Fatal(err)
	}
	more := s.CachedInfo().Config
	more.Replicas = 3
	if _, err := js.UpdateStream(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, nc, jslog.Config{})
	if got := compression(); got != jetstream.NoCompression {
		t.Errorf("a log with three copies has compression %s", got)
	}
}

// kill starts server i with what its disk held while it ran.
func kill(t *testing.T, c *natstest.Cluster, i int) {
	t.Helper()
	dir := c.Config(i).StoreDir
	image := filepath.Join(t.TempDir(), "image")
	err := os.CopyFS(image, os.DirFS(dir))
	for tries := 0; errors.Is(err, os.ErrNotExist) && tries < 100; tries++ { // a file was renamed meanwhile
		image = filepath.Join(t.TempDir(), "image")
		err = os.CopyFS(image, os.DirFS(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Stop(i)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(image, dir); err != nil {
		t.Fatal(err)
	}
	c.Start(t.Context(), i)
}

// awaitCopies waits until the log has three copies that are current. No server tells of that.
func awaitCopies(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	await(t, "the copies are current", func(ctx context.Context) bool {
		s, err := js.Stream(ctx, streamName(""))
		if err != nil {
			return false
		}
		info := s.CachedInfo().Cluster
		for _, r := range info.Replicas {
			if !r.Current || r.Offline {
				return false
			}
		}
		return info.Leader != "" && len(info.Replicas) == 2
	})
}

// lead makes a server the leader of the log.
func lead(t *testing.T, js jetstream.JetStream, server string) {
	t.Helper()
	await(t, "the server leads", func(ctx context.Context) bool {
		s, err := js.Stream(ctx, streamName(""))
		if err != nil {
			return false
		}
		if s.CachedInfo().Cluster.Leader == server {
			return true
		}
		_, _ = js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+streamName(""),
			fmt.Appendf(nil, `{"placement": {"preferred": %q}}`, server))
		return false
	})
}

func await(t *testing.T, what string, holds func(context.Context) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		once, cancel := context.WithTimeout(t.Context(), time.Second) // what is asked in an election is never answered
		held := holds(once)
		cancel()
		if held {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not hold that %s", what)
		}
		<-time.After(50 * time.Millisecond)
	}
}
