package ops

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/outgoing"
	"github.com/pawl-run/pawl/ops/subscription"
)

// parked gives the server a subscription, warehouse, whose receiver has answered 410 to its first message.
func parked(t testing.TB) setting {
	t.Helper()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PAWL_FEED",
		Subjects: []string{"pawl.feed.>"}}); err != nil {
		t.Fatal(err)
	}
	var opened atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !opened.Swap(true) {
			w.WriteHeader(http.StatusGone)
		}
	}))
	t.Cleanup(receiver.Close)
	to, err := outgoing.New(outgoing.Config{URL: receiver.URL + "/hidden-path", Private: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := subscription.New(subscription.Config{Conn: nc, Policy: schedule.Default().Transient,
		Subscriptions: []subscription.Subscription{{Name: "warehouse", Target: to, Stream: "PAWL_FEED",
			Subjects: []string{"pawl.feed.>"}, About: "all facts"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); all.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	wait, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := all.Await(wait); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg("pawl.feed.shop.run.committed")
	m.Header.Set("ce-id", "01TEST-1")
	if _, err := js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := all.Await(wait); err != nil || all.List()[0].State != subscription.StateParked {
		t.Fatalf("not parked: %v, %+v", err, all.List())
	}
	return func(c *Config, _ *enginetest.Harness) { c.Subscriptions = all }
}

// What is parked is shown with the commands that end it, and is resumed once, without what was refused where a person
// says so; that and the person's name are in the log.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	b := setup(t, parked(t))
	var found struct{ Subscriptions []subscription.Status }
	b.do("getDiagnostics", nil, &found)
	if len(found.Subscriptions) != 1 || !slices.Equal(found.Subscriptions[0].Commands,
		[]string{"pawl subscriptions resume warehouse", "pawl subscriptions resume warehouse --skip"}) {
		t.Errorf("diagnostics: %+v", found)
	}
	b.figures(`pawl_subscription_parked{subscription="warehouse"} 1`,
		`pawl_subscription_attempts_total{result="failed",subscription="warehouse"} 1`)
	if p := b.refused("resumeSubscription", map[string]any{"name": "other"}); p.Code != "subscription.unknown" {
		t.Errorf("%+v", p)
	}
	refused := *found.Subscriptions[0].Refused
	var resumed struct{ Skipped *eventlog.SkippedMessage }
	b.do("resumeSubscription", map[string]any{"name": "warehouse", "skip": true}, &resumed)
	if resumed.Skipped == nil || *resumed.Skipped != refused || refused.ID != "01TEST-1" {
		t.Errorf("skipped %+v, and %+v was refused", resumed.Skipped, refused)
	}
	var recorded []eventlog.Transition
	for r, err := range b.bench.Log.ReadWorkflow(t.Context(), eventlog.Installation, 1) {
		if err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, r.Transition)
	}
	want := []eventlog.Fact{&eventlog.SubscriptionResumed{Name: "warehouse", Skipped: &refused}}
	if len(recorded) != 1 || !reflect.DeepEqual(recorded[0].Facts, want) || recorded[0].Actor.Name == "" {
		t.Errorf("recorded %+v", recorded) // O10
	}
	if p := b.refused("resumeSubscription", map[string]any{"name": "warehouse"}); p.Code != "subscription.notParked" {
		t.Errorf("%+v", p)
	}
	if b.do("getDiagnostics", nil, &found); len(found.Subscriptions) != 0 {
		t.Errorf("diagnostics afterwards: %+v", found)
	}
}
