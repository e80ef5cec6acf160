package cluster

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// The lease alone keeps a request from leaving: no engine has taken the partition yet, nothing new stands in the log,
// the run is active, and the deadline lies ahead. The process stood still, so not even its own timers have told it.
func TestALeaseThatIsOverKeepsARequestFromLeaving(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		still time.Duration
		sent  bool
	}{
		"it still holds": {still: 12 * time.Second, sent: true},
		"it is over":     {still: 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sent, why := sendAfterStandingStill(t, c.still)
				if sent != c.sent || !sent && !strings.Contains(why, "does not own the workflow's partition") {
					t.Errorf("after %s the request left: %t, want %t (%s)", c.still, sent, c.sent, why)
				}
			})
		})
	}
}

// sendAfterStandingStill has a call connect, and its process stand still before the first byte. It says whether the
// request left then, or why not.
func sendAfterStandingStill(t *testing.T, still time.Duration) (sent bool, why string) {
	between := network.New(15 * time.Second)
	link := between.Join(1)
	leases, err := lease.New(lease.Config{Bucket: link, Partitions: 1, Node: "a", Elapsed: link.Elapsed,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := enginetest.NewOn(t, memlog.New(memlog.Config{}))
	h.World = enginetest.NewWorld("world").Offer(
		connector.Operation{Name: "send", Kind: connector.Mutate, Timeout: time.Minute})
	h.Config = engine.Config{Leases: leases, Peers: link, DrainTimeout: time.Second}
	connecting, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var refused atomic.Pointer[string]
	h.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		close(connecting)
		<-goOn
		defer close(done)
		if failure := call.Gate(); failure != nil {
			refused.Store(&failure.Message)
			return connector.Outcome{Status: connector.Failed, Failure: failure}
		}
		return h.World.Apply(call)
	})
	e := h.Start()
	result, err := e.Deploy(t.Context(), enginetest.Tester, engine.DeployRequest{
		Source: strings.Replace(orders, "NAME", "w", 1), Filename: "w.js", GrantUsed: true})
	if err != nil || result.Refused {
		t.Fatalf("deploy: %v, %+v", err, result.Problems)
	}
	if _, err := e.Push(t.Context(), enginetest.Tester, "w", "in",
		[]decide.PushItem{{MessageID: "order", Title: "Order", Payload: json.RawMessage(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	<-connecting
	link.Freeze(true)
	<-time.After(still) // in the time of the bubble
	link.Freeze(false)
	close(goOn)
	<-done
	if err := e.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if message := refused.Load(); message != nil {
		why = *message
	}
	return len(h.World.Params()) > 0, why
}
