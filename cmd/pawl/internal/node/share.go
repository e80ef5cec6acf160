package node

import (
	"cmp"
	"context"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/peer"
	"github.com/pawl-run/pawl/ops/doctor"
)

// share lets the engine share the log with others, where the broker keeps a shared log.
func (n *Node) share(ctx context.Context, c *engine.Config, version string) error {
	d := n.Data
	leases, entries, err := d.Leases(ctx, cmp.Or(d.Settings.PublicURL, n.Endpoint.URL()), version)
	if err != nil || leases == nil {
		return err
	}
	nc, err := d.Broker.Connect(nats.Name("pawl peers"))
	if err != nil {
		return err
	}
	d.Opened.Add(func() error { nc.Close(); return nil })
	n.links = entries
	c.Leases, c.Peers, c.Duties = leases, peer.New(nc, datadir.NATSPrefix), n.dutiesOfAll
	return nil
}

// copies asks the servers about the copies of a shared log. Which server decides where copies are is known only where
// one of the servers is in this process.
func (n *Node) copies(ctx context.Context) (doctor.Copies, error) {
	c, err := doctor.LookAtCopies(ctx, n.Data.Broker.NC)
	if server := n.Data.Broker.Server; err == nil && server != nil {
		members, err := server.Members()
		if err != nil {
			return c, err
		}
		if members.Leader != "" {
			c.Leader = &members.Leader
		}
	}
	return c, err
}
