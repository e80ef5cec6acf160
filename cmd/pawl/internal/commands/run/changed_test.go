package run

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
)

// shop is a connector whose mutation cannot be asked about.
type shop struct{}

func (shop) Name() string { return "shop" }
func (shop) Operations() []connector.Operation {
	return []connector.Operation{{Name: "order", Kind: connector.Mutate}, {Name: "find", Kind: connector.Get}}
}
func (shop) Read(context.Context, connector.Call) (json.RawMessage, error)       { return nil, nil }
func (shop) Perform(context.Context, connector.Call) (outcome connector.Outcome) { return outcome }
func (shop) Reconcile(context.Context, connector.Call) (r connector.Reconciliation) {
	return r
}

// TestUpNamesChangedConnectors: a file without changes is up to date, and still what its version was deployed with may
// be another tool by now; one that is away says nothing of itself.
func TestUpNamesChangedConnectors(t *testing.T) {
	t.Parallel()
	registry, err := connector.NewRegistry(shop{})
	if err != nil {
		t.Fatal(err)
	}
	running := &eventlog.Definition{Operations: []eventlog.Operation{
		{Connector: "shop", Operation: "order", Kind: "mutate", Reconciles: true},
		{Connector: "shop", Operation: "find", Kind: "get"},
		{Connector: "away", Operation: "send", Kind: "mutate"},
	}}
	var out bytes.Buffer
	sayChanged(&out, deploy.CatalogOf(registry), "/x/a.ts", running)
	if got := out.String(); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "the configuration of shop.order has changed since the deploy: reconcile was removed") ||
		!strings.HasSuffix(got, "it is not called until a deploy accepts that: pawl deploy /x/a.ts\n") {
		t.Error(got)
	}
}
