package jslog_test

import (
	"bytes"
	"iter"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// holder makes connections on which everything that comes in is held back from one question to
// JetStream until the next.
type holder struct {
	mu    sync.Mutex
	after int           // questions until one is held; 0 while one is, less when none will be
	gate  chan struct{} // closed: what comes in passes
}

func newHolder() *holder {
	h := &holder{after: -1, gate: make(chan struct{})}
	close(h.gate)
	return h
}

// hold leaves the nth question from now on without an answer until another one is asked.
func (h *holder) hold(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.after = n
}

// held reports whether the question was asked.
func (h *holder) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.after < 1
}

func (h *holder) asked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.after--; h.after {
	case 0:
		h.gate = make(chan struct{})
	case -1:
		close(h.gate)
	}
}

func (h *holder) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return heldConn{c, h}, err
}

type heldConn struct {
	net.Conn
	holder *holder
}

func (c heldConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.holder.mu.Lock()
	gate := c.holder.gate
	c.holder.mu.Unlock()
	<-gate
	return n, err
}

func (c heldConn) Write(b []byte) (int, error) {
	for range bytes.Count(b, []byte("PUB $JS.API.")) {
		c.holder.asked() // before the answer can come
	}
	return c.Conn.Write(b)
}

// TestReadOutlivesASilentLeader: whichever of a reading's questions finds no answer, another is
// asked, and nothing that is there is left out.
func TestReadOutlivesASilentLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for a leader that is silent, 8 s")
	}
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Insecure = "127.0.0.1:0", true
	})
	h := newHolder()
	nc, err := nats.Connect(s.ClientURL(), nats.SetCustomDialer(h))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l := mustOpen(t, nc, jslog.Config{ReadTimeout: time.Second})
	defer l.Close()
	var head eventlog.Head
	for range 3 {
		if head, err = logtest.Head(l.Append(t.Context(), logtest.Entry(t, "a", head))); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		read      iter.Seq2[eventlog.Record, error]
		questions int
	}{
		"a partition": {l.Read(t.Context(), 0, 1), 3},               // where it ends, a consumer, its messages
		"a workflow":  {l.ReadWorkflow(t.Context(), "a", 1), 1 + 3}, // where it ends, each record
	} {
		for n := 1; n <= c.questions; n++ {
			h.hold(n)
			records := 0
			for _, err := range c.read {
				if err != nil {
					t.Errorf("%s, question %d unanswered: %v", name, n, err)
				}
				records++
			}
			if !h.held() || records != 3 {
				t.Errorf("%s, question %d unanswered: read %d records, want 3; held: %t", name, n, records, h.held())
			}
		}
	}
}
