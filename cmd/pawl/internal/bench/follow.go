package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/ops/feed"
)

// follower follows the feed, as another system does, and measures how old each fact is when it arrives. The age counts
// from the decision, whose time the fact carries, so the time to write it into the log is part of it.
type follower struct {
	mu   sync.Mutex
	lags []time.Duration
}

// follow begins with the next fact, on a connection of its own that lives as long as the process.
func (f *follower) follow(ctx context.Context, url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return fmt.Errorf("connect to the feed: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("connect to the feed: %w", err)
	}
	begin := func() (jetstream.Consumer, error) {
		return js.OrderedConsumer(ctx, feed.StreamName(""),
			jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	}
	ordered, err := begin()
	for errors.Is(err, jetstream.ErrStreamNotFound) && ctx.Err() == nil { // the engine makes it when it has started
		time.Sleep(10 * time.Millisecond)
		ordered, err = begin()
	}
	if err != nil {
		return fmt.Errorf("follow the feed: %w", err)
	}
	_, err = ordered.Consume(func(m jetstream.Msg) {
		decided, err := time.Parse(time.RFC3339Nano, m.Headers().Get("ce-time"))
		if err != nil {
			return // an announcement of the feed has no time
		}
		lag := time.Since(decided)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lags = append(f.lags, lag)
	})
	if err != nil {
		return fmt.Errorf("follow the feed: %w", err)
	}
	return nil
}

// feedStage is what the follower of the feed measured in one stage.
type feedStage struct {
	Facts                   int
	LagP50, LagP99, LagMost time.Duration
}

// take returns the measurements since its last call.
func (f *follower) take() feedStage {
	f.mu.Lock()
	lags := f.lags
	f.lags = nil
	f.mu.Unlock()
	if len(lags) == 0 {
		return feedStage{}
	}
	slices.Sort(lags)
	return feedStage{len(lags), lags[len(lags)/2], lags[len(lags)*99/100], lags[len(lags)-1]}
}
