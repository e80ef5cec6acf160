package jslog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// heard tells when something is logged.
type heard struct {
	once sync.Once
	text chan struct{}
}

func (h *heard) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("waits for JetStream")) {
		h.once.Do(func() { close(h.text) })
	}
	return len(b), nil
}

// TestAWatchEndsWithItsLogWhileNoServerAnswers: what is repeated for as long as a watch lasts is not
// repeated when the log is closed.
func TestAWatchEndsWithItsLogWhileNoServerAnswers(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Insecure = "127.0.0.1:0", true
	})
	nc, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	h := &heard{text: make(chan struct{})}
	l := mustOpen(t, nc, jslog.Config{ReadTimeout: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(h, nil))})
	s.Shutdown()
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range l.Watch(t.Context(), 0, 1) {
			last = err
		}
		ended <- last
	}()
	<-h.text
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("the watch ended with %v, want ErrClosed", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the log is closed, and its watch goes on asking a server that is gone")
	}
}
