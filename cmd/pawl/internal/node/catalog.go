package node

import (
	"context"

	"github.com/pawl-run/pawl/cmd/pawl/internal/tools"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
)

// catalog gives the registry the shape that the engine asks for.
type catalog struct {
	deploy.Catalog
	*connector.Registry
	// services are looked for when an operation is unknown; nil without a listener.
	services *tools.Tools
}

// Catalog says which operations there are now; a tool that was started a moment ago counts.
func (n *Node) Catalog() deploy.Catalog {
	known := NewCatalog(n.registry)
	known.services = n.Tools
	return known
}

// NewCatalog offers the connectors of the registry alone, without tools on NATS.
func NewCatalog(r *connector.Registry) catalog {
	return catalog{Catalog: deploy.CatalogOf(r), Registry: r}
}

// Operation looks an operation up; a tool that was started a moment ago counts.
func (c catalog) Operation(name, operation string) (connector.Operation, bool) {
	op, ok := c.Registry.Operation(name, operation)
	if !ok && c.services.Look(context.Background(), name) {
		return c.Registry.Operation(name, operation)
	}
	return op, ok
}

// Reconcile asks what became of a call. It first looks for the tool, which may have died during the call and be back:
// an attempt to reconcile that no tool receives counts all the same.
func (c catalog) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	if _, ok := c.Registry.Operation(call.Connector, call.Operation); !ok {
		c.services.Look(ctx, call.Connector)
	}
	return c.Registry.Reconcile(ctx, call)
}

// Similar suggests names.
func (c catalog) Similar(name string) []string { return c.Registry.Similar(name) }
