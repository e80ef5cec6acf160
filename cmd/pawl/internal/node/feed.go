package node

import (
	"cmp"

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

// openFeed prepares the feed, on a connection of its own. space returns an error while nothing may be written.
func openFeed(d *storage.Data, space func() error) (feeding, error) {
	if !d.Settings.Feed {
		return feeding{}, nil
	}
	nc, err := d.Broker.Connect(nats.Name("pawl feed"))
	if err != nil {
		return feeding{}, exit.Failed("start again once the NATS server takes connections", err)
	}
	d.Opened.Add(func() error { nc.Close(); return nil })
	feeder, err := feed.New(feed.Config{
		Log: d.Log, Conn: nc, Installation: d.Log.Installation(), Prefix: datadir.NATSPrefix,
		MaxBytes:  cmp.Or(d.Settings.FeedBytes, diskspace.FeedLimit(d.Broker.Limit, feed.DefaultMaxBytes)),
		DiskSpace: space, BeforeUpdate: d.Broker.KeepMetadata, Replicas: d.Broker.Replicas, Logger: d.Logger,
	})
	if err != nil {
		return feeding{}, exit.Failed("let the NATS server take larger messages (max_payload), or leave the feed out", err)
	}
	return feeding{feeder}, nil
}

// observe tells the feed of a transition.
func (f feeding) observe(r eventlog.Record) {
	if f.feeder != nil {
		f.feeder.Observe(r)
	}
}

// figures are the metrics of the feed; nil where nothing is published.
func (f feeding) figures() prometheus.Collector {
	if f.feeder == nil {
		return nil
	}
	return f.feeder.Figures()
}
