package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/alert"
	"github.com/pawl-run/pawl/ops/feed"
	"github.com/pawl-run/pawl/ops/subscription"
)

// openOutgoing prepares the webhooks, on a connection of their own; nil where none are configured. before are the ends
// of the log, by partition.
func openOutgoing(d *storage.Data, before []uint64) (*subscription.Deliveries, error) {
	var all []subscription.Subscription
	for _, s := range d.Settings.Subscriptions {
		subjects, err := feedSubjects(s)
		if err != nil {
			return nil, err
		}
		all = append(all, subscription.Subscription{Name: s.Name, Target: s.Target,
			Stream: feed.StreamName(datadir.NATSPrefix), Subjects: subjects, About: about(s), Begin: positions(before)})
	}
	for _, a := range d.Settings.Alerts {
		all = append(all, subscription.Subscription{Name: a.Name, Target: a.Target,
			Stream: alert.StreamName(datadir.NATSPrefix), Subjects: a.Wanted.Subjects(datadir.NATSPrefix),
			About: aboutAlert(a.Wanted)})
	}
	if len(all) == 0 {
		return nil, nil
	}
	nc, err := d.Broker.Connect(nats.Name("pawl webhooks"))
	if err != nil {
		return nil, exit.Failed("", err)
	}
	d.Opened.Add(func() error { nc.Close(); return nil })
	deliveries, err := subscription.New(subscription.Config{
		Conn: nc, Prefix: datadir.NATSPrefix, Replicas: d.Broker.Replicas, Subscriptions: all,
		Policy: d.Settings.Policies.Transient, Logger: d.Logger,
		Holds: func(ctx context.Context, at eventlog.Position, id eventlog.TransitionID) (bool, error) {
			return feed.Holds(ctx, d.Log, at, id)
		},
	})
	if err != nil {
		return nil, exit.Failed("", err)
	}
	return deliveries, nil
}

func feedSubjects(s config.Subscription) ([]string, error) {
	subjects, err := subscription.FeedSubjects(datadir.NATSPrefix, s.Facts, s.Workflows)
	if err != nil {
		return nil, exit.Failed("", fmt.Errorf("subscription %s: %w", s.Name, err))
	}
	return subjects, nil
}

// about says which facts a subscription gets.
func about(s config.Subscription) string {
	facts, of := "all facts", ""
	if len(s.Facts) > 0 {
		facts = strings.Join(s.Facts, ", ")
	}
	if len(s.Workflows) > 0 {
		of = " of " + strings.Join(s.Workflows, ", ")
	}
	return facts + of
}

// aboutAlert says which alerts a receiver gets.
func aboutAlert(w alert.Wanted) string {
	var on []string
	for _, c := range w.Conditions {
		on = append(on, string(c))
	}
	text := "alerts: " + strings.Join(on, ", ")
	if len(w.Workflows) > 0 {
		text += " of " + strings.Join(w.Workflows, ", ")
	}
	return text
}

// positions writes the last sequences of the partitions in the form of the feed.
func positions(ends []uint64) string {
	var places []string
	for partition, seq := range ends {
		places = append(places, eventlog.Position{Partition: partition, Seq: seq}.String())
	}
	return strings.Join(places, ",")
}
