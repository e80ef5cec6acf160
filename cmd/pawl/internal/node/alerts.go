package node

import (
	"context"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/alert"
	"github.com/pawl-run/pawl/ops/explain"
)

// alerting finds what a person must be alerted to. The zero value looks for nothing.
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

// workflows are the names of all workflows, also of those that are out of service.
func (n *Node) workflows() []eventlog.WorkflowName {
	stopped := n.Engine.Stopped()
	for _, s := range n.Engine.States() {
		if s.Exists() && s.Name != eventlog.Installation {
			stopped[s.Name] = nil
		}
	}
	return slices.Sorted(maps.Keys(stopped))
}
