package jslog_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// One of three servers has no space left, and it leads the log: it says so and gives its role to another. No
// append is refused by that, and the log ends behind all of them, whichever server is asked.
func TestALeaderWithoutSpaceIsReplaced(t *testing.T) {
	t.Parallel()
	const limit, size = 2 << 20, 64 << 10
	servers := natstest.NewCluster(t, 3, natstest.Fast, func(c *embeddednats.Config) {
		if c.Name == "n1" {
			c.JetStreamMaxStore = limit
		}
	})
	nc := servers.Connect(1)
	l := mustOpen(t, nc, jslog.Config{Replicas: 3})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leader := func() string {
		s, err := js.Stream(ctx, jslog.StreamName("", 0))
		if err != nil {
			return ""
		}
		return s.CachedInfo().Cluster.Leader
	}
	for leader() != "n1" {
		once, end := context.WithTimeout(ctx, 2*time.Second) // what is asked during an election is never answered
		answer, err := nc.RequestWithContext(once, "$JS.API.STREAM.LEADER.STEPDOWN."+jslog.StreamName("", 0),
			[]byte(`{"placement":{"preferred":"n1"}}`))
		end()
		if ctx.Err() != nil {
			t.Skipf("the servers do not make the one with little space the leader in time: %v, %+v", err, answer)
		}
	}
	var head eventlog.Head
	for n := range 2 * limit / size {
		written, err := l.Append(ctx, logtest.PaddedEntry(t, "a", head, size))
		if err != nil {
			t.Fatalf("append %d: %v", n+1, err)
		}
		head = written.Head
	}
	if now := leader(); now == "n1" {
		t.Error("the server without space still leads: the test has shown nothing")
	}
	for range 50 {
		if last, err := l.Last(ctx, 0); err != nil || last != head.Seq {
			t.Fatalf("the log ends at %d, %v; acknowledged is %d", last, err, head.Seq)
		}
	}
}
