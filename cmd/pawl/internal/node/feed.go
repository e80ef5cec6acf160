package node

import (
	"cmp"
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/feed"
)

// feeding publishes what the engine records, where that is asked for. The zero value publishes nothing.
type feeding struct{ feeder *feed.Feeder }

// feedEnd is how long an engine that ends waits for the feed. What is left is published after the next start.
const feedEnd = 2 * time.Second

// openFeed prepares the feed, on a connection of its own. space says why nothing may be written now.
func openFeed(d *storage.Data, space func() error) (feeding, error) {
	if !d.Settings.Feed {
		return feeding{}, nil
	}
	nc, err := d.Broker.Connect(nats.Name("pawl feed"))
	if err != nil {
		return feeding{}, exit.Failed("", err)
	}
	d.Opened.Add(func() error { nc.Close(); return nil })
	feeder, err := feed.New(feed.Config{
		Log: d.Log, Conn: nc, Installation: d.Log.Installation(), Prefix: datadir.NATSPrefix,
		MaxBytes:  cmp.Or(d.Settings.FeedBytes, diskspace.FeedLimit(d.Broker.Limit, feed.DefaultMaxBytes)),
		DiskSpace: space, BeforeUpdate: d.Broker.KeepMetadata, Replicas: d.Broker.Replicas, Logger: d.Logger,
	})
	if err != nil {
		return feeding{}, exit.Failed("", err)
	}
	return feeding{feeder}, nil
}

// observe tells the feed of a transition.
func (f feeding) observe(r eventlog.Record) {
	if f.feeder != nil {
		f.feeder.Observe(r)
	}
}

// figures are the feed's; nil where nothing is published.
func (f feeding) figures() prometheus.Collector {
	if f.feeder == nil {
		return nil
	}
	return f.feeder.Figures()
}

// StartFeed begins to publish the feed, if one is asked for. The function that it returns stops the feed: as soon as
// all that is recorded is published, at the latest after feedEnd. It is called when the engine has ended.
func (n *Node) StartFeed(ctx context.Context) (end func()) {
	feeder := n.feed.feeder
	if feeder == nil || n.Data.Broker.Shared { // it is a duty of one engine then
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		feeder.Run(ctx)
	}()
	return func() {
		last, stop := context.WithTimeout(ctx, feedEnd)
		defer stop()
		_ = feeder.Await(last) // the next start goes on with the rest
		cancel()
		<-done
	}
}
