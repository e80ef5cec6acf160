package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/alert"
	"github.com/pawl-run/pawl/ops/explain"
)

// lastLook bounds the look for alerts before the engine is stopped.
const lastLook = 5 * time.Second

// alerting finds what a person is told of. The zero value looks for nothing.
type alerting struct{ raiser *alert.Raiser }

func (a alerting) observe(r eventlog.Record) {
	if a.raiser != nil {
		a.raiser.Observe(r)
	}
}

// openAlerts prepares the alerts, if any receiver of them is configured.
func (n *Node) openAlerts() error {
	d := n.Data
	if len(d.Settings.Alerts) == 0 {
		return nil
	}
	nc, err := d.Broker.Connect(nats.Name("pawl alerts"))
	if err != nil {
		return exit.Failed("", err)
	}
	d.Opened.Add(func() error { nc.Close(); return nil })
	c := alert.Config{Conn: nc, Prefix: datadir.NATSPrefix, Installation: d.Log.Installation(), Workflows: n.workflows,
		Why: n.API.Explain, State: n.Engine.State, NameDiscarded: n.nameDiscarded,
		PublicURL: d.Settings.PublicURL, Replicas: d.Broker.Replicas, Logger: d.Logger}
	for _, a := range d.Settings.Alerts {
		c.Wanted = append(c.Wanted, a.Wanted)
	}
	if n.alerts.raiser, err = alert.New(c); err != nil {
		return exit.Failed("", err)
	}
	return nil
}

func (n *Node) nameDiscarded(ctx context.Context, why *explain.Why) error {
	return why.NameDiscarded(ctx, n.reader())
}

// workflows are the names of all, also of those that are out of service.
func (n *Node) workflows() []eventlog.WorkflowName {
	stopped := n.Engine.Stopped()
	for _, s := range n.Engine.States() {
		if s.Exists() && s.Name != eventlog.Installation {
			stopped[s.Name] = nil
		}
	}
	return slices.Sorted(maps.Keys(stopped))
}

// alertDuring looks for alerts while work is done, and once more at its end. The engine is ready.
func (n *Node) alertDuring(ctx context.Context, work func(context.Context) error) error {
	raiser := n.alerts.raiser
	if raiser == nil || n.Data.Broker.Shared { // it is a duty of one engine then
		return work(ctx)
	}
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		raiser.Run(looking)
	}()
	err := work(ctx)
	stop()
	<-ended
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	if err := raiser.Look(last); err != nil {
		n.Data.Logger.Warn("alerts cannot be noted; the next start tells of them", "error", err)
	}
	return err
}
