package embeddednats_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// notes is what a logger writes, from any goroutine.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// restarted starts a server on a copy of the directory, and returns what it says at its start.
func restarted(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	var said notes
	s, err := embeddednats.Start(t.Context(), embeddednats.Config{
		StoreDir: dir, Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Shutdown()
	said.mu.Lock()
	defer said.mu.Unlock()
	return said.text.String()
}

// After a kill the broker finds the index of a stream older than its blocks, and makes another: that frightens
// no operator. A block that is missing does.
func TestIndexLeftByAKillIsNoWarning(t *testing.T) {
	dir := t.TempDir()
	t.Run("first life, which ends well and leaves an index", func(t *testing.T) {
		js, err := jetstream.New(natstest.Connect(t, natstest.NewServer(t, natstest.InDir(dir))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("second life", func(t *testing.T) {
		js, err := jetstream.New(natstest.Connect(t, natstest.NewServer(t, natstest.InDir(dir))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
			t.Fatal(err)
		}
		// What a kill at this moment leaves.
		said := restarted(t, dir)
		if strings.Contains(said, "level=WARN") ||
			!regexp.MustCompile(`level=DEBUG .*Stream state outdated`).MatchString(said) {
			t.Errorf("after a kill:\n%s", said)
		}
		blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "S", "msgs", "*.blk"))
		if err != nil || len(blocks) != 1 {
			t.Fatalf("blocks: %v, %v", blocks, err)
		}
		moved := filepath.Join(t.TempDir(), "1.blk")
		if err := os.Rename(blocks[0], moved); err != nil {
			t.Fatal(err)
		}
		said = restarted(t, dir)
		if err := os.Rename(moved, blocks[0]); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`level=WARN .*could not locate msg block`).MatchString(said) {
			t.Errorf("without its block:\n%s", said)
		}
	})
}
